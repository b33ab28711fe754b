/**
 * Writes on their way: gathered in a turn, proposed as entries, settled when the entry at their
 * index is applied. What was appended stays pending over a loss of leadership: the entry applied
 * at its index tells for certain whether it was ours (decision 12). Where this replica cannot tell
 * any more, a result names the entry, for others to be asked (`routing/lost-entries.ts`).
 */
import { assert } from '../../../common/assert.ts';
import { type ErrorCode, messageOf } from '../../../common/errors.ts';
import type { LogIndex, Term } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { isExecLine } from '../../commands/transactions/exec-line.ts';
import type { ProposeResult, Refusal } from '../../raft/ready.ts';
import type { Reply } from '../../resp/reply.ts';
import { BATCH_FULL, BATCH_LOST } from '../applying/once-batches.ts';
import type { CommandBatch, CommandLine, EntryPlace, LineResult } from '../entries/batch.ts';
import type { OnceLines } from '../entries/envelope.ts';
import { failAll, mayAskAgain } from '../entries/failed-batch.ts';
import { witnessedWrite } from '../entries/witnessed.ts';
import { type Drafts, draftEntries, type EntryDraft, type Waiter } from './entry-drafts.ts';
import { type AskedEntry, askedBefore, isLarge } from './repeated-writes.ts';
import { ValueSizes } from './value-sizes.ts';

interface PendingEntry extends AskedEntry {
  readonly index: LogIndex;
  readonly term: Term;
}

const refusalCode = {
  'not-leader': 'NOT_LEADER',
  transferring: 'NOT_LEADER',
  removed: 'REPLICA_GONE',
  'uncommitted-limit': 'BUSY',
  'conf-change-pending': 'BUSY',
  'conf-change-invalid': 'CONFLICT',
  'voter-not-ready': 'CONFLICT',
} as const satisfies Record<Refusal, ErrorCode>;

export class Proposals {
  #gathered: Waiter[] = [];
  #gatheredLines = 0;
  /**
   * By ascending index, of one index by any term. What is settled leaves at once: the requests of its
   * lines, kept past their turn, would be copied by every collection of young objects.
   */
  #pending: PendingEntry[] = [];
  #pendingLines = 0;
  /** Of the last entry that was applied. */
  #settledTerm: Term = 0;
  readonly #values: ValueSizes;

  /** `storedBytes`: of the value under a user's key; 0: there is none, or it is a collection. */
  constructor(storedBytes: (key: Buffer) => number = () => 0) {
    this.#values = new ValueSizes(storedBytes);
  }

  get hasGathered(): boolean {
    return this.#gathered.length > 0;
  }

  /** Commands that are not in an entry yet. */
  get gathered(): number {
    return this.#gatheredLines;
  }

  /** Commands gathered or appended and not yet answered. */
  get count(): number {
    return this.#gatheredLines + this.#pendingLines;
  }

  /** Something appended up to `index` is not settled. */
  awaitsUpTo(index: LogIndex): boolean {
    return (this.#pending[0]?.index ?? Number.POSITIVE_INFINITY) <= index;
  }

  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    const known = askedBefore(this.#pending, batch);
    if (known !== undefined) return known;
    if (this.count + batch.lines.length > limits.proposalsPerPartitionMax) {
      return Promise.resolve(
        failAll(batch, 'BUSY', `more than ${limits.proposalsPerPartitionMax} writes are waiting`),
      );
    }
    return new Promise((resolve) => {
      this.#gathered.push({ batch, results: [], resolve });
      this.#gatheredLines += batch.lines.length;
    });
  }

  /**
   * Proposes what was gathered, or refuses it as a whole. Some is left for the next turn when enough
   * stored values were looked at in this one. `encode` makes one entry of lines; `propose` appends
   * entries, which then have consecutive indexes.
   */
  flush(
    nowMs: number,
    encode: (lines: readonly CommandLine[], once: readonly OnceLines[]) => Buffer,
    propose: (data: readonly Buffer[]) => ProposeResult,
  ): void {
    const waiters = this.#gathered;
    this.#gathered = [];
    this.#gatheredLines = 0;
    const live = waiters.filter((waiter) => {
      if (waiter.batch.deadlineMs > nowMs) return true;
      waiter.resolve(failAll(waiter.batch, 'CANCELLED', 'the deadline passed before proposing'));
      return false;
    });
    const { drafts, count } = this.#fittingEntries(live);
    this.#leave(live.splice(count));
    if (drafts.length === 0) return;
    const result = this.#tried(live, () =>
      propose(drafts.map((draft) => encode(draft.lines, draft.once))),
    );
    if (!result.ok) {
      const code = refusalCode[result.refusal];
      for (const waiter of live) {
        waiter.resolve(failAll(waiter.batch, code, `not proposed: ${result.refusal}`));
      }
      return;
    }
    this.#track(drafts, result.index, result.term);
  }

