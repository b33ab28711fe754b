/**
 * What to write next: which replicas of which partitions go and come, and who should lead. The most
 * urgent first: partitions with the fewest living replicas; then those on nodes that are lost, those
 * on nodes that are drained, what an operator changed, and balance. One replica of a partition at a
 * time, and only when its last change is done and a quorum does without it; a few in the whole
 * cluster at a time. Who should lead changes at once and moves no data. Pure.
 */
import type { Incarnation, NodeId } from '../../common/ids.ts';
import type { Steps } from '../../common/slices.ts';
import type { NamespaceRecord, ReplicaRecord } from '../../meta/schema.ts';
import { orderLeaders } from '../placement/leaders.ts';
import { GroupStates } from './group-states.ts';
import { Tables } from './tables.ts';
import { type BalanceView, type KnownPartition, type MoveKind, moveKinds } from './view.ts';
import { type Wish, wishesOf } from './wishes.ts';
import { type Withdrawal, withdraw, withdrawalsOf } from './withdrawals.ts';

/** A replica to be made: its id is drawn when it is written. */
export interface NewPlace {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
}

export interface WantedMove {
  /** Named no more by the record; `from`, or one that was to take its place and is lost. */
  readonly drops: ReplicaRecord | undefined;
  readonly from: ReplicaRecord | undefined;
  readonly to: NewPlace | undefined;
  readonly kind: MoveKind;
  readonly why: string;
  /** What was to come could not be filled: it is `drops`. */
  readonly givesUp?: boolean;
  /** Members that the group still has, and keeps after all. */
  readonly returns?: readonly ReplicaRecord[];
}

export interface WantedChange<P extends KnownPartition = KnownPartition> {
  readonly partition: P;
  /** The one that should lead first; who stays keeps its id. */
  readonly replicas: readonly (ReplicaRecord | NewPlace)[];
  /** Absent: only the order changes. */
  readonly move?: WantedMove;
}

/**
 * Nothing when everything is as it should be, or cannot be changed now. In steps of one namespace
 * or one move each: the view must stay as it is meanwhile.
 */
export function* planMoves<P extends KnownPartition>(
  view: BalanceView<P>,
): Steps<WantedChange<P>[]> {
  const states = new GroupStates(view);
  const moves = yield* planReplicas(view, states);
  yield;
  return yield* planOrder(view, states, moves);
}

/** Per partition the one move to be begun. */
function* planReplicas<P extends KnownPartition>(
  view: BalanceView<P>,
  states: GroupStates,
): Steps<ReadonlyMap<P, WantedMove>> {
  const moves = new Map<P, WantedMove>();
  if (view.stability.frozen !== undefined) return moves;
  const tables = new Tables(view, states);
  const withdrawals = withdrawalsOf(view, tables.namespaces, states);
  const returning = withdrawals.filter(({ returns }) => returns !== undefined);
  for (const one of returning) moves.set(one.partition, withdraw(one, tables, states)!);
  const moving = view.partitions.filter(({ record }) => states.isMoving(record)).length;
  let free = view.movesAtOnceMax - moving;
  if (free <= 0) return moves;
  const elsewhere = withdrawals.filter(({ returns }) => returns === undefined);
  for (const { partition, begin } of yield* candidates(view, tables, states, elsewhere)) {
    if (free === 0) break;
    const move = moves.has(partition) ? undefined : begin();
    if (move !== undefined) {
      moves.set(partition, move);
      free--;
    }
    yield;
  }
  return moves;
}

/** A move that may be begun. */
interface Candidate<P extends KnownPartition> {
  readonly partition: P;
  readonly kind: MoveKind;
  readonly namespace: NamespaceRecord;
  /** Undefined: it cannot be begun now. */
  begin(): WantedMove | undefined;
}

/** The most urgent first: what is given up and made elsewhere, and the first wish of each partition. */
function* candidates<P extends KnownPartition>(
  view: BalanceView<P>,
  tables: Tables<P>,
  states: GroupStates,
  withdrawals: readonly Withdrawal<P>[],
): Steps<Candidate<P>[]> {
  const asItIs = withdrawals.length === 0 ? tables : new Tables(view, states);
  const mode = view.stability.unbalanced === undefined ? 'balance' : 'repair';
  const wishes = (yield* tables.plan(mode)).flatMap((table) => wishesOf(table, states));
  const first = new Map<P, Wish<P>>();
  for (const wish of wishes) if (!first.has(wish.partition)) first.set(wish.partition, wish);
  return byUrgency(
    [
      ...withdrawals.map((one) => ({ ...one, begin: () => withdraw(one, asItIs, states) })),
      ...[...first.values()].map((wish) => ({ ...wish, begin: () => begin(wish, tables, states) })),
    ],
    states,
  );
}

