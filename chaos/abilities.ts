/** What this machine allows, and why the rest is left out. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { noPrivateWorld } from './private-world.ts';
import type { FaultKind } from './schedule.ts';

export interface Abilities {
  /** Undefined: namespaces can be made. */
  readonly noNamespaces: string | undefined;
  readonly noSmallDisk: string | undefined;
  /** The path of libfaketime. */
  readonly faketime: string | undefined;
}

const OF_NETWORK: readonly FaultKind[] = [
  ...(['isolate', 'one-way', 'bridge', 'halves', 'loss', 'slow-link'] as const),
];

export function onPath(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((dir) => existsSync(join(dir, name)));
}

/** Why namespaces are not used, asked before anything is made. */
export function noNamespaces(loopback: boolean): string | undefined {
  if (loopback) return 'loopback was asked for';
  const missing = ['unshare', 'ip', 'nft', 'nsenter'].filter((name) => !onPath(name));
  if (missing.length > 0) return `${missing.join(', ')} not found (Debian: iproute2 nftables)`;
  return noPrivateWorld();
}

/** In the world in which the run takes place. */
export function findAbilities(directory: string, reason: string | undefined): Abilities {
  return { noNamespaces: reason, noSmallDisk: noTmpfs(directory), faketime: findFaketime() };
}

/** Kinds of faults that cannot be here, each with the reason. */
export function impossible(
  abilities: Abilities,
  shape: { readonly datanodes: number },
): ReadonlyMap<FaultKind, string> {
  const reasons = new Map<FaultKind, string>();
  const { noNamespaces: reason, noSmallDisk, faketime } = abilities;
  if (reason !== undefined) for (const kind of OF_NETWORK) reasons.set(kind, reason);
  if (noSmallDisk !== undefined) reasons.set('full-disk', noSmallDisk);
  if (faketime === undefined) reasons.set('clock', 'no libfaketime (Debian: faketime)');
  if (shape.datanodes < 4) reasons.set('rebalance', 'a datanode to spare is needed: --datanodes 4');
  return reasons;
}

function noTmpfs(directory: string): string | undefined {
  const at = mkdtempSync(join(directory, 'probe-'));
  mkdirSync(at, { recursive: true });
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', at]);
  if (status === 0) spawnSync('umount', [at]);
  rmSync(at, { recursive: true, force: true });
  if (status === 0) return undefined;
  return `no tmpfs can be mounted: ${error?.message ?? stderr.toString().trim()}`;
}

function findFaketime(): string | undefined {
  const folders = ['/usr/lib'];
  if (existsSync('/usr/lib')) {
    folders.push(...readdirSync('/usr/lib').map((name) => join('/usr/lib', name)));
  }
  return folders
    .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
    .find((path) => existsSync(path));
}
