/**
 * A group that lost its quorum is given up: a group under a new id goes on from a survivor. One
 * transaction writes the wanted record and takes the former leader's report away; it fails when a
 * member's node has registered or gone meanwhile, so whoever comes back is refused by the record it
 * reads (`datanode/partition/members/return-hold.ts`), or was seen here.
 */
import { KvorumError } from '../../common/errors.ts';
import type { NodeId, ReplicaId } from '../../common/ids.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../../meta/records.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../meta/schema.ts';
import type { Compare, MetaItem, MetaStore } from '../../meta/store.ts';
import { reserveIds } from '../fenced.ts';
import type { MasterTerm } from '../term.ts';
import { attempt } from './attempt.ts';
import type { Operator, PartitionName } from './operator.ts';
import { membersOf, planRebuild, type RebuildPlan } from './rebuild-plan.ts';

type RebuildRequests = Pick<Operator, 'rebuild'>;

/** What an operator must repeat. */
function rebuildConfirmation({ namespace, partition }: PartitionName): string {
  return `lose-data-of ${namespace}/${partition}`;
}

export function rebuildRequests(term: MasterTerm): RebuildRequests {
  return {
    rebuild: (what, survivor, confirmation) => rebuild(term, what, survivor, confirmation),
  };
}

function rebuild(
  term: MasterTerm,
  what: PartitionName,
  survivor: NodeId,
  confirmation: string,
): Promise<void> {
  return attempt(term, async () => {
    const found = await find(term.store, what);
    if (confirmation !== rebuildConfirmation(what)) throw unconfirmed(what, survivor, found);
    const plan = planRebuild({ ...found, survivor });
    return plan === undefined || give(term, found, plan);
  });
}

interface Found {
  readonly record: PartitionRecord;
  readonly leader: LeaderRecord | undefined;
  readonly alive: ReadonlyMap<NodeId, string>;
  readonly damaged: ReadonlySet<ReplicaId>;
  /** Hold while all this is as it was found. */
  readonly unchanged: readonly Compare[];
}

/** From the store itself: what is decided here cannot be taken back. Throws NOT_FOUND, BAD_RECORD. */
async function find(store: MetaStore, what: PartitionName): Promise<Found> {
  const { namespace, partition } = what;
  const owner = await read(store, recordKinds.namespace, keys.namespace(namespace));
  if (owner.record?.ready !== true) {
    throw new KvorumError('NOT_FOUND', `there is no namespace ${namespace}`);
  }
  const { record, unchanged } = await read(
    store,
    recordKinds.partition,
    keys.partition(namespace, partition),
  );
  if (record === undefined) {
    throw new KvorumError('NOT_FOUND', `namespace ${namespace} has no partition ${partition}`);
  }
  const report = await read(store, recordKinds.leader, keys.leader(namespace, partition));
  const foreign = (report.record?.group ?? record.group) !== record.group;
  const leader = foreign ? undefined : report.record;
  const nodes = [...new Set(membersOf(record, leader).map(({ node }) => node))];
  const registered = await Promise.all(
    nodes.map((node) => read<NodeRecord>(store, recordKinds.node, keys.node(node))),
  );
  const alive = new Map<NodeId, string>();
  for (const { record: node } of registered) {
    if (node !== undefined) alive.set(node.node, node.incarnation);
  }
  const damages = await store.range(keys.damages);
  const damaged = new Set(
    damages.items.map(({ key, value }) => decodeRecord(recordKinds.damage, key, value).replica),
  );
  // a namespace that is deleted meanwhile tells only of the groups that it has
  const seen = [
    owner.unchanged,
    unchanged,
    report.unchanged,
    ...registered.map((node) => node.unchanged),
  ];
  return { record, leader, alive, damaged, unchanged: seen };
}

async function read<T>(
  store: MetaStore,
  kind: RecordKind<T>,
  key: string,
): Promise<{ readonly record: T | undefined; readonly unchanged: Compare }> {
  const item: MetaItem | undefined = await store.get(key);
  const record = item && decodeRecord(kind, key, item.value);
  return { record, unchanged: { key, modRevision: item?.modRevision ?? 0 } };
}

/** False when something was not any more as it was found. */
async function give(term: MasterTerm, found: Found, plan: RebuildPlan): Promise<boolean> {
  const { store, fence, leadership, logger } = term;
  const { record, unchanged } = found;
  const { namespace, partition } = record;
  const { nextGroup } = await reserveIds(store, fence, { groups: 1, replicas: 0 });
  const epoch = record.epoch + 1;
  const { survivor, lost } = plan;
  const formerGroups = [...(record.rebuilt?.formerGroups ?? []), record.group];
  // what the former group was to move is none of the new one's
  const { move: _, ...kept } = record;
  const next: PartitionRecord = {
    ...kept,
    group: nextGroup,
    birth: [survivor],
    replicas: [survivor],
    epoch,
    fence: leadership.revision,
    rebuilt: { epoch, formerGroups, lost },
  };
  const { succeeded } = await store.transaction(
    [fence, ...unchanged],
    [
      { type: 'put', key: keys.partition(namespace, partition), value: encodeRecord(next) },
      { type: 'delete', key: keys.leader(namespace, partition) },
    ],
  );
  if (!succeeded) return false;
  logger.warn(
    'a partition that lost its quorum is rebuilt; what only the others held is given up',
    {
      namespace,
      partition,
      survivor: survivor.node,
      replica: survivor.replica,
      lost: namesOf(lost),
      formerGroup: record.group,
      group: nextGroup,
    },
  );
  return true;
}

function unconfirmed(what: PartitionName, survivor: NodeId, { record, leader }: Found) {
  const others = membersOf(record, leader).filter(({ node }) => node !== survivor);
  return new KvorumError(
    'BAD_ARGUMENT',
    `confirmation: must be exactly "${rebuildConfirmation(what)}". DATA IS LOST: every write that ` +
      `${survivor} does not hold is given up for ever, acknowledged ones too, and these replicas ` +
      `are destroyed wherever they turn up: ${namesOf(others) || 'none'}. Make sure that their ` +
      'nodes are stopped: one that runs, cut off from the metadata store and from all other ' +
      'nodes, serves clients until it hears of this',
  );
}

function namesOf(replicas: readonly { readonly replica: ReplicaId; readonly node: NodeId }[]) {
  return replicas.map(({ replica, node }) => `${replica} on ${node}`).join(', ');
}
