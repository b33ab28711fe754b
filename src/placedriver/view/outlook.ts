/**
 * What is about to happen, for people who ask: why replicas do not move, and which would. Pure; what
 * the master does is decided by its chores.
 */
import type { NodeId } from '../../common/ids.ts';
import type { BalanceWindow, NamespaceRecord, NodeRecord } from '../../meta/schema.ts';
import type { Picture } from '../picture.ts';
import { rebalance } from '../placement/rebalance.ts';
import { isSettled } from './under-way.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

export interface Outlook {
  /** Why no replica moves between nodes at all; undefined: they may. */
  readonly frozen: string | undefined;
  /** Why replicas do not move just to be more even; undefined: they may. */
  readonly unbalanced: string | undefined;
}

export interface PlannedMove {
  readonly namespace: string;
  readonly partition: number;
  readonly from: NodeId | undefined;
  readonly to: NodeId | undefined;
}

export function outlook(picture: Picture, nowMs: number): Outlook {
  const control = picture.control()?.record;
  const alive = picture.aliveNodes().length;
  const stable = control?.stableNodes ?? 0;
  const frozen =
    control?.upgradeSinceMs !== undefined
      ? 'upgrade mode is on'
      : alive <= stable / 2
        ? `${alive} nodes are alive, of ${stable} that should be: lower the stable node count if the others are gone for good`
        : undefined;
  return { frozen, unbalanced: frozen ?? unbalanced(picture, nowMs) };
}

function unbalanced(picture: Picture, nowMs: number): string | undefined {
  const balance = picture.control()?.record.balance;
  if (balance?.enabled === false) return 'balancing is switched off';
  if (balance?.window && !isWithin(balance.window, nowMs)) return 'outside of the window';
  const alive = new Set(picture.aliveNodes().map(({ node }) => node));
  const lost = picture.nodeStates().find(({ record }) => !alive.has(record.node));
  if (lost !== undefined) return `node ${lost.record.node} is away`;
  const moving = picture.partitions().find(({ record }) => {
    return !isSettled(record, picture.leader(record));
  });
  if (moving === undefined) return undefined;
  const { namespace, partition } = moving.record;
  return `partition ${namespace}/${partition} is not whole`;
}

function isWithin({ fromMinute, toMinute }: BalanceWindow, nowMs: number): boolean {
  const minute = Math.floor(nowMs / MINUTE_MS) % DAY_MINUTES;
  if (fromMinute <= toMinute) return minute >= fromMinute && minute < toMinute;
  return minute >= fromMinute || minute < toMinute;
}

/** What would move if every rule allowed it now; nothing where nodes are fewer than replicas. */
export function plannedMoves(picture: Picture): PlannedMove[] {
  const draining = new Set(
    picture.nodeStates().flatMap(({ record }) => (record.draining ? [record.node] : [])),
  );
  const nodes = picture.aliveNodes().filter(({ node }) => !draining.has(node));
  return picture
    .namespaces()
    .filter(({ ready }) => ready)
    .flatMap((namespace) => plannedMovesOf(picture, namespace, nodes));
}

function plannedMovesOf(
  picture: Picture,
  namespace: NamespaceRecord,
  nodes: readonly NodeRecord[],
): PlannedMove[] {
  const records = picture
    .partitions()
    .flatMap(({ record }) => (record.namespace === namespace.name ? [record] : []))
    .sort((a, b) => a.partition - b.partition);
  const current = records.map(({ replicas }) => replicas.map(({ node }) => node));
  const candidates = nodes
    .filter(({ tags }) => (namespace.tags ?? []).every((tag) => hasTag(tags, tag)))
    .map(({ node, tags, host, capacity }) => ({
      node,
      dc: tags['dc_info'] ?? '',
      host: tags['host'] ?? host,
      ...(capacity !== undefined && { capacity }),
    }));
  if (candidates.length < namespace.replicas) return [];
  const wanted = rebalance(candidates, current, namespace.replicas);
  return records.flatMap(({ partition }, at) => {
    const to = wanted[at]!.filter((node) => !current[at]!.includes(node));
    const from = current[at]!.filter((node) => !wanted[at]!.includes(node));
    return Array.from({ length: Math.max(from.length, to.length) }, (_, number) => ({
      namespace: namespace.name,
      partition,
      from: from[number],
      to: to[number],
    }));
  });
}

function hasTag(tags: Readonly<Record<string, string>>, wanted: string): boolean {
  const [name = '', ...value] = wanted.split('=');
  return value.length === 0 ? tags[name] !== undefined : tags[name] === value.join('=');
}
