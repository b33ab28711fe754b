/**
 * How far each group is with what its wanted record asks, and what may be asked of it next: one
 * replica at a time, when the last change is done, and while a quorum does without that replica.
 * Pure.
 */
import type { NodeId, ReplicaId } from '../../common/ids.ts';
import type {
  LeaderRecord,
  NodeRecord,
  PartitionRecord,
  ReplicaRecord,
} from '../../meta/schema.ts';
import { knownReplicas, refillsOf, waitsForLost } from '../known-replicas.ts';
import type { BalanceView } from './view.ts';

/** The group serves this record, and no change of its members is under way. */
export function isSettled(record: PartitionRecord, leader: LeaderRecord | undefined): boolean {
  if (leader === undefined || !isOf(record, leader)) return false;
  const { epoch, joint, learners } = leader.membership;
  return epoch >= record.epoch && !joint && learners.length === 0;
}

/** A namespace made anew has other groups: what the old one's leader told is of no use. */
function isOf(record: PartitionRecord, { group }: LeaderRecord): boolean {
  return group === undefined || group === record.group;
}

/** A change of one replica: `from` goes, `adds`: another comes. */
export interface ReplicaChange {
  readonly from: ReplicaRecord | undefined;
  readonly adds: boolean;
  /** On the same node, which runs one of the two: `from` stops before the other is filled. */
  readonly inPlace?: boolean;
}

export class GroupStates {
  readonly nodes: ReadonlyMap<NodeId, NodeRecord>;
  readonly #view: BalanceView;
  readonly #damaged: ReadonlySet<ReplicaId>;

  constructor(view: BalanceView) {
    this.#view = view;
    this.nodes = new Map(view.alive.map((record) => [record.node, record]));
    this.#damaged = new Set(view.damages.map(({ replica }) => replica));
  }

  /** Its replicas are to be made elsewhere. */
  isLeaving(node: NodeId): boolean {
    return this.#view.stability.leaving.has(node) || this.#view.draining.has(node);
  }

  /** On a living node that has not lost it. */
  isWhole({ replica, node, incarnation }: ReplicaRecord): boolean {
    return this.nodes.get(node)?.incarnation === incarnation && !this.#damaged.has(replica);
  }

