/**
 * Making a namespace: its partitions, their first table and their replicas' ids.
 *
 * A record that is not ready comes first and claims the name; everything else is written only while
 * that record is the newest, and the namespace is visible when it becomes ready. What a dead master,
 * or a request that failed, leaves half written is removed by the chore of deletions.
 */
import { must } from '../common/assert.ts';
import { KvorumError } from '../common/errors.ts';
import { initialShare } from '../common/hash.ts';
import type { Namespace, NodeId, Revision } from '../common/ids.ts';
import { decodeRecord, recordKinds } from '../meta/records.ts';
import {
  type CountersRecord,
  encodeRecord,
  keys,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
  SCHEMA_VERSION,
} from '../meta/schema.ts';
import type { Compare, MetaItem, MetaOperation } from '../meta/store.ts';
import { candidateNode, hasTags } from './balance/candidates.ts';
import { deletionsOf, readableIn } from './deleted-groups.ts';
import { reserveIds, writeGuarded } from './fenced.ts';
import type { NamespaceSpec } from './operator/operator.ts';
import type { Picture } from './picture.ts';
import { firstTable } from './placement/rebalance.ts';
import type { MasterTerm } from './term.ts';

/** Names that requests of a term are making. */
const beingMade = new WeakMap<MasterTerm, Set<Namespace>>();

export function isBeingMade(term: MasterTerm, name: Namespace): boolean {
  return beingMade.get(term)?.has(name) === true;
}

/**
 * Resolves when the namespace is visible. Rejects with CONFLICT when there is one of this name, or
 * fewer datanodes than replicas; with BAD_RECORD when the one there cannot be read.
 */
export async function createNamespace(term: MasterTerm, spec: NamespaceSpec): Promise<void> {
  const { name } = spec;
  const making = beingMade.get(term) ?? new Set();
  beingMade.set(term, making);
  if (making.has(name))
    throw conflict(`namespace ${name} is being created by another request: look in a moment`);
  making.add(name);
  try {
    const found = await term.store.get(keys.namespace(name));
    checkIsFree(name, found);
    await makeNamespace(term, spec, found?.modRevision ?? 0);
  } finally {
    making.delete(name);
  }
  const { partitions, replicas, hash } = spec;
  term.logger.info('namespace created', { namespace: name, partitions, replicas, hash });
}

function checkIsFree(name: Namespace, found: MetaItem | undefined): void {
  if (found === undefined) return;
  const { ready, deleting } = decodeRecord(recordKinds.namespace, found.key, found.value);
  if (ready)
    throw conflict(`namespace ${name} exists already: choose another name, or delete it first`);
  if (deleting) throw conflict(`namespace ${name} is being deleted: try again in a moment`);
}

async function makeNamespace(
  term: MasterTerm,
  spec: NamespaceSpec,
  foundRevision: Revision,
): Promise<void> {
  const { store, fence, picture, leadership } = term;
  const nodes = candidatesOf(picture, spec);
  const key = keys.namespace(spec.name);
  const record = recordOf(spec);
  const put = (value: NamespaceRecord): MetaOperation[] => [
    { type: 'put', key, value: encodeRecord(value) },
  ];
  const claim = await store.transaction([fence, { key, modRevision: foundRevision }], put(record));
  if (!claim.succeeded) throw lost(term, spec.name);
  const guard: readonly Compare[] = [fence, { key, modRevision: claim.revision }];
  const { partitions, replicas } = spec;
  const count = { groups: partitions, replicas: partitions * replicas };
  const ids = await reserveIds(store, fence, count);
  const table = planTable(picture, nodes, spec, ids, leadership.revision);
  const operations = [...(await leftovers(term, table, spec.name)), ...table.map(putPartition)];
  const done =
    (await writeGuarded(store, guard, operations)) &&
    (await writeGuarded(store, guard, put({ ...record, ready: true })));
  if (!done) throw lost(term, spec.name);
}

function recordOf({ name, hash, partitions, replicas, tags, reads }: NamespaceSpec) {
  const record: NamespaceRecord = {
    version: SCHEMA_VERSION,
    ...{ name, kind: 'redis', hash, partitions, replicas, expiry: 'consistent' },
    ...(tags !== undefined && tags.length > 0 && { tags }),
    ...(reads !== undefined && { reads }),
    ready: false,
  };
  return record;
}