/** Of partitions with the fewest living replicas first. */
function byUrgency<P extends KnownPartition>(
  all: readonly Candidate<P>[],
  states: GroupStates,
): Candidate<P>[] {
  const missing = ({ namespace, partition }: Candidate<P>) =>
    namespace.replicas - states.living(partition.record);
  return all
    .map((one) => ({ one, missing: missing(one), rank: moveKinds.indexOf(one.kind) }))
    .sort((a, b) => b.missing - a.missing || a.rank - b.rank)
    .map(({ one }) => one);
}

function begin<P extends KnownPartition>(
  { namespace, partition, from: source, to: target, kind, why }: Wish<P>,
  tables: Tables<P>,
  states: GroupStates,
): WantedMove | undefined {
  const { record } = partition;
  const drops = record.replicas.find(({ node }) => node === source);
  if (states.whyNot(record, { from: drops, adds: target !== undefined }) !== undefined)
    return undefined;
  let to = target;
  const givenUp = states.givenUp(record);
  if (givenUp !== undefined && states.isWhole(givenUp) && states.waitsForLost(record)) {
    // the group has all that this one has, and nobody was told to destroy it
    return { drops, from: drops, to: undefined, returns: [givenUp], kind, why };
  }
  if (to !== undefined && source !== undefined && to === givenUp?.node) {
    // a replica of the group is still at work there: a second would stop it
    to = tables.elsewhere(namespace, record, source, [to]);
    if (to === undefined) return undefined;
  }
  const node = to === undefined ? undefined : states.nodes.get(to);
  if (to !== undefined && node === undefined) return undefined;
  const place = node && { node: node.node, incarnation: node.incarnation };
  return { drops, from: givenUp ?? drops, to: place, kind, why };
}

/** Who should lead each partition once those moves are asked for, within 1 of each other. */
function* planOrder<P extends KnownPartition>(
  view: BalanceView<P>,
  states: GroupStates,
  moves: ReadonlyMap<P, WantedMove>,
): Steps<WantedChange<P>[]> {
  const tables = new Tables(view, states);
  const led = new Map<NodeId, number>();
  const lead = (node: NodeId | undefined, by: number) => {
    if (node !== undefined) led.set(node, (led.get(node) ?? 0) + by);
  };
  for (const { record } of view.partitions) lead(record.replicas[0]?.node, 1);
  const stays = (node: NodeId, leader: NodeId | undefined) =>
    node === leader && view.blinking.has(node);
  const changes: WantedChange<P>[] = [];
  for (const namespace of tables.namespaces) {
    const partitions = tables.partitionsOf(namespace);
    const staying = partitions.map((partition) => stayingOf(partition, moves.get(partition)));
    const current = partitions.map(({ record }) => record.replicas[0]?.node);
    for (const node of current) lead(node, -1);
    const leaders = orderLeaders({
      able: partitions.map(({ record }, row) =>
        staying[row]!.filter(
          (one) => states.isAbleToLead(record, one) || stays(one.node, current[row]),
        ).map(({ node }) => node),
      ),
      current,
      ledElsewhere: (node) => led.get(node) ?? 0,
      level: view.levelLeaders && view.blinking.size === 0,
    });
    for (const [row, node] of current.entries()) lead(leaders[row] ?? node, 1);
    changes.push(...changesOf(partitions, staying, leaders, moves));
    yield;
  }
  return changes;
}

function stayingOf({ record }: KnownPartition, move: WantedMove | undefined): ReplicaRecord[] {
  const kept = record.replicas.filter(({ replica }) => replica !== move?.drops?.replica);
  return [...kept, ...(move?.returns ?? [])];
}

function changesOf<P extends KnownPartition>(
  partitions: readonly P[],
  staying: readonly (readonly ReplicaRecord[])[],
  leaders: readonly (NodeId | undefined)[],
  moves: ReadonlyMap<P, WantedMove>,
): WantedChange<P>[] {
  return partitions.flatMap((partition, row): WantedChange<P>[] => {
    const move = moves.get(partition);
    const ordered = leaderFirst(staying[row]!, leaders[row]);
    if (move === undefined) {
      const same = ordered[0]?.replica === partition.record.replicas[0]?.replica;
      return same ? [] : [{ partition, replicas: ordered }];
    }
    return [{ partition, replicas: [...ordered, ...(move.to ? [move.to] : [])], move }];
  });
}

/** The others keep their order. */
export function leaderFirst(
  replicas: readonly ReplicaRecord[],
  leader: NodeId | undefined,
): ReplicaRecord[] {
  const first = replicas.filter(({ node }) => node === leader);
  return [...first, ...replicas.filter(({ node }) => node !== leader)];
}
