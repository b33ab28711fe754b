/** A rebuilt group begins with one replica: others are added, one after the other, on living nodes. */
import type { NodeId } from '../../common/ids.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../meta/schema.ts';
import { reserveIds } from '../fenced.ts';
import type { StoredPartition } from '../picture.ts';
import type { MasterTerm } from '../term.ts';

export interface FillView {
  readonly namespace: NamespaceRecord;
  readonly record: PartitionRecord;
  readonly leader: LeaderRecord | undefined;
  /** Living nodes that may get replicas. */
  readonly candidates: readonly NodeRecord[];
  /** Replicas on each node. */
  readonly loads: ReadonlyMap<NodeId, number>;
}

export async function fillRebuilt(term: MasterTerm): Promise<undefined> {
  const { picture, leadership } = term;
  const partitions = picture.partitions();
  const loads = new Map<NodeId, number>();
  for (const { record } of partitions) {
    for (const { node } of record.replicas) loads.set(node, (loads.get(node) ?? 0) + 1);
  }
  const draining = new Set(
    picture.nodeStates().flatMap(({ record }) => (record.draining ? [record.node] : [])),
  );
  const candidates = picture.aliveNodes().filter(({ node }) => !draining.has(node));
  for (const partition of partitions) {
    const { record } = partition;
    const namespace = picture.namespace(record.namespace);
    if (record.rebuilt === undefined || namespace?.ready !== true) continue;
    const leader = picture.leader(record);
    const node = planFill({ namespace, record, leader, candidates, loads });
    if (node === undefined) continue;
    if (leadership.lost.aborted) return;
    await fill(term, partition, node);
    loads.set(node.node, (loads.get(node.node) ?? 0) + 1);
  }
}

/** The node that gets the next replica: another data centre first, another host, then few replicas. */
export function planFill(view: FillView): NodeRecord | undefined {
  const { namespace, record, leader, candidates, loads } = view;
  if (record.replicas.length >= namespace.replicas || leader === undefined) return undefined;
  const { epoch, joint, learners } = leader.membership;
  if (epoch < record.epoch || joint || learners.length > 0) return undefined;
  const members = new Set(record.replicas.map(({ node }) => node));
  const holders = candidates.filter(({ node }) => members.has(node));
  const cost = (of: NodeRecord) => [
    holders.filter((holder) => dcOf(holder) === dcOf(of)).length,
    holders.filter((holder) => hostOf(holder) === hostOf(of)).length,
    loads.get(of.node) ?? 0,
  ];
  const free = candidates.filter(
    (of) =>
      !members.has(of.node) &&
      (namespace.tags ?? []).every((tag) => hasTag(of, tag)) &&
      (loads.get(of.node) ?? 0) < (of.capacity ?? Number.POSITIVE_INFINITY),
  );
  return free.sort((a, b) => compare(cost(a), cost(b)) || (a.node < b.node ? -1 : 1))[0];
}

/** Does nothing when the record changed meanwhile: what is seen next decides anew. */
async function fill(
  { store, logger, leadership, fence }: MasterTerm,
  { record, modRevision }: StoredPartition,
  { node, incarnation }: NodeRecord,
): Promise<void> {
  const { namespace, partition } = record;
  const key = keys.partition(namespace, partition);
  const { nextReplica: replica } = await reserveIds(store, fence, { groups: 0, replicas: 1 });
  const next: PartitionRecord = {
    ...record,
    replicas: [...record.replicas, { replica, node, incarnation }],
    epoch: record.epoch + 1,
    fence: leadership.revision,
  };
  const put = { type: 'put', key, value: encodeRecord(next) } as const;
  const { succeeded } = await store.transaction([fence, { key, modRevision }], [put]);
  if (!succeeded) return;
  logger.info('a rebuilt partition gets a replica', { namespace, partition, replica, node });
}

/** `name`, or `name=value`. */
function hasTag({ tags }: NodeRecord, wanted: string): boolean {
  const [name = '', ...value] = wanted.split('=');
  return value.length === 0 ? tags[name] !== undefined : tags[name] === value.join('=');
}

function dcOf({ tags }: NodeRecord): string {
  return tags['dc_info'] ?? '';
}

function hostOf({ tags, host }: NodeRecord): string {
  return tags['host'] ?? host;
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}
