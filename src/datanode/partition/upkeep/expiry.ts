/**
 * Deadlines of a group's keys and of fields, on its leader (decision 14).
 *
 * A deadline counts as passed for good once an applied entry's time has reached it. The leader
 * keeps a lower bound of the earliest deadline beyond that; when group time reaches it, the leader
 * first commits an `expire` entry (which also deletes what is due), and reads wait for it: so no
 * later leader shows a record again that a reader has seen expired. The fields of a hash have one
 * place in their index, the earliest: while it is past and they are not deleted, it hides the
 * later ones, and every read waits for an entry, of whose time it is then (`reads.ts`).
 */

import { messageOf } from '../../../common/errors.ts';
import { limits } from '../../../common/limits.ts';
import type { Logger } from '../../../common/log.ts';
import {
  decodeExpiryKey,
  type Expiring,
  type ExpiryEntry,
  expiryRange,
} from '../../encoding/expiry/expiry.ts';
import { keyAfter } from '../../encoding/records/key.ts';
import { readSlice } from '../../encoding/txn/read-ahead.ts';
import { type Engine, type KeyRange, limited } from '../../engine/engine.ts';
import type { DueKey } from '../entries/envelope.ts';
import { IndexStarts } from './index-starts.ts';

/** Keys deleted by one entry, and hashes of which it deletes fields. */
const KEYS_PER_ENTRY = 1_000;
const HASHES_PER_ENTRY = 100;
/**
 * Between two ticks; what is left waits for the next. One a tick (10,000 keys a second) may be less
 * than what falls due, and without a bound a backlog of millions has every second entry until it is
 * gone.
 */
const ROUNDS_PER_TICK = 4;
const NEVER = Number.POSITIVE_INFINITY;

export interface ExpiryGround {
  engine(): Engine;
  /** Time of the newest applied entry. */
  appliedTimeMs(): number;
  nowMs(): number;
  /** Appends an expire entry; false when this replica cannot propose now. */
  propose(keys: readonly DueKey[]): boolean;
  /** A deadline was settled: reads may go on. */
  resume(): void;
}

/** Read each time. */
export interface ExpiryOptions {
  readonly expiresUnread: boolean;
}

export class Expiry {
  readonly #ground: ExpiryGround;
  readonly #logger: Logger;
  readonly #options: ExpiryOptions;
  readonly #starts = new IndexStarts();
  /** No deadline in (applied time, bound) exists; −Infinity while unknown. */
  #boundMs = Number.NEGATIVE_INFINITY;
  /** Keys already past for good but not yet deleted remain in the index. */
  #backlog = false;
  #scanning = false;
  /** Earliest deadline written since the scan began. */
  #writtenMs = Number.POSITIVE_INFINITY;
  /** An expire entry is on its way: the next round waits for it. */
  #proposed = false;
  /** Which a backlog may have before the next tick. */
  #roundsLeft = 0;
  #leading = false;
  #stopped = false;

  constructor(ground: ExpiryGround, logger: Logger, options: ExpiryOptions) {
    this.#ground = ground;
    this.#logger = logger;
    this.#options = options;
  }

  lead(): void {
    this.#leading = true;
    this.#proposed = false;
    this.#boundMs = Number.NEGATIVE_INFINITY;
    this.#starts.forget();
    this.#scan();
  }

  stepDown(): void {
    this.#leading = false;
  }

  /** The replica stops: its engine ends, and what is being read of it does. */
  stop(): void {
    this.#leading = false;
    this.#stopped = true;
  }

