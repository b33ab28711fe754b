/**
 * Nodes are drained, replicas moved and given up, leaders named. Each request asks for one change of
 * wanted state and resolves when that is written; it is carried out behind. What an operator moved
 * is not taken back: tables within 1 of each other, over data centres as even as can be, are left as
 * they are. Balancing does move something, maybe the same replica, when the request leaves two nodes
 * more than 1 apart; the same holds for leaders. To keep such an arrangement, switch balancing off.
 */
import { KvorumError } from '../../common/errors.ts';
import type { NodeId } from '../../common/ids.ts';
import { keys } from '../../meta/schema.ts';
import { hasTags } from '../balance/candidates.ts';
import { GroupStates } from '../balance/group-states.ts';
import { leaderFirst, type WantedChange } from '../balance/plan-moves.ts';
import { Tables } from '../balance/tables.ts';
import { balanceView, type PlanningView } from '../balance-view.ts';
import type { StoredPartition } from '../picture.ts';
import type { MasterTerm } from '../term.ts';
import { writeChanges } from '../wanted-changes.ts';
import { attempt } from './attempt.ts';
import { drainRequests } from './drain.ts';
import { listed, thereAre } from './known-names.ts';
import type { Operator, PartitionName } from './operator.ts';

type MoveRequests = Pick<
  Operator,
  'drain' | 'undrain' | 'move' | 'transferLeader' | 'removeReplica'
>;

export function moveRequests(term: MasterTerm): MoveRequests {
  const change = (
    { namespace, partition }: PartitionName,
    plan: (ground: Ground) => WantedChange<StoredPartition> | undefined,
  ) =>
    attempt(term, async () => {
      // what was written last may make this request one that has nothing to do, or has something
      if (term.picture.awaits(keys.partition(namespace, partition))) return false;
      const ground = groundOf(term);
      const wanted = plan(ground);
      if (wanted === undefined) return true;
      return (await writeChanges(term, ground.view.controlRevision, [wanted])) === 1;
    });
  return {
    ...drainRequests(term),
    move: (what, from, to) => change(what, (ground) => planMove(ground, what, from, to)),
    transferLeader: (what, to) => change(what, (ground) => planTransfer(ground, what, to)),
    removeReplica: (what, node) => change(what, (ground) => planRemoval(ground, what, node)),
  };
}

interface Ground {
  readonly view: PlanningView;
  readonly states: GroupStates;
}

function groundOf({ picture, settings, clock }: MasterTerm): Ground {
  const view = balanceView(picture, settings, clock.wallMs());
  return { view, states: new GroupStates(view) };
}

function planMove(
  ground: Ground,
  what: PartitionName,
  from: NodeId,
  to: NodeId,
): WantedChange<StoredPartition> {
  const { states, view } = ground;
  const partition = partitionOf(ground, what);
  const { record } = partition;
  const leaving = replicaOn(partition, from, 'from');
  if (record.replicas.some(({ node }) => node === to)) {
    throw new KvorumError(
      'BAD_ARGUMENT',
      `to: node ${to} holds a replica of it already; name another`,
    );
  }
  const node = states.nodes.get(to);
  if (node === undefined) {
    const text = `to: no living node ${to}; ${thereAre([...states.nodes.keys()])}`;
    throw new KvorumError('NOT_FOUND', text);
  }
  if (states.isLeaving(to)) {
    throw new KvorumError('CONFLICT', `to: node ${to} is drained; take that back first`);
  }
  const namespace = namespaceOf(ground, what);
  if (!hasTags(node, namespace.tags)) {
    const text = `to: node ${to} has not the tags of ${what.namespace}, ${namespace.tags?.join(', ')}`;
    throw new KvorumError('CONFLICT', `${text}; name a node that has them, or change either`);
  }
  if (new Tables(view, states).isFull(to)) {
    const text = `to: node ${to} holds as many replicas as its capacity of ${node.capacity} allows`;
    throw new KvorumError('CONFLICT', `${text}; name another node, or start it with a larger one`);
  }
  checkMayChange(ground, partition, from);
  const place = { node: to, incarnation: node.incarnation };
  return replaced(ground, partition, leaving.node, place, 'an operator moved it');
}

