/**
 * Who leads now, when the leader that was known did not take a command and nobody tells of another:
 * the members of the partition are asked, one after the other, until one names a leader of a newer
 * term. The metadata store tells it as well, but may be away; a node with a replica hears of it by
 * raft, one without would never. What is learned only says where commands are sent next: they carry
 * the term, and whoever does not lead in it refuses them.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { type ErrorCode, errorTable } from '../../common/errors.ts';
import type { GroupId, Namespace, NodeId, PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { LeaderQuestion } from './leader-question.ts';
import type { MutableRouteTable } from './route-table.ts';
import type { LeaderHint } from './table.ts';

export interface SearchGround {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly routes: MutableRouteTable;
  isLocalLeader(namespace: Namespace, partition: PartitionId): boolean;
  isReachable(node: NodeId): boolean;
  /** Undefined: the node knows of none. Rejects when it cannot tell. */
  ask(node: NodeId, question: LeaderQuestion, timeoutMs: number): Promise<LeaderHint | undefined>;
}

interface Search {
  readonly question: LeaderQuestion;
  untilMs: number;
  pauseMs: number;
  /** Of the member that is asked next, counted on without end. */
  next: number;
  timer: Timer | undefined;
}

const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 200;
/** A node that stands still is waited for no longer; meanwhile others are asked. */
const ANSWER_MS = 500;

export class LeaderSearch {
  readonly #ground: SearchGround;
  /** One for all who want to know it. */
  readonly #searches = new Map<GroupId, Search>();
  #closed = false;

  constructor(ground: SearchGround) {
    this.#ground = ground;
  }

  /**
   * Begins at once, unless a leader is known whose node can be reached, or the search is under way;
   * ends when there is one, at `untilMs` at the latest.
   */
  seek(namespace: Namespace, partition: PartitionId, untilMs: number): void {
    const group = this.#ground.routes.groupOf(namespace, partition);
    if (group === undefined || this.#closed) return;
    const running = this.#searches.get(group);
    if (running !== undefined) {
      running.untilMs = Math.max(running.untilMs, untilMs);
      return;
    }
    // who finds no room asks again when its command is tried again
    if (this.#searches.size >= limits.leaderSearchesMax) return;
    const question = { namespace, partition, group };
    const search = { question, untilMs, pauseMs: PAUSE_MIN_MS, next: group, timer: undefined };
    if (!this.#goesOn(search)) return;
    this.#searches.set(group, search);
    this.#step(search);
  }

  /** Nobody is asked any more. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#searches.values()) timer?.cancel();
    this.#searches.clear();
  }

  #step(search: Search): void {
    if (!this.#goesOn(search)) {
      this.#searches.delete(search.question.group);
      return;
    }
    const member = this.#nextMember(search);
    if (member !== undefined) void this.#ask(member, search.question);
    search.timer = this.#ground.clock.setTimer(search.pauseMs, () => this.#step(search));
    search.pauseMs = Math.min(search.pauseMs * 2, PAUSE_MAX_MS);
  }

  #goesOn({ question, untilMs }: Search): boolean {
    const { clock, routes, isLocalLeader, isReachable } = this.#ground;
    const { namespace, partition, group } = question;
    if (clock.monotonicMs() >= untilMs || routes.groupOf(namespace, partition) !== group) {
      return false;
    }
    const known = routes.leader(namespace, partition);
    return !isLocalLeader(namespace, partition) && !(known && isReachable(known.node));
  }

  /** Undefined: none can be asked now. */
  #nextMember(search: Search): NodeId | undefined {
    const { node: own, routes, isReachable } = this.#ground;
    const { namespace, partition } = search.question;
    const members = (routes.partitions(namespace)?.[partition]?.replicas ?? [])
      .map(({ node }) => node)
      .filter((node) => node !== own && isReachable(node));
    return members[search.next++ % members.length];
  }

  async #ask(member: NodeId, question: LeaderQuestion): Promise<void> {
    try {
      const told = await this.#ground.ask(member, question, ANSWER_MS);
      if (told !== undefined) this.#take(question, told);
    } catch {
      // an older version, or on its way down: the next one is asked
    }
  }

  /**
   * Of the term that is known there is no other leader, and what its own replica leads a node knows.
   * So each answer that is taken is newer than all before it, and a wrong one is not taken twice.
   */
  #take({ namespace, partition, group }: LeaderQuestion, { node, term }: LeaderHint): void {
    const { node: own, routes } = this.#ground;
    const knownTerm = routes.lastLeader(namespace, partition)?.term ?? 0;
    if (node === own || term <= knownTerm) return;
    if (routes.groupOf(namespace, partition) === group) routes.setLeader(group, node, term);
  }
}

/** The refusal, or the failure, may mean that another node leads; one that is busy leads still. */
export function mayLeadElsewhere(code: ErrorCode): boolean {
  const { outcome } = errorTable[code];
  return code !== 'BUSY' && (outcome === 'not-proposed' || outcome === 'unknown');
}