  /** They are proposed in the next turn. */
  #leave(waiters: Waiter[]): void {
    this.#gathered = waiters;
    for (const { batch } of waiters) this.#gatheredLines += batch.lines.length;
  }

  /**
   * The entries of `waiters`. What would be larger than an entry may be has no place in the log: it
   * could not be sent to any follower, and nothing behind it would ever be committed. A transaction that
   * rewrites too much could, and each replica would hold all of it at once.
   */
  #fittingEntries(waiters: readonly Waiter[]): Drafts {
    this.#values.beginTurn();
    const drafted = draftEntries(waiters, this.#values);
    // such an entry has a single command, or a single batch that takes effect as a whole
    const refused = new Map<Waiter, string>();
    for (const draft of drafted.drafts) {
      const why = tooLarge(draft);
      if (why !== undefined) refused.set(draft.segments[0]!.waiter, why);
    }
    if (refused.size === 0) return drafted;
    for (const [waiter, why] of refused) waiter.resolve(failAll(waiter.batch, 'TOO_LARGE', why));
    const fitting = waiters.slice(0, drafted.count).filter((waiter) => !refused.has(waiter));
    // all of them were looked at: none is left now
    return { ...draftEntries(fitting, this.#values, false), count: drafted.count };
  }

  /** What fails in the midst of it leaves nobody waiting. */
  #tried(waiters: readonly Waiter[], propose: () => ProposeResult): ProposeResult {
    try {
      return propose();
    } catch (failure) {
      const why = `proposing failed: ${messageOf(failure)}`;
      for (const waiter of waiters) {
        waiter.resolve(failAll(waiter.batch, 'OUTCOME_UNKNOWN', why));
      }
      throw failure;
    }
  }

  /** The entry at `index` was applied; `replies` are those of its lines (none for other kinds). */
  settle(index: LogIndex, term: Term, replies: readonly Reply[]): void {
    this.#values.settled(index);
    for (;;) {
      const entry = this.#pending[0];
      if (entry === undefined || entry.index > index) break;
      assert(entry.index === index, 'entries are settled in order');
      this.#advance(entry);
      if (entry.term === term) answerEntry(entry, replies);
      else this.#failEntry(entry, 'TERM_CHANGED', REPLACED);
    }
    if (term === this.#settledTerm) return;
    this.#settledTerm = term;
    this.#failOlder(term);
  }

  /** Terms never fall along a log: entries of older terms behind one of `term` are not in it. */
  #failOlder(term: Term): void {
    const waiting = this.#pending;
    if (waiting.every((entry) => entry.term >= term)) return;
    this.#pending = waiting.filter((entry) => entry.term >= term);
    for (const entry of waiting) {
      if (entry.term >= term) continue;
      for (const { count } of entry.segments) this.#pendingLines -= count;
      this.#failEntry(entry, 'TERM_CHANGED', REPLACED);
    }
  }

  /** A snapshot replaced the log up to `index`: what was pending there may have been applied. */
  skipTo({ index, term }: EntryPlace): void {
    this.#failWhile((entry) => entry.index <= index, 'a snapshot took the place of the log');
    this.#failOlder(term);
  }

  /**
   * Tells those whose deadline is past and who can ask again under their sessions, maybe elsewhere.
   * The others wait on: the log tells once this replica hears of it. What is committed has only to be
   * applied, which settles it: a large command takes longer than its deadline. Those behind it wait
   * as well, since the lines of a batch settle in order.
   */
  expire(nowMs: number, committed: LogIndex): void {
    for (const entry of this.#pending) {
      if (entry.told || entry.deadlineMs > nowMs || entry.index <= committed) continue;
      entry.told = true;
      for (const { waiter } of entry.segments) if (mayAskAgain(waiter.batch)) giveUp(waiter, LATE);
    }
    this.#failWhile(
      (entry) => entry.deadlineMs + limits.outcomeWaitMs <= nowMs && entry.index > committed,
      LATE,
    );
    this.#failWhile(
      (entry) => entry.deadlineMs + limits.applyWaitMs <= nowMs,
      `it is committed and was not applied within ${limits.applyWaitMs / 1_000} s`,
    );
  }

  /** The replica stops: nothing more will be settled. */
  stop(): void {
    for (const waiter of this.#gathered) {
      waiter.resolve(failAll(waiter.batch, 'STOPPING', 'the replica stops'));
    }
    this.#gathered = [];
    this.#gatheredLines = 0;
    this.#failWhile(() => true, 'the replica stopped');
  }

  #track(drafts: readonly EntryDraft[], firstIndex: LogIndex, term: Term): void {
    const last = this.#pending.at(-1);
    drafts.forEach((draft, offset) => {
      const deadlineMs = Math.max(...draft.segments.map((s) => s.waiter.batch.deadlineMs));
      const index = firstIndex + offset;
      const asked = { deadlineMs, segments: draft.segments, isLarge: isLarge(draft), told: false };
      this.#pending.push({ index, term, ...asked });
      this.#pendingLines += draft.lines.length;
    });
    this.#values.proposed(firstIndex + drafts.length - 1);
    if (last !== undefined && last.index >= firstIndex) this.#sortPending();
  }

  /**
   * A leader that comes back may propose at indexes where it has entries of an earlier term pending:
   * theirs may be in others' logs still, so both wait for what is applied there.
   */
  #sortPending(): void {
    this.#pending.sort((a, b) => a.index - b.index);
  }

  #advance(entry: PendingEntry): void {
    this.#pending.shift();
    for (const segment of entry.segments) this.#pendingLines -= segment.count;
  }

  #failWhile(condition: (entry: PendingEntry) => boolean, message: string): void {
    for (;;) {
      const entry = this.#pending[0];
      if (entry === undefined || !condition(entry)) return;
      this.#advance(entry);
      this.#failEntry(entry, 'OUTCOME_UNKNOWN', message);
    }
  }

  #failEntry(
    { segments, term, index }: PendingEntry,
    code: 'OUTCOME_UNKNOWN' | 'TERM_CHANGED',
    message: string,
  ): void {
    let at = 0;
    for (const { waiter, count } of segments) {
      for (let i = 0; i < count; i++, at++) {
        const failed = { ok: false, code, message } as const;
        const isUnknown = code === 'OUTCOME_UNKNOWN';
        waiter.results.push(isUnknown ? { ...failed, place: { term, index, at } } : failed);
      }
      finish(waiter);
    }
  }
}

