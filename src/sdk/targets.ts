/** Where an attempt goes: to the leader, to who else takes it, or to a follower nearby. */
import type { PartitionId } from '../common/ids.ts';
import type { Address } from '../common/network.ts';
import type { Random } from '../common/random.ts';
import type { Consistency } from './command-types.ts';
import type { Connection } from './connection.ts';
import type { Lookup } from './lookup.ts';
import type { Pool, Role } from './pool.ts';

export interface TargetWorld {
  readonly random: Random;
  readonly pool: Pool;
  readonly lookup: Lookup;
  /** The client's data centre. */
  readonly dc: string | undefined;
  /** What the datanodes' followers keep to. */
  readonly replicaMaxStalenessMs: number;
  /** Which node commands without a key go to first: another once it has said nothing. */
  readonly any: { place: number };
}

/** What says where a call goes. */
interface Aim {
  readonly effect: 'read' | 'write';
  readonly partition: PartitionId | undefined;
  readonly consistency: Consistency;
  /** Followers let nobody wait. */
  readonly blocking: boolean;
}

/** Where an attempt goes, after `attempts` others; undefined: no node is known. */
export function targetOf(
  world: TargetWorld,
  { effect, partition, consistency, blocking }: Aim,
  attempts: number,
): { readonly role: Role; readonly address: Address } | undefined {
  if (effect === 'read' && !blocking && partition !== undefined && attempts === 0) {
    const follower = followerOf(world, partition, consistency);
    if (follower !== undefined) return { role: 'follower', address: follower };
  }
  const address = leaderOf(world, partition, attempts);
  return address && { role: partition === undefined ? 'any' : 'data', address };
}

/** The leader, or who else takes the command while it cannot be reached; `attempts` made before. */
export function leaderOf(
  { lookup, pool, any }: TargetWorld,
  partition: PartitionId | undefined,
  attempts: number,
): Address | undefined {
  const found = lookup.table?.candidates(partition) ?? [];
  const from = partition === undefined ? any.place : 0;
  for (let at = 0; at < found.length; at++) {
    const address = found[(from + at) % found.length]!;
    if (!pool.isAvoided(address)) return address;
  }
  return found[(from + attempts) % Math.max(1, found.length)];
}

/**
 * An attempt at `connection` got no answer in time. Any node takes what has no key: it is asked less
 * than before, for who stands still would be asked again and again.
 */
export function noteSilent(
  { lookup, pool, any }: TargetWorld,
  partition: PartitionId | undefined,
  connection: Connection,
): void {
  pool.doubt(connection);
  if (partition !== undefined) return;
  const found = lookup.table?.candidates(undefined) ?? [];
  const { host, port } = found[any.place % Math.max(1, found.length)] ?? {};
  const { address } = connection;
  if (address.host === host && address.port === port) any.place++;
}

/** Where a read that may be that stale goes first; undefined: to the leader. */
function followerOf(
  { replicaMaxStalenessMs, dc, lookup, pool, random }: TargetWorld,
  partition: PartitionId,
  consistency: Consistency,
): Address | undefined {
  const bound = typeof consistency === 'object' ? consistency.maxStalenessMs : undefined;
  if (consistency !== 'stale' && !(bound !== undefined && bound >= replicaMaxStalenessMs)) {
    return undefined;
  }
  const followers = (lookup.table?.followers(partition, dc) ?? []).filter(
    (address) => !pool.isAvoided(address) && pool.refusal(address) === undefined,
  );
  return followers[random.below(Math.max(1, followers.length))];
}

/** Notes what a MOVED names; `asked`: who said it (an empty host is the one that was asked). */
export function noteMoved(
  { lookup }: TargetWorld,
  partition: PartitionId | undefined,
  to: Address | undefined,
  asked: Address,
): void {
  if (to === undefined || partition === undefined) return;
  const target = { host: to.host === '' ? asked.host : to.host, port: to.port };
  lookup.table?.noteMoved(partition, target);
}