  isSettled(record: PartitionRecord): boolean {
    return isSettled(record, this.#view.leader(record));
  }

  /** A member of the group, as its leader told last. */
  isVoter(record: PartitionRecord, { replica }: ReplicaRecord): boolean {
    return this.#voters(record).includes(replica);
  }

  /** Would lead well: it votes, and its node stays. */
  isAbleToLead(record: PartitionRecord, replica: ReplicaRecord): boolean {
    if (!this.isWhole(replica) || this.isLeaving(replica.node)) return false;
    return this.#leader(record) === undefined || this.isVoter(record, replica);
  }

  /**
   * Data is on its way, and can get there: other moves wait for it. Not for what comes in the place of
   * a lost replica on the same node: repairs have a bound of their own (`repair`).
   */
  isMoving(record: PartitionRecord): boolean {
    const leader = this.#leader(record);
    if (leader === undefined || isSettled(record, leader)) return false;
    const voters = this.#voters(record);
    const coming = record.replicas.filter(({ replica }) => !voters.includes(replica));
    const going = voters.filter((id) => !record.replicas.some(({ replica }) => replica === id));
    if (coming.length + going.length === 0) return false;
    if (coming.length > 0 && refillsOf(record, leader).length === coming.length) return false;
    if (coming.some(({ replica }) => this.#view.stalls.stalled.has(replica))) return false;
    return coming.every((replica) => this.isWhole(replica)) && this.#canDecide(record);
  }

  /** Replicas that are to be filled, and can be: nothing is known that stands in their way. */
  arriving(record: PartitionRecord): ReplicaRecord[] {
    const leader = this.#leader(record);
    if (leader === undefined || isSettled(record, leader) || leader.membership.joint) return [];
    const coming = record.replicas.filter((replica) => !this.isVoter(record, replica));
    return this.#canDecide(record) ? coming.filter((replica) => this.isWhole(replica)) : [];
  }

  /** The one that is to come and is filled no further. */
  stalled(record: PartitionRecord): ReplicaRecord | undefined {
    const { stalled } = this.#view.stalls;
    if (stalled.size === 0) return undefined;
    return this.arriving(record).find(({ replica }) => stalled.has(replica));
  }

  /**
   * What a group still has though its record names it no more: it may stay, as nobody has been told
   * yet that it is a member no more. Undefined: it cannot, because the record does not tell where it
   * is, or because `stalled`, which was to take its place, is on its node.
   */
  returning(record: PartitionRecord, stalled: ReplicaRecord): ReplicaRecord[] | undefined {
    const { birth, replicas, move } = record;
    const known = [...birth, ...(move?.from ? [move.from] : [])];
    const places = new Map(known.map((one) => [one.replica, one]));
    const missing = this.#voters(record).filter(
      (voter) => !replicas.some(({ replica }) => replica === voter),
    );
    const back = missing.flatMap((voter) => places.get(voter) ?? []);
    if (back.length < missing.length || back.some(({ node }) => node === stalled.node)) {
      return undefined;
    }
    return back;
  }

  /** Replicas that are there and whole; what is yet to come does not count. */
  living(record: PartitionRecord): number {
    return record.replicas.filter((replica) => this.isAtWork(record, replica)).length;
  }

  isAtWork(record: PartitionRecord, replica: ReplicaRecord): boolean {
    return this.isWhole(replica) && this.isVoter(record, replica);
  }

  /** The replica that the last move takes away, while the group still counts on it. */
  givenUp(record: PartitionRecord): ReplicaRecord | undefined {
    const from = record.move?.from;
    if (from === undefined || !this.isVoter(record, from)) return undefined;
    return record.replicas.some(({ replica }) => replica === from.replica) ? undefined : from;
  }

  /** The last change cannot be carried out: see `waitsForLost`. */
  waitsForLost(record: PartitionRecord): boolean {
    const leader = this.#leader(record);
    if (leader === undefined || isSettled(record, leader)) return false;
    return waitsForLost(record, leader, (replica) => this.isWhole(replica));
  }

  /** Why a change cannot be asked of the group now; undefined: it can. */
  whyNot(
    record: PartitionRecord,
    { from, adds, inPlace = false }: ReplicaChange,
  ): string | undefined {
    const leader = this.#leader(record);
    if (leader === undefined) return 'its group has no leader yet';
    if (leader.membership.joint) return 'the members of its group are changing';
    const member = from !== undefined && this.isVoter(record, from);
    // a replica that was to come, and is lost before it votes, is replaced without waiting
    const isGivenUp = (one: ReplicaRecord) =>
      this.isLeaving(one.node) || this.#view.stalls.stalled.has(one.replica);
    const redirected = from !== undefined && !member && isGivenUp(from);
    const mended = member && !this.isWhole(from) && this.waitsForLost(record);
    if (!isSettled(record, leader) && !redirected && !mended) {
      return 'its last change is not finished';
    }
    const voters = this.#voters(record);
    const whole = this.#wholeVoters(record);
    const others = whole.filter((id) => id !== from?.replica).length;
    const enough = (): boolean => {
      if (!member || inPlace) return others >= quorum(voters.length);
      if (!whole.includes(from.replica)) return others >= quorum(voters.length);
      const rest = voters.length - 1;
      if (rest === 0) return adds;
      // then they are a quorum of all as well, with it
      return others >= quorum(rest);
    };
    return enough() ? undefined : 'too few of its other replicas are on living nodes';
  }

  #canDecide(record: PartitionRecord): boolean {
    return this.#wholeVoters(record).length >= quorum(this.#voters(record).length);
  }

  #wholeVoters(record: PartitionRecord): ReplicaId[] {
    const known = new Map(knownReplicas(record).map((replica) => [replica.replica, replica]));
    return this.#voters(record).filter((id) => {
      const replica = known.get(id);
      return replica !== undefined && this.isWhole(replica);
    });
  }

  #voters(record: PartitionRecord): readonly ReplicaId[] {
    return this.#leader(record)?.membership.voters ?? [];
  }

  #leader(record: PartitionRecord): LeaderRecord | undefined {
    const leader = this.#view.leader(record);
    return leader !== undefined && isOf(record, leader) ? leader : undefined;
  }
}

function quorum(members: number): number {
  return Math.floor(members / 2) + 1;
}
