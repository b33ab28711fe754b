/** A stock redis-server that syncs its append-only file before it answers. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Server } from '../tools/children.ts';
import { freePorts } from './ports.ts';
import { ask, writes } from './redis-door.ts';
import type { Running } from './system.ts';

export interface RunningRedis extends Running {
  readonly port: number;
}

export async function startRedis(directory: string): Promise<RunningRedis> {
  const data = join(directory, 'redis');
  mkdirSync(data);
  const port = await freePorts(1);
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', data];
  // No snapshots beside the append-only file: they would cost redis time and prove nothing.
  args.push('--appendonly', 'yes', '--appendfsync', 'always', '--save', '');
  const server = new Server('redis-server', 'redis-server', args, { endsWithUs: true });
  try {
    await server.until(20_000, 'a write is answered', () => writes(port));
    const mode = (await ask(port, 'config', 'get', 'appendfsync')).split('\n').at(-1);
    if (mode !== 'always') throw new Error(`redis-server runs with appendfsync ${mode}`);
    const info = await ask(port, 'info', 'server');
    return {
      port,
      version: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
      fsync: 'appendonly yes, appendfsync always, save "": the file is synced before the answer',
      processes: [{ name: 'redis-server', pid: server.pid }],
      check: () => server.check(),
      stop: () => server.stop(),
    };
  } catch (failure) {
    await server.stop();
    throw failure;
  }
}
