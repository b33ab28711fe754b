/**
 * Reads that a follower answers from its own state, which may be old, but never older than the
 * client allows. What proves its age is the answer of the group's leader to a read index request of
 * this replica: all that was acknowledged when the request was sent is in the entries up to that
 * index. So the age is measured from the sending, on this node's own monotone clock: no other clock
 * is trusted, and a message that was long on its way proves nothing newer than what it answers.
 *
 * One proof serves all reads until it is too old; it is renewed before that while there are reads.
 */
import { assert } from '../../../common/assert.ts';
import type { ErrorCode } from '../../../common/errors.ts';
import type { KeyShare } from '../../../common/hash.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { RunContext } from '../../commands/rows/command.ts';
import type { Witness } from '../../commands/server/witness.ts';
import type { ReadState } from '../../raft/ready.ts';
import type { CommandBatch, LineResult } from '../entries/batch.ts';
import { failAll } from '../entries/failed-batch.ts';
import { seenBy, witnessed } from '../entries/witnessed.ts';
import { resultsOfFailed } from './failed-read.ts';
import {
  giveBack,
  giveBackAll,
  isGone,
  NO_PLACE,
  RangeLine,
  type RangeRead,
} from './range-line.ts';
import { isSinglePoint } from './read-lines.ts';
import type { ReadGround } from './reads.ts';
import { isLate, type ReadOutcome, runReads } from './run-reads.ts';

export interface FollowerReadGround
  extends Omit<ReadGround, 'nowMs' | 'appliedTimeMs' | 'expirySettled'> {
  monotonicMs(): number;
  /** Asks the leader for a read index; the number to wait for, or undefined: no leader is known. */
  askLeader(): number | undefined;
  /** The time that reads see; undefined while it is looked up: then `resume` is called. */
  readTimeMs(): number | undefined;
  /** Somebody waits for entries that are committed and not applied yet. */
  hurry(): void;
}

interface WaitingRead extends RangeRead {
  readonly maxAgeMs: number;
  /** A proof that was asked for since is young enough in any case. */
  readonly arrivedMs: number;
  giveUpMs: number;
  readonly resolve: (results: readonly LineResult[]) => void;
}

/** All that was acknowledged by `sentMs` is in the entries up to `index`. */
interface Proof {
  readonly index: LogIndex;
  readonly sentMs: number;
}

/** Request or answer may be lost: the leader is asked again after this. */
const ASK_AGAIN_MS = 300;
/** Requests whose answers are waited for; beyond, the oldest is forgotten. */
const ASKED_MAX = 64;

export class FollowerReads {
  readonly #ground: FollowerReadGround;
  readonly #share: KeyShare;
  #waiting: WaitingRead[] = [];
  /** They may run, and wait for other ranges of the node. */
  readonly #line: RangeLine<WaitingRead>;
  #asked: { readonly context: number; readonly sentMs: number }[] = [];
  /** Ascending; only the first may be applied here. */
  #proofs: Proof[] = [];
  #running = 0;
  #isPausing = false;

  constructor(ground: FollowerReadGround, share: KeyShare) {
    this.#ground = ground;
    this.#share = share;
    this.#line = new RangeLine(ground.ranges, (read) => this.#onPlace(read));
  }

  /** Batches that are not answered yet. */
  get count(): number {
    return this.#waiting.length + this.#line.length + this.#running;
  }

  /** Fails with NO_LEADER when no leader proves in time how old the state is. */
  gather(batch: CommandBatch, maxAgeMs: number): Promise<readonly LineResult[]> {
    if (this.count >= limits.proposalsPerPartitionMax) {
      return Promise.resolve(failAll(batch, 'BUSY', 'too many reads are waiting'));
    }
    const nowMs = this.#ground.monotonicMs();
    const giveUpMs = Math.min(batch.deadlineMs, nowMs + limits.followerAskMs);
    return new Promise((resolve) => {
      const range = { singlePoint: isSinglePoint(batch), size: 'small', place: undefined } as const;
      this.#waiting.push({ batch, ...range, maxAgeMs, arrivedMs: nowMs, giveUpMs, resolve });
      this.resume();
      this.#askWhenDue(maxAgeMs, nowMs);
    });
  }

