/**
 * What changes in one partition, as its leader tells (or this node's replica, for reads of a follower):
 * asked for behind the last place in the log that was told, again and again, so nothing is missed while
 * there are answers. An answer that is proven tells all that was acknowledged before it was asked for; a
 * feed without one for `limits.trackingProofMs` is lost, and what was read may have changed.
 */
import { type Clock, sleep, type Timer } from '../../common/clock.ts';
import { anyAborted } from '../../common/either-signal.ts';
import type { LogIndex } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ChangedKeys, ChangesAnswer, ChangesRequest } from '../partition/entries/changes.ts';
import type { ChangesPlace } from '../routing/changes-codec.ts';
import { type KeyCounts, KeyTable } from './key-table.ts';

export interface FeedWorld {
  readonly clock: Clock;
  ask(place: ChangesPlace, request: ChangesRequest, gone: AbortSignal): Promise<ChangesAnswer>;
  onChanges(feed: ChangeFeed, changes: readonly ChangedKeys[]): void;
  /** Any key may have changed, without a word of it: `wasOpen` false, since nobody listened. */
  onMissed(feed: ChangeFeed, wasOpen: boolean): void;
}

const RETRY_MS = 50;
/** A proof is asked for at this age of the last. */
const PROVE_AFTER_MS = 500;

const UNANSWERED: ChangesAnswer = {
  kind: 'failed',
  code: 'NO_LEADER',
  message: 'whoever was asked did not answer',
};

export class ChangeFeed {
  readonly place: ChangesPlace;
  readonly ofReplica: boolean;
  readonly keys: KeyTable;
  /** When somebody read through it last, or was found to have something of it. */
  usedMs = 0;
  readonly #world: FeedWorld;
  #after: LogIndex | undefined;
  /** The newest proof was asked for then; undefined: there is none that counts. */
  #provenMs: number | undefined;
  #asking: AbortController | undefined;
  #askedMs = 0;
  /** Reads wait until then for changes to be heard of: together, or each of them would wait so long. */
  #openByMs: number;
  #closed = false;
  readonly #waiting = new Set<() => void>();

  constructor(world: FeedWorld, place: ChangesPlace, ofReplica: boolean, counts: KeyCounts) {
    this.#world = world;
    this.place = place;
    this.ofReplica = ofReplica;
    this.keys = new KeyTable(counts);
    this.#openByMs = world.clock.monotonicMs() + limits.trackingOpenMs;
    void this.#run();
  }

  /** What is read now is told of when it changes. */
  get isLive(): boolean {
    const { clock } = this.#world;
    const provenMs = this.#provenMs;
    return provenMs !== undefined && clock.monotonicMs() - provenMs < limits.trackingProofMs;
  }

  /**
   * Undefined when it is live, or was not for `limits.trackingOpenMs` (a leader of an older build never
   * answers); else resolves once it is, or so long after it was last.
   */
  ready(): Promise<void> | undefined {
    if (this.isLive || this.#closed) return undefined;
    const leftMs = this.#openByMs - this.#world.clock.monotonicMs();
    if (leftMs <= 0) return undefined;
    return new Promise((resolve) => {
      const go = () => {
        timer.cancel();
        this.#waiting.delete(go);
        resolve();
      };
      const timer: Timer = this.#world.clock.setTimer(leftMs, go);
      this.#waiting.add(go);
    });
  }

  /** From time to time: that no answer comes shows here. */
  look(): void {
    const nowMs = this.#world.clock.monotonicMs();
    if (this.#provenMs !== undefined && !this.isLive) {
      this.#provenMs = undefined;
      this.#after = undefined;
      this.#openByMs = nowMs + limits.trackingOpenMs;
      this.#world.onMissed(this, true);
      this.askAgain();
    } else if (nowMs - this.#askedMs >= limits.trackingProofMs) this.askAgain();
  }

  /** Another may lead now: whoever is asked at this moment need not answer, and is not waited for. */
  askAgain(): void {
    this.#asking?.abort();
  }

  close(): void {
    this.#closed = true;
    this.#provenMs = undefined;
    this.askAgain();
    this.#letGo();
  }

  async #run(): Promise<void> {
    const { clock } = this.#world;
    while (!this.#closed) {
      const askedMs = clock.monotonicMs();
      const after = this.#after;
      const answer = await this.#ask(askedMs, after);
      // what was lost meanwhile begins anew
      if (this.#closed || after !== this.#after) continue;
      if (answer.kind === 'told') this.#take(answer, askedMs);
      else await sleep(clock, RETRY_MS);
    }
  }

  async #ask(nowMs: number, after: LogIndex | undefined): Promise<ChangesAnswer> {
    const asking = new AbortController();
    this.#asking = asking;
    this.#askedMs = nowMs;
    const proves = this.#provenMs === undefined || nowMs - this.#provenMs >= PROVE_AFTER_MS;
    const request = { after, proves, ofReplica: this.ofReplica };
    try {
      const answer = this.#world.ask(this.place, request, asking.signal);
      // a replica of this node that proves that it leads hears of no signal until that has failed
      const gone = anyAborted(asking.signal).then(() => UNANSWERED);
      return await Promise.race([answer, gone]);
    } catch {
      return UNANSWERED;
    } finally {
      this.#asking = undefined;
    }
  }

  #take(answer: Extract<ChangesAnswer, { kind: 'told' }>, askedMs: number): void {
    if (answer.anew) this.#world.onMissed(this, this.#provenMs !== undefined);
    this.#after = answer.upTo;
    if (answer.changes.length > 0) this.#world.onChanges(this, answer.changes);
    if (!answer.proven) return;
    this.#provenMs = askedMs;
    this.#letGo();
  }

  #letGo(): void {
    for (const go of this.#waiting) go();
  }
}