function planTransfer(
  ground: Ground,
  what: PartitionName,
  to: NodeId,
): WantedChange<StoredPartition> | undefined {
  const partition = partitionOf(ground, what);
  const { record } = partition;
  const next = replicaOn(partition, to, 'to');
  if (record.replicas[0]?.replica === next.replica) return undefined;
  if (!ground.states.isAbleToLead(record, next)) {
    const text = `to: the replica on ${to} cannot lead: its node is away or drained, or it is not filled yet`;
    throw new KvorumError('CONFLICT', text);
  }
  return { partition, replicas: leaderFirst(record.replicas, to) };
}

function planRemoval(
  ground: Ground,
  what: PartitionName,
  node: NodeId,
): WantedChange<StoredPartition> {
  const { states, view } = ground;
  const partition = partitionOf(ground, what);
  replicaOn(partition, node, 'node');
  const tables = new Tables(view, states);
  const to = tables.elsewhere(namespaceOf(ground, what), partition.record, node) ?? node;
  checkMayChange(ground, partition, node, to === node);
  const record = states.nodes.get(to);
  if (record === undefined) {
    const text = `no other node can take it, and ${node} is away: bring one of them up`;
    throw new KvorumError('CONFLICT', text);
  }
  const place = { node: to, incarnation: record.incarnation };
  return replaced(ground, partition, node, place, 'an operator gave it up');
}

/** Whoever should lead goes on; another does when its replica goes. */
function replaced(
  { states }: Ground,
  partition: StoredPartition,
  from: NodeId,
  to: { readonly node: NodeId; readonly incarnation: string },
  why: string,
): WantedChange<StoredPartition> {
  const { record } = partition;
  const drops = record.replicas.find(({ node }) => node === from);
  const staying = record.replicas.filter(({ node }) => node !== from);
  const able = staying.filter((replica) => states.isAbleToLead(record, replica));
  const leader = able.find(({ replica }) => replica === record.replicas[0]?.replica) ?? able[0];
  return {
    partition,
    replicas: [...leaderFirst(staying, leader?.node), to],
    move: { drops, from: drops, to, kind: 'operator', why },
  };
}

function checkMayChange(
  { states, view }: Ground,
  partition: StoredPartition,
  node: NodeId,
  inPlace = false,
): void {
  const { record } = partition;
  const { frozen } = view.stability;
  if (frozen !== undefined) throw new KvorumError('CONFLICT', `no replica moves now: ${frozen}`);
  const from = record.replicas.find((replica) => replica.node === node);
  const settled = states.isSettled(record) ? undefined : 'the last change is not finished';
  const reason = settled ?? states.whyNot(record, { from, adds: true, inPlace });
  if (reason !== undefined && inPlace) {
    const text = `no other node can take it, and on ${node} it cannot be made anew: ${reason}`;
    throw new KvorumError('CONFLICT', `${text}; add a node, or try again later`);
  }
  if (reason !== undefined) {
    throw new KvorumError('CONFLICT', `its replicas cannot change now: ${reason}; try again later`);
  }
  const moving = view.partitions.filter((known) => states.isMoving(known.record)).length;
  if (moving < view.movesAtOnceMax) return;
  throw new KvorumError('CONFLICT', `${moving} replicas are moving, no more do at once; try later`);
}

function partitionOf({ view }: Ground, { namespace, partition }: PartitionName): StoredPartition {
  const found = view.partitions.find(
    ({ record }) => record.namespace === namespace && record.partition === partition,
  );
  if (found !== undefined) return found;
  const others = view.partitions.filter(({ record }) => record.namespace === namespace);
  const numbers = others.map(({ record }) => record.partition);
  const known =
    others.length === 0
      ? `${namespace} is no namespace, or none of it can be read`
      : `of ${namespace} there are ${Math.min(...numbers)} to ${Math.max(...numbers)}`;
  const text = `no partition ${namespace}/${partition} that can be read; ${known}`;
  throw new KvorumError('NOT_FOUND', text);
}

function namespaceOf({ view }: Ground, { namespace }: PartitionName) {
  const found = view.namespaces.find(({ name }) => name === namespace);
  if (found?.ready && !found.deleting) return found;
  throw new KvorumError('NOT_FOUND', `no namespace ${namespace}`);
}

function replicaOn({ record }: StoredPartition, node: NodeId, argument: string) {
  const found = record.replicas.find((replica) => replica.node === node);
  if (found !== undefined) return found;
  const { namespace, partition, replicas } = record;
  const holders = listed(replicas.map((replica) => replica.node));
  const text =
    `${argument}: node ${node} holds no replica of ${namespace}/${partition}, whose replicas are on ` +
    holders;
  throw new KvorumError('BAD_ARGUMENT', text);
}
