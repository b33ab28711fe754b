/** Two containers on one volume: the processes of both are number 1, and see nothing of each other. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { canUnshare, spawnAsFirst } from '../namespaces-of-processes.ts';
import { freePorts, freeStorePort } from '../ports.ts';
import { eventually, kvorum } from './cluster.ts';

const directory = mkdtempSync(join(tmpdir(), 'kvorum-containers-'));
const dataDir = join(directory, 'data');
const running: ChildProcess[] = [];

afterEach(async () => {
  for (const child of running) await kill(child);
  rmSync(directory, { recursive: true, force: true });
});

interface Container {
  readonly child: ChildProcess;
  readonly output: () => string;
}

/** A placedriver with its own doors, on the one data directory. */
async function start(name: string): Promise<Container> {
  const { http } = await freePorts(1);
  const meta = { embedded: { port: await freeStorePort() } };
  const file = join(directory, `${name}.yaml`);
  const fields = { name: 'placedriver1', host: '127.0.0.1', ports: { http }, meta };
  writeFileSync(file, stringify({ ...fields, 'data-dir': dataDir }));
  const child = spawnAsFirst([kvorum, 'placedriver', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return { child, output: () => output };
}

async function kill(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
const isReady = ({ output }: Container) => output().includes('ready');
const lock = () => readFileSync(join(dataDir, 'lock'), 'utf8');
const named = (prefix: string) => readdirSync(dataDir).filter((name) => name.startsWith(prefix));

test.skipIf(!canUnshare)(
  'have it one after the other',
  async () => {
    const first = await start('first');
    await eventually(30_000, 'the first is ready', () => isReady(first));
    const held = lock();
    expect(held).toMatch(/^1 [0-9a-f]{16} /);

    const second = await start('second');
    await once(second.child, 'close');
    expect(second.output()).toContain(`${dataDir} is in use by process 1; stop it`);
    expect(lock()).toBe(held);

    await kill(first.child);
    const third = await start('third');
    await eventually(30_000, 'the third is ready', () => isReady(third));
    expect(lock()).not.toBe(held);
    expect(named('lock')).toEqual(['lock', expect.stringMatching(/^lock\.socket-/)]);
  },
  120_000,
);
