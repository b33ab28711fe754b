/**
 * Linearizable reads (decision 8): reads of a turn share one ReadIndex round; once leadership is
 * confirmed and the read index applied they run on the engine, synchronously where they can.
 */

import type { ErrorCode } from '../../../common/errors.ts';
import type { KeyShare } from '../../../common/hash.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { Room } from '../../../common/room.ts';
import type { RunContext } from '../../commands/rows/command.ts';
import type { Witness } from '../../commands/server/witness.ts';
import type { Lookups } from '../../encoding/txn/view.ts';
import type { Engine } from '../../engine/engine.ts';
import type { RaftNode, ReadState } from '../../raft/ready.ts';
import type { CommandBatch, EntryPlace, LineResult } from '../entries/batch.ts';
import { failAll } from '../entries/failed-batch.ts';
import { seenBy, witnessed } from '../entries/witnessed.ts';
import type { Pace } from '../turns/pace.ts';
import { resultsOfFailed } from './failed-read.ts';
import {
  giveBack,
  giveBackAll,
  isGone,
  NO_PLACE,
  RangeLine,
  type RangeRead,
} from './range-line.ts';
import type { RangeRoom } from './range-room.ts';
import { isSinglePoint } from './read-lines.ts';
import { isLate, type ReadOutcome, runReads } from './run-reads.ts';

interface PendingRead extends RangeRead {
  readonly resolve: (results: readonly LineResult[]) => void;
}

/** Reads that may run once `index` is applied. */
interface ConfirmedReads {
  readonly index: LogIndex;
  reads: PendingRead[];
  /** By the group's time: since when they wait for deadlines that no entry had committed. */
  waitingMs: number | undefined;
}

/** What reads need of their replica at the moment they run. */
export interface ReadGround {
  engine(): Engine;
  appliedIndex(): LogIndex;
  /** The last entry in the engine. */
  applied(): EntryPlace;
  /** The last entry that a read of a single point may see. */
  visibleIndex(): LogIndex;
  /** An engine batch is on its way: only single-point reads may run. */
  writing(): boolean;
  /** The partition is being emptied: nothing may run. */
  clearing(): boolean;
  nowMs(): number;
  /** Time of the newest applied entry. */
  appliedTimeMs(): number;
  /** Uniform in [0, 1). */
  draw(): number;
  /** False: some deadline at or before `nowMs` is not committed yet; `resume` is called later. */
  expirySettled(nowMs: number): boolean;
  onFault(error: unknown): void;
  readonly lookups: Lookups;
  readonly pace: Pace;
  readonly ranges: RangeRoom;
}

export class Reads {
  readonly #ground: ReadGround;
  readonly #random = () => this.#ground.draw();
  readonly #share: KeyShare;
  #fresh: PendingRead[] = [];
  #unconfirmed: { readonly context: number; reads: PendingRead[] }[] = [];
  #confirmed: ConfirmedReads[] = [];
  /** Confirmed and applied; those who asked are to take other answers first. */
  readonly #cramped = new Set<PendingRead>();
  /** The same; they wait for other ranges of the node. */
  readonly #line: RangeLine<PendingRead>;
  #count = 0;
  #isPausing = false;
  #besideDueMs = Number.NEGATIVE_INFINITY;

  constructor(ground: ReadGround, share: KeyShare) {
    this.#ground = ground;
    this.#share = share;
    this.#line = new RangeLine(ground.ranges, (read) => this.#onPlace(read));
  }

  /** Batches that are not answered yet. */
  get count(): number {
    return this.#count;
  }

  /** The newest time at which reads have run while deadlines behind it may have passed. */
  get besideDueMs(): number {
    return this.#besideDueMs;
  }