  /** A batch was applied; `earliestDeadlineMs` is the smallest it wrote. */
  onApplied(earliestDeadlineMs: number, expiredEntry: boolean): void {
    this.#boundMs = Math.min(this.#boundMs, earliestDeadlineMs);
    this.#writtenMs = Math.min(this.#writtenMs, earliestDeadlineMs);
    this.#starts.written(earliestDeadlineMs);
    if (!expiredEntry) return;
    this.#proposed = false;
    this.#boundMs = Number.NEGATIVE_INFINITY;
    if (this.#leading) this.#scan();
  }

  /** True when no deadline at or before `nowMs` still has to be committed. */
  settled(nowMs: number): boolean {
    if (this.#boundMs > nowMs || this.#ground.appliedTimeMs() >= nowMs) return true;
    this.#round();
    return false;
  }

  /**
   * What reads of a follower see: as late as can be without a deadline passing that no entry has
   * committed yet. Undefined while the next deadline is looked up: `resume` is called then.
   */
  readTimeMs(): number | undefined {
    if (this.#boundMs === Number.NEGATIVE_INFINITY) {
      this.#scan();
      return undefined;
    }
    const { appliedTimeMs, nowMs } = this.#ground;
    return Math.max(appliedTimeMs(), Math.min(nowMs(), this.#boundMs - 1));
  }

  /** Another engine took the place of the one that was looked at. */
  replaced(): void {
    this.#boundMs = Number.NEGATIVE_INFINITY;
    this.#writtenMs = Number.NEGATIVE_INFINITY;
    this.#starts.forget();
  }

  /** Nothing will fall due before something is written, or this replica leads. */
  get rests(): boolean {
    return !this.#leading || (!this.#backlog && this.#boundMs === Number.POSITIVE_INFINITY);
  }

  /** Called from time to time: deletes what is due even when nobody reads. */
  tick(): void {
    if (!this.#options.expiresUnread) return;
    this.#roundsLeft = ROUNDS_PER_TICK - 1;
    // group time is not for nothing: it asks every peer's clock
    if (this.rests) return;
    if (this.#backlog || this.#boundMs <= this.#ground.nowMs()) this.#round();
  }

  #round(): void {
    if (!this.#leading || this.#proposed || this.#scanning) return;
    this.#proposed = true;
    void this.#proposeDue();
  }

  async #proposeDue(): Promise<void> {
    try {
      const nowMs = this.#ground.nowMs();
      const keys = await this.#readDue('keys', nowMs, KEYS_PER_ENTRY);
      const hashes = await this.#readDue('fields', nowMs, HASHES_PER_ENTRY);
      const due = [...keys, ...hashes];
      if (!this.#leading || !this.#ground.propose(due)) this.#proposed = false;
    } catch (failure) {
      this.#proposed = false;
      this.#warn('expiry round failed', failure);
    }
  }

  /** Those up to `toMs`, which may have been there for long. */
  async #readDue(expiring: Expiring, toMs: number, limit: number): Promise<ExpiryEntry[]> {
    const { look, range } = this.#starts.begin(expiring, expiryRange(expiring, 0, toMs));
    let found: Buffer[] = [];
    try {
      found = await this.#read(range, limit);
    } finally {
      this.#starts.end(look, found[0]);
    }
    return found.map(decodeExpiryKey);
  }

  /** The first behind `afterMs`. */
  async #readNext(expiring: Expiring, afterMs: number): Promise<ExpiryEntry[]> {
    const range = expiryRange(expiring, afterMs + 1, Number.MAX_SAFE_INTEGER);
    return (await this.#read(range, 1)).map(decodeExpiryKey);
  }

  /** The keys of as many as `limit`; fewer where they fill a slice of megabytes. */
  async #read(within: KeyRange, limit: number): Promise<Buffer[]> {
    const found: Buffer[] = [];
    let range = within;
    let bytes = 0;
    while (found.length < limit && bytes < limits.rangeSliceBytes) {
      const left = limited(range, limit - found.length);
      const { pairs, ended } = await readSlice(this.#ground.engine(), left);
      for (const [key] of pairs) {
        found.push(key);
        bytes += key.length;
      }
      if (ended) break;
      range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
    }
    return found;
  }

  #scan(): void {
    if (this.#scanning) return;
    this.#scanning = true;
    this.#writtenMs = Number.POSITIVE_INFINITY;
    void this.#scanNext();
  }

  async #scanNext(): Promise<void> {
    const coveredMs = this.#ground.appliedTimeMs();
    try {
      const [key] = await this.#readNext('keys', coveredMs);
      const [hash] = await this.#readNext('fields', coveredMs);
      const keysBehind = (await this.#readDue('keys', coveredMs, 1)).length > 0;
      const fieldsBehind = (await this.#readDue('fields', coveredMs, 1)).length > 0;
      this.#backlog = keysBehind || fieldsBehind;
      const ahead = Math.min(key?.deadlineMs ?? NEVER, hash?.deadlineMs ?? NEVER);
      this.#boundMs = fieldsBehind ? coveredMs : Math.min(ahead, this.#writtenMs);
    } catch (failure) {
      this.#boundMs = Math.max(this.#boundMs, coveredMs);
      this.#warn('expiry scan failed', failure);
    }
    this.#scanning = false;
    this.#ground.resume();
    if (this.#backlog && this.#roundsLeft > 0) {
      this.#roundsLeft--;
      this.#round();
    }
  }

  #warn(text: string, failure: unknown): void {
    if (!this.#stopped) this.#logger.warn(text, { error: messageOf(failure) });
  }
}