const LATE = 'no quorum confirmed it in time';
const REPLACED = 'another leader’s entry took its place in the log';

/** Its results are told now; those that come later are nobody's. */
function giveUp({ batch, results, resolve }: Waiter, message: string): void {
  resolve([...results, ...failAll(batch, 'OUTCOME_UNKNOWN', message).slice(results.length)]);
}

function answerEntry({ segments, term, index }: PendingEntry, replies: readonly Reply[]): void {
  let at = 0;
  for (const { waiter, count } of segments) {
    for (let i = 0; i < count; i++) {
      const reply = replies[at];
      assert(reply !== undefined, 'one reply per command');
      const result = resultOf(reply);
      const isWanted = waiter.batch.witness === true;
      waiter.results.push(isWanted ? witnessedWrite(result, { term, index, at }) : result);
      at++;
    }
    finish(waiter);
  }
}

function resultOf(reply: Reply): LineResult {
  if (reply !== BATCH_LOST && reply !== BATCH_FULL) return { ok: true, reply };
  return { ok: false, code: reply === BATCH_LOST ? 'SESSION_LOST' : 'BUSY', message: reply.text };
}

function finish(waiter: Waiter): void {
  if (waiter.results.length === waiter.batch.lines.length) waiter.resolve(waiter.results);
}

/** Why `draft` cannot be proposed, or undefined. */
function tooLarge({ bytes, valueBytes, lines, once }: EntryDraft): string | undefined {
  if (bytes > limits.entryBytesHardMax) {
    return (
      `a command of ${bytes} bytes, or a batch of so many, does not fit the ` +
      `${limits.entryBytesHardMax} bytes that an entry of the log may have; nothing happened`
    );
  }
  // under a session it may have taken effect before, and has an entry of its own
  const isRefusable = once.length === 0 && isExecLine(lines[0]!);
  if (valueBytes <= limits.execGrowthBytesMax || !isRefusable) return undefined;
  return (
    'the commands of the transaction rewrite, or pad, stored values of more than ' +
    `${limits.execGrowthBytesMax} bytes together (limits.execGrowthBytesMax), which each replica would ` +
    'hold in memory; nothing happened: send them in several transactions, or without MULTI'
  );
}