  get hasFresh(): boolean {
    return this.#fresh.length > 0;
  }

  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    return this.#take(batch, (read) => this.#fresh.push(read));
  }

  /**
   * Of whom a round has been confirmed for before, and all applied that it had to see: what is applied by
   * now is newer still (see `#onPlace`).
   */
  again(batch: CommandBatch): Promise<readonly LineResult[]> {
    return this.#take(batch, (read) => {
      this.#rejoin(read);
      this.resume();
    });
  }

  #take(batch: CommandBatch, begin: (read: PendingRead) => void): Promise<readonly LineResult[]> {
    if (this.#count >= limits.proposalsPerPartitionMax) {
      return Promise.resolve(failAll(batch, 'BUSY', 'too many reads are waiting'));
    }
    this.#count++;
    return new Promise((resolve) => {
      const singlePoint = isSinglePoint(batch);
      begin({ batch, singlePoint, size: 'small', place: undefined, resolve });
    });
  }

  /** Asks for one round for everything gathered, but for what may run without one. */
  flush(raft: Pick<RaftNode, 'requestRead' | 'vouchedReadIndex'>): void {
    this.#confirmVouched(raft);
    if (this.#fresh.length === 0) return;
    const context = raft.requestRead();
    if (context === undefined) {
      this.failAll('NOT_LEADER', 'this replica does not lead');
      return;
    }
    this.#unconfirmed.push({ context, reads: this.#fresh });
    this.#fresh = [];
  }

  #confirmVouched(raft: Pick<RaftNode, 'vouchedReadIndex'>): void {
    if (this.#fresh.every(({ batch }) => batch.vouchedBy === undefined)) return;
    const fresh: PendingRead[] = [];
    for (const read of this.#fresh) {
      const { vouchedBy } = read.batch;
      const index = vouchedBy === undefined ? undefined : raft.vouchedReadIndex(vouchedBy);
      if (index === undefined) fresh.push(read);
      else this.#confirmed.push({ index, reads: [read], waitingMs: undefined });
    }
    if (fresh.length === this.#fresh.length) return;
    this.#fresh = fresh;
    this.resume();
  }

  confirm(states: readonly ReadState[]): void {
    for (const { readContext, index } of states) {
      while (this.#unconfirmed.length > 0 && this.#unconfirmed[0]!.context <= readContext) {
        const { reads } = this.#unconfirmed.shift()!;
        this.#confirmed.push({ index, reads, waitingMs: undefined });
      }
    }
    this.resume();
  }

  /** Runs whatever may run now: after a confirmation, an applied batch, or an expiry round. */
  resume(): void {
    while (this.#confirmed.length > 0) {
      const next = this.#confirmed[0]!;
      if (next.index > this.#ground.appliedIndex() || this.#ground.clearing()) {
        return giveBackAll(next.reads);
      }
      const nowMs = this.#readTimeMs(next);
      if (nowMs === undefined) return giveBackAll(next.reads);
      const writing = this.#ground.writing();
      const postponed = writing ? next.reads.filter((read) => !read.singlePoint) : [];
      const runnable = writing ? next.reads.filter((read) => read.singlePoint) : next.reads;
      const late = this.#runInTime(runnable, nowMs);
      if (late.length > 0) this.#resumeSoon();
      if (late.length + postponed.length > 0) {
        next.reads = [...late, ...postponed];
        return;
      }
      this.#confirmed.shift();
    }
  }

  /** Runs as many as this turn has time for; returns the others. */
  #runInTime(reads: readonly PendingRead[], nowMs: number): PendingRead[] {
    const { firstSlot, lastSlot, murmur3 } = this.#share;
    const context = { nowMs, random: this.#random, firstSlot, lastSlot, murmur3 };
    const { pace } = this.#ground;
    pace.begin();
    const late: PendingRead[] = [];
    let ran = 0;
    for (const read of reads) {
      if (isLate(read, ran, pace)) late.push(read);
      else if (this.#hasRoom(read)) {
        ran++;
        this.#run(read, context);
      }
    }
    return late;
  }

  /**
   * The time that reads see; undefined: a deadline that has passed is not committed yet. An entry commits
   * all up to its own time, so who waited sees that of the first that came behind: by then more may have
   * passed, and while a hash has thousands of due fields no entry is ever the last that is needed.
   */
  #readTimeMs({ waitingMs }: ConfirmedReads): number | undefined {
    const appliedMs = this.#ground.appliedTimeMs();
    if (waitingMs !== undefined && waitingMs <= appliedMs) {
      this.#besideDueMs = appliedMs;
      return appliedMs;
    }
    const nowMs = this.#ground.nowMs();
    if (this.#ground.expirySettled(nowMs)) return nowMs;
    for (const reads of this.#confirmed) reads.waitingMs ??= nowMs;
    return undefined;
  }

  /**
   * False: whoever asked for the read is to take other answers first, or has gone. Of a single value
   * nobody knows how large it is until it is read: small ones wait for nothing.
   */
  #hasRoom(read: PendingRead): boolean {
    const { room } = read.batch;
    if (isGone(read)) {
      this.#finish(read, failAll(read.batch, 'BUSY', 'whoever asked has gone'));
      return false;
    }
    if (room === undefined || read.singlePoint || !room.isFull) return true;
    this.#waitForRoom(read, room);
    return false;
  }

  #waitForRoom(read: PendingRead, room: Room): void {
    giveBack(read);
    this.#cramped.add(read);
    room.onceFree(() => {
      if (!this.#cramped.delete(read)) return;
      this.#rejoin(read);
      this.resume();
    });
  }

  /**
   * It was confirmed before it waited, and needs no other round: its state is of when it begins, which is
   * after all that it has to see was applied here. Should this replica lead no more by then, that state
   * still was the newest at some moment after the read came.
   */
  #onPlace(read: PendingRead): void {
    this.#rejoin(read);
    const mayRun = !this.#ground.clearing() && this.#readTimeMs(this.#confirmed[0]!) !== undefined;
    if (mayRun) this.resume();
    else giveBack(read);
  }

  /** Ahead of what has come since; not with those who wait for a time before it was asked for. */
  #rejoin(read: PendingRead): void {
    const [first] = this.#confirmed;
    if (first?.index === 0 && first.waitingMs === undefined) first.reads.push(read);
    else this.#confirmed.unshift({ index: 0, reads: [read], waitingMs: undefined });
  }

  /** In a turn that has time. */
  #resumeSoon(): void {
    if (this.#isPausing) return;
    this.#isPausing = true;
    void this.#ground.pace.pause(this).then(() => {
      this.#isPausing = false;
      this.resume();
    });
  }

  /** Leadership is gone (or the replica stops): every read may be sent elsewhere. */
  failAll(code: ErrorCode, message: string): void {
    const reads = [
      ...this.#fresh,
      ...this.#unconfirmed.flatMap((round) => round.reads),
      ...this.#confirmed.flatMap((round) => round.reads),
      ...this.#cramped,
      ...this.#line.take(),
    ];
    this.#fresh = [];
    this.#unconfirmed = [];
    this.#confirmed = [];
    this.#cramped.clear();
    for (const read of reads) this.#finish(read, failAll(read.batch, code, message));
  }

  /**
   * Gives up on reads past their deadline: no quorum answered. Those that wait only for what is
   * being applied, or read, may wait longer: it may be large.
   */
  expire(nowMs: number): void {
    const keep = (moreMs: number) => (read: PendingRead) => {
      if (read.batch.deadlineMs + moreMs > nowMs) return true;
      const why = 'no quorum confirmed the leader in time';
      this.#finish(read, failAll(read.batch, 'NO_LEADER', why));
      return false;
    };
    this.#expireCramped(nowMs);
    this.#expireLine(nowMs);
    this.#fresh = this.#fresh.filter(keep(0));
    for (const round of this.#unconfirmed) round.reads = round.reads.filter(keep(0));
    for (const round of this.#confirmed) {
      round.reads = round.reads.filter(
        keep(this.#isPausing || this.#isApplying(round.index) ? limits.applyWaitMs : 0),
      );
    }
  }

  /** As long as the answers before theirs may take. */
  #expireCramped(nowMs: number): void {
    for (const read of this.#cramped) {
      if (read.batch.deadlineMs + limits.applyWaitMs > nowMs) continue;
      this.#cramped.delete(read);
      this.#finish(read, failAll(read.batch, 'BUSY', 'the node that asked takes no answers'));
    }
  }

  #expireLine(nowMs: number): void {
    for (const read of this.#line.takeLate(nowMs)) {
      this.#finish(read, failAll(read.batch, 'BUSY', NO_PLACE));
    }
  }

  #isApplying(index: LogIndex): boolean {
    const { appliedIndex, clearing, writing } = this.#ground;
    return index > appliedIndex() || clearing() || writing();
  }

  #run(read: PendingRead, context: RunContext): void {
    const engine = this.#ground.engine();
    const failed = (failure: unknown) =>
      this.#finish(read, resultsOfFailed(read.batch, engine, failure, this.#ground));
    try {
      const seen = seenBy(read.batch, this.#ground);
      const { room } = read.batch;
      const outcome = runReads(read, engine, context, this.#ground);
      if (!(outcome instanceof Promise)) return this.#onRun(read, outcome, seen);
      const settled = outcome.then((later) => this.#onRun(read, later, seen), failed);
      if (room === undefined || !read.singlePoint) return;
      room.begin();
      void settled.then(() => room.end());
    } catch (failure) {
      failed(failure);
    }
  }

  #onRun(read: PendingRead, outcome: ReadOutcome, seen: Witness | undefined): void {
    if (outcome === 'room') this.#waitForRoom(read, read.batch.room!);
    else if (typeof outcome === 'string') this.#line.wait(read, outcome);
    else this.#finish(read, witnessed(outcome, seen));
  }

  #finish(read: PendingRead, results: readonly LineResult[]): void {
    this.#count--;
    giveBack(read);
    read.resolve(results);
  }
}
