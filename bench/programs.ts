/** The programs the benchmark runs, and whether they are there. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { SystemName } from './system.ts';

const clients = ['redis-benchmark', 'redis-cli'];

const programs: Readonly<Record<SystemName, readonly string[]>> = {
  redis: ['redis-server', ...clients],
  kvorum: clients,
  etcd: ['etcd', 'etcdctl'],
};

/** Debian's package of each program. */
const packages: Readonly<Record<string, string>> = {
  'redis-server': 'redis-server',
  'redis-benchmark': 'redis-tools',
  'redis-cli': 'redis-tools',
  etcd: 'etcd-server',
  etcdctl: 'etcd-client',
};

/** Throws an error that names every program that `systems` need and `path` has not. */
export function requirePrograms(systems: readonly SystemName[], path: string): void {
  const wanted = [...new Set(systems.flatMap((system) => programs[system]))];
  const missing = wanted.filter((name) => !path.split(delimiter).some((dir) => runs(dir, name)));
  if (missing.length === 0) return;
  const from = [...new Set(missing.map((name) => packages[name]))].join(' ');
  throw new Error(
    `not on the PATH: ${missing.join(', ')}; install them (Debian: ${from}), ` +
      'or leave systems out by --only',
  );
}

function runs(directory: string, name: string): boolean {
  try {
    accessSync(join(directory, name), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