/**
 * Records that an earlier namespace of this name has left, half written, deleted, or without a record.
 * Datanodes may have replicas of its groups: they are told before these are named nowhere any more.
 */
async function leftovers(
  { store, clock }: MasterTerm,
  table: readonly PartitionRecord[],
  name: Namespace,
): Promise<MetaOperation[]> {
  const written = new Set(table.map(({ partition }) => keys.partition(name, partition)));
  const [partitions, leaders] = await Promise.all([
    store.range(keys.partitionsOf(name)),
    store.range(keys.leadersOf(name)),
  ]);
  const dead = readableIn(recordKinds.partition, partitions.items);
  const removals = [...partitions.items, ...leaders.items]
    .filter(({ key }) => !written.has(key))
    .map(({ key }): MetaOperation => ({ type: 'delete', key }));
  if (dead.length === 0) return removals;
  const known = readableIn(recordKinds.deleted, (await store.range(keys.deleted)).items);
  return [...deletionsOf(name, dead, clock.wallMs(), known), ...removals];
}

function putPartition(record: PartitionRecord): MetaOperation {
  const key = keys.partition(record.namespace, record.partition);
  return { type: 'put', key, value: encodeRecord(record) };
}

/** Whoever may hold its replicas. Throws CONFLICT when these are too few. */
export function candidatesOf(
  picture: Picture,
  { name, replicas, tags = [] }: Pick<NamespaceSpec, 'name' | 'replicas' | 'tags'>,
): readonly NodeRecord[] {
  const nodes = candidatesFor(picture, tags);
  if (nodes.length >= replicas) return nodes;
  const having = tags.length === 0 ? '' : ` with the tags ${tags.join(', ')}`;
  throw conflict(
    `namespace ${name} wants ${replicas} replicas, each on a datanode of its own${having}; ` +
      `there are ${nodes.length} that live and are not being drained: start more, or want less`,
  );
}

/** Datanodes that live, have the tags, and are not being emptied. */
export function candidatesFor(picture: Picture, tags: readonly string[]): readonly NodeRecord[] {
  const draining = new Set(
    picture
      .nodeStates()
      .filter(({ record }) => record.draining !== undefined)
      .map(({ record }) => record.node),
  );
  return picture.aliveNodes().filter((node) => !draining.has(node.node) && hasTags(node, tags));
}

function planTable(
  picture: Picture,
  nodes: readonly NodeRecord[],
  { name, hash, partitions: count, replicas: each }: NamespaceSpec,
  { nextGroup, nextReplica }: CountersRecord,
  fence: Revision,
): readonly PartitionRecord[] {
  const byName = new Map(nodes.map((record) => [record.node, record]));
  const loads = loadsBeside(picture, name);
  const candidates = nodes.map((record) => candidateNode(record, loads.get(record.node) ?? 0));
  let replica = nextReplica;
  return firstTable(candidates, count, each).map((holders, partition) => {
    const replicas = holders.map((node) => ({
      replica: replica++,
      node,
      incarnation: must(byName.get(node), 'placement names live nodes').incarnation,
    }));
    return {
      version: SCHEMA_VERSION,
      namespace: name,
      partition,
      group: nextGroup + partition,
      ...initialShare(hash, partition, count),
      birth: replicas,
      replicas,
      epoch: 1,
      fence,
    };
  });
}

/** Replicas that each node holds of other namespaces. */
function loadsBeside(picture: Picture, name: Namespace): ReadonlyMap<NodeId, number> {
  const loads = new Map<NodeId, number>();
  for (const record of picture.shownPartitions()) {
    if (record.namespace === name) continue;
    for (const { node } of record.replicas) loads.set(node, (loads.get(node) ?? 0) + 1);
  }
  return loads;
}

function conflict(text: string): KvorumError {
  return new KvorumError('CONFLICT', text);
}

/** Why a write with the claim in its compares did not happen. */
function lost({ leadership }: MasterTerm, name: Namespace): KvorumError {
  return leadership.lost.aborted
    ? new KvorumError('LEASE_LOST', 'this placedriver is master no more; ask again')
    : conflict(`namespace ${name} was changed by somebody else meanwhile: look, then try again`);
}
