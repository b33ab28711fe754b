/**
 * Moves that do not get on: the replica that comes is filled no further, because its node's disk is
 * full, or it is cut off from the leader, or whatever it may be. Such a move would keep its group from
 * every other change, and others from beginning, so it is given up; and for a while its node is given
 * nothing. Told by what leaders report, on the clock of whoever watches: a next master counts anew.
 */
import type { NodeId, ReplicaId, Term } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { LeaderRecord } from '../../meta/schema.ts';
import type { GroupStates } from './group-states.ts';
import type { BalanceView } from './view.ts';

export interface Stalls {
  /** Replicas that are to come and are filled no further. */
  readonly stalled: ReadonlySet<ReplicaId>;
  /** Nodes that could not be filled lately: they keep what they hold. */
  readonly shut: ReadonlySet<NodeId>;
  /** Milliseconds after which time alone changes that; undefined: never. */
  readonly changesInMs: number | undefined;
}

export const NO_STALLS: Stalls = { stalled: new Set(), shut: new Set(), changesInMs: undefined };

/** Waits for which a node that could not be filled is given nothing; started anew, once at least. */
const SHUT_WAITS = 6;

/** How far a replica that comes was at best, and since when. */
interface Fill {
  readonly node: NodeId;
  /** The node that leads its group, and sends it what it lacks. */
  readonly leader: NodeId;
  readonly term: Term;
  /** The group has begun with it. */
  readonly learning: boolean;
  /** Of a snapshot, 0 to 1. */
  readonly snapshot: number;
  /** Entries that it lacks. */
  readonly gap: number;
  readonly sinceMs: number;
}

interface Shut {
  /** Undefined: a new start lets it be filled no sooner, it could not be after the last one. */
  readonly bootId: string | undefined;
  readonly untilMs: number;
}

type Watched = Pick<BalanceView, 'partitions' | 'alive' | 'stability' | 'leader'>;

export class StallWatch {
  readonly #waitMs: number;
  #fills = new Map<ReplicaId, Fill>();
  readonly #shut = new Map<NodeId, Shut>();

  /** `waitMs`: without any progress for this long a move is given up. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** `nowMs`: a clock that only grows. */
  look(view: Watched, states: GroupStates, nowMs: number): Stalls {
    this.#fills = this.#observe(view, states, nowMs);
    for (const [node, { untilMs }] of this.#shut) if (nowMs >= untilMs) this.#shut.delete(node);
    const stalled = new Set<ReplicaId>();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [replica, { node, learning, sinceMs }] of this.#fills) {
      const leftMs = sinceMs + this.#waitMs - nowMs;
      if (leftMs > 0) {
        soonestMs = Math.min(soonestMs, leftMs);
        continue;
      }
      stalled.add(replica);
      if (learning) this.#close(view, node, nowMs);
    }
    for (const { untilMs } of this.#shut.values()) soonestMs = Math.min(soonestMs, untilMs - nowMs);
    const changesInMs = soonestMs === Number.POSITIVE_INFINITY ? undefined : soonestMs;
    const shut = [...this.#shut].filter(([node, one]) => this.#isShut(one, node, view));
    return { stalled, shut: new Set(shut.map(([node]) => node)), changesInMs };
  }

  /** While nothing may move nobody is blamed: nodes may be stopped on purpose. */
  #observe(view: Watched, states: GroupStates, nowMs: number): Map<ReplicaId, Fill> {
    const fills = new Map<ReplicaId, Fill>();
    if (view.stability.frozen !== undefined) return fills;
    for (const { record } of view.partitions) {
      const leader = view.leader(record);
      if (leader === undefined) continue;
      for (const { replica, node } of states.arriving(record)) {
        fills.set(replica, this.#fillOf(replica, node, leader, nowMs));
      }
    }
    const isQueued = this.#line([...fills.values()], nowMs);
    for (const [replica, fill] of fills) {
      if (isQueued(fill)) fills.set(replica, { ...fill, sinceMs: nowMs });
    }
    return fills;
  }

  /**
   * Nodes send and receive few snapshots at a time, and change few of the groups that they lead: who
   * has been sent nothing yet waits in line while others at the same nodes get on.
   */
  #line(fills: readonly Fill[], nowMs: number): (fill: Fill) => boolean {
    const sends = new Map<NodeId, number>();
    const receives = new Set<NodeId>();
    for (const fill of fills) {
      if (!isBegun(fill) || nowMs - fill.sinceMs >= this.#waitMs) continue;
      sends.set(fill.leader, (sends.get(fill.leader) ?? 0) + 1);
      receives.add(fill.node);
    }
    return (fill) => {
      if (isBegun(fill)) return false;
      const all = fill.learning ? limits.snapshotSendsPerNodeMax : 1;
      return receives.has(fill.node) || (sends.get(fill.leader) ?? 0) >= all;
    };
  }

  #fillOf(replica: ReplicaId, node: NodeId, leader: LeaderRecord, nowMs: number): Fill {
    const { term, membership, catchingUp } = leader;
    const told = catchingUp?.find((one) => one.replica === replica);
    const now: Fill = {
      ...{ node, leader: leader.node, term, learning: membership.learners.includes(replica) },
      snapshot: told?.snapshot ?? 0,
      gap:
        told === undefined || told.match === 0 ? Number.POSITIVE_INFINITY : told.last - told.match,
      sinceMs: nowMs,
    };
    const best = this.#fills.get(replica);
    // another leader begins anew, as does the first one with a learner
    if (best === undefined || best.term !== term || best.learning !== now.learning) return now;
    if (now.snapshot <= best.snapshot && now.gap >= best.gap) return best;
    const [snapshot, gap] = [Math.max(now.snapshot, best.snapshot), Math.min(now.gap, best.gap)];
    return { ...now, snapshot, gap };
  }

  #close({ alive }: Watched, node: NodeId, nowMs: number): void {
    const record = alive.find((one) => one.node === node);
    if (record === undefined) return;
    const untilMs = nowMs + SHUT_WAITS * this.#waitMs;
    const known = this.#shut.get(node);
    const again = known !== undefined && known.bootId !== record.bootId;
    this.#shut.set(node, { bootId: again ? undefined : record.bootId, untilMs });
  }

  /** Somebody who starts a node anew may have mended it. */
  #isShut({ bootId }: Shut, node: NodeId, { alive }: Watched): boolean {
    if (bootId === undefined) return true;
    return (alive.find((one) => one.node === node)?.bootId ?? bootId) === bootId;
  }
}

/** Something of the group has come there. */
function isBegun({ snapshot, gap }: Fill): boolean {
  return snapshot > 0 || gap < Number.POSITIVE_INFINITY;
}