  /** Answers of the leader; those to a newer request answer the older ones, too. */
  confirm(states: readonly ReadState[]): void {
    for (const { readContext, index } of states) {
      const answered = this.#asked.filter(({ context }) => context <= readContext);
      const newest = answered.at(-1);
      if (newest === undefined) continue;
      this.#asked = this.#asked.slice(answered.length);
      if (this.#proofs.length < ASKED_MAX) this.#proofs.push({ index, sentMs: newest.sentMs });
    }
    this.resume();
    this.#askForWaiting();
  }

  /** Runs whatever may run now. */
  resume(): void {
    if (this.#waiting.length === 0) return;
    if (this.#ground.clearing()) return giveBackAll(this.#waiting);
    const proof = this.#appliedProof();
    if (proof === undefined) {
      giveBackAll(this.#waiting);
      return this.#hurry();
    }
    const ageMs = this.#ground.monotonicMs() - proof.sentMs;
    const writing = this.#ground.writing();
    const mayRun = ({ arrivedMs, maxAgeMs, singlePoint }: WaitingRead) =>
      (ageMs <= maxAgeMs || proof.sentMs >= arrivedMs) && (singlePoint || !writing);
    if (!this.#waiting.some(mayRun)) {
      if (!writing) giveBackAll(this.#waiting);
      return this.#hurry();
    }
    const nowMs = this.#ground.readTimeMs();
    if (nowMs !== undefined) this.#runInTime(mayRun, nowMs);
  }

  /** Of those that may run as many as this turn has time for; the others wait on. */
  #runInTime(mayRun: (read: WaitingRead) => boolean, nowMs: number): void {
    const { firstSlot, lastSlot, murmur3 } = this.#share;
    const random = () => this.#ground.draw();
    const context = { nowMs, random, firstSlot, lastSlot, murmur3 };
    const { pace } = this.#ground;
    pace.begin();
    let ran = 0;
    this.#waiting = this.#waiting.filter((read) => {
      if (!mayRun(read)) return true;
      if (isLate(read, ran, pace)) {
        this.#resumeSoon();
        return true;
      }
      ran++;
      this.#run(read, context);
      return false;
    });
  }

  /** For a proof that is there, and ahead of what is applied. */
  #hurry(): void {
    const newest = this.#proofs.at(-1);
    if (newest !== undefined && newest.index > this.#ground.appliedIndex()) this.#ground.hurry();
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

  /** Once per tick: asks again, and gives up on what no leader answered. */
  tick(): void {
    const nowMs = this.#ground.monotonicMs();
    this.#expireLine(nowMs);
    if (this.#waiting.length === 0) return;
    this.#waiting = this.#waiting.filter((read) => {
      if (read.giveUpMs > nowMs) return true;
      const why = 'no leader told in time how old the state of this follower is';
      this.#finish(read, failAll(read.batch, 'NO_LEADER', why));
      return false;
    });
    this.resume();
    this.#askForWaiting();
  }

  failAll(code: ErrorCode, message: string): void {
    const reads = [...this.#waiting, ...this.#line.take()];
    this.#waiting = [];
    for (const read of reads) this.#finish(read, failAll(read.batch, code, message));
  }

  #expireLine(nowMs: number): void {
    for (const read of this.#line.takeLate(nowMs)) {
      this.#finish(read, failAll(read.batch, 'BUSY', NO_PLACE));
    }
  }

  /** It is judged anew how old the state is: it has waited since. */
  #onPlace(read: WaitingRead): void {
    const nowMs = this.#ground.monotonicMs();
    const proof = this.#appliedProof();
    const isOld = proof === undefined || nowMs - proof.sentMs > read.maxAgeMs;
    read.giveUpMs = nowMs + limits.followerAskMs;
    this.#waiting.unshift(read);
    if (isOld || this.#ground.clearing()) giveBack(read);
    else this.resume();
    this.#askWhenDue(read.maxAgeMs, nowMs);
  }

  #finish(read: WaitingRead, results: readonly LineResult[]): void {
    giveBack(read);
    read.resolve(results);
  }

  #askForWaiting(): void {
    const nowMs = this.#ground.monotonicMs();
    for (const { maxAgeMs } of this.#waiting) this.#askWhenDue(maxAgeMs, nowMs);
  }

  /** Before the newest proof is too old for such reads, and when nobody has answered the last. */
  #askWhenDue(maxAgeMs: number, nowMs: number): void {
    const last = this.#asked.at(-1);
    if (last !== undefined && nowMs - last.sentMs < ASK_AGAIN_MS) return;
    const newest = this.#proofs.at(-1);
    if (newest !== undefined && nowMs - newest.sentMs <= maxAgeMs / 2) return;
    const context = this.#ground.askLeader();
    if (context === undefined) return;
    this.#asked.push({ context, sentMs: nowMs });
    if (this.#asked.length > ASKED_MAX) this.#asked.shift();
  }

  /** The newest proof whose entries are applied here. */
  #appliedProof(): Proof | undefined {
    const applied = this.#ground.appliedIndex();
    while (this.#proofs.length > 1 && this.#proofs[1]!.index <= applied) this.#proofs.shift();
    const [first] = this.#proofs;
    return first !== undefined && first.index <= applied ? first : undefined;
  }

  #run(read: WaitingRead, context: RunContext): void {
    if (isGone(read)) {
      return this.#finish(read, failAll(read.batch, 'BUSY', 'whoever asked has gone'));
    }
    this.#running++;
    const done = (outcome: ReadOutcome, seen?: Witness) => {
      this.#running--;
      this.#onRun(read, outcome, seen);
    };
    const engine = this.#ground.engine();
    const failed = (failure: unknown) =>
      done(resultsOfFailed(read.batch, engine, failure, this.#ground));
    try {
      const seen = seenBy(read.batch, this.#ground);
      const outcome = runReads(read, engine, context, this.#ground);
      if (outcome instanceof Promise) outcome.then((later) => done(later, seen), failed);
      else done(outcome, seen);
    } catch (failure) {
      failed(failure);
    }
  }

  #onRun(read: WaitingRead, outcome: ReadOutcome, seen: Witness | undefined): void {
    assert(outcome !== 'room', 'reads of this node have room');
    if (typeof outcome === 'string') this.#line.wait(read, outcome);
    else this.#finish(read, witnessed(outcome, seen));
  }
}
