/**
 * What clients wait for at one replica: writes on their way through the log, reads on their way to
 * a confirmed leader, elements that are not there yet, and the watches between WATCH and EXEC.
 */
import { sleep } from '../../../common/clock.ts';
import type { KeyShare } from '../../../common/hash.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import { findServed } from '../../encoding/sessions/served.ts';
import { createView } from '../../encoding/txn/txn.ts';
import type { ProposeResult, ReadState } from '../../raft/ready.ts';
import type { Reply } from '../../resp/reply.ts';
import type { AppliedBatch, AppliedEntry } from '../applying/applier.ts';
import { RecentEntries } from '../applying/recent-entries.ts';
import type {
  CommandBatch,
  CommandLine,
  EntryFate,
  EntryPlace,
  LineResult,
} from '../entries/batch.ts';
import { APPLY_VERSION, type DueKey, encodeEnvelope, type OnceLines } from '../entries/envelope.ts';
import { executeRefusing } from '../entries/refused-lines.ts';
import type { WaitOutcome, WaitRequest } from '../entries/wait.ts';
import { newestOfAll, type OlderNode, refusalOfNewer } from '../proposing/apply-gate.ts';
import type { Companion } from '../proposing/cohort.ts';
import { Proposals } from '../proposing/proposals.ts';
import { storedBytes } from '../proposing/value-sizes.ts';
import { FollowerReads } from '../reading/follower-reads.ts';
import { Reads } from '../reading/reads.ts';
import type { FollowedChanges } from '../waiting/followed-changes.ts';
import { reachOf, servedBefore } from '../waiting/reach.ts';
import type { StreamReaders } from '../waiting/stream-readers.ts';
import type { Draft } from '../waiting/waiter-drafts.ts';
import { Waiters } from '../waiting/waiters.ts';
import { Watches } from '../waiting/watches.ts';
import { createFollowed, noteChanges, readNothing } from './followed.ts';
import type { RequestGround } from './request-ground.ts';
import { createReaders, groupStandings } from './stream-waits.ts';

/** Confirmations wait this long for an entry to join. */
const CONFIRM_ALONE_MS = 1_000;
const SETTLE_MS = 5;

export class Requests {
  readonly changes: FollowedChanges;
  readonly #ground: RequestGround;
  readonly #proposals: Proposals;
  readonly #reads: Reads;
  readonly #followerReads: FollowerReads;
  readonly #watches: Watches;
  readonly #waiters: Waiters;
  readonly #readers: StreamReaders;
  readonly #recent: RecentEntries;
  readonly #cohort: Companion;
  /** Since when there have been confirmations that no entry has taken along. */
  #confirmingSinceMs: number | undefined;

  constructor(ground: RequestGround, share: KeyShare) {
    this.#ground = ground;
    this.#proposals = new Proposals((key) => this.#storedBytes(key));
    this.#recent = new RecentEntries(ground);
    const { random, raft, engine, nowMs } = ground;
    this.#cohort = ground.cohort;
    const draw = () => random.float();
    this.#reads = new Reads({ draw, ...ground }, share);
    const followerGround = {
      draw,
      ...ground,
      monotonicMs: () => ground.clock.monotonicMs(),
      askLeader: () => this.#askLeader(),
    };
    this.#followerReads = new FollowerReads(followerGround, share);
    this.#watches = new Watches({
      view: () => createView(engine()),
      nowMs,
      besideDueMs: () => this.#reads.besideDueMs,
      term: () => raft.term,
      appliedIndex: ground.appliedIndex,
      settled: () => this.#proposals.count === 0 && raft.lastIndex === ground.appliedIndex(),
      gather: (batch) => this.#gatherWrites(batch),
    });
    this.#waiters = new Waiters({
      clock: ground.clock,
      askForTurn: () => {
        ground.wake();
        ground.requestTurn();
      },
      lastIndex: () => raft.lastIndex,
      appliedIndex: ground.appliedIndex,
      clearing: () => ground.clearing(),
      typeOf: (key) => findKey(createView(engine()), key, nowMs()).live?.type,
      groupsOf: (key) => groupStandings(createView(engine()), key, nowMs()),
      keptReply: (id) => findServed(createView(engine()), id),
    });
    this.#readers = createReaders(ground, this.#reads);
    this.changes = createFollowed(ground, this.#reads);
  }

  /** What is not answered yet; who waits for an element asks nothing of the group meanwhile. */
  get waiting(): { readonly writes: number; readonly reads: number } {
    const due = this.#waiters.drafts.confirmations + (this.#waiters.drafts.isDue ? 1 : 0);
    const reads = this.#reads.count + this.#followerReads.count;
    return { writes: this.#proposals.count + due, reads };
  }

  get isIdle(): boolean {
    const { writes, reads } = this.waiting;
    return writes + reads === 0;
  }

  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    if (batch.kind === 'write') return this.#gatherKnown(batch);
    const { maxStalenessMs } = batch;
    if (maxStalenessMs === undefined || this.#ground.raft.role === 'leader') {
      return this.#reads.gather(batch);
    }
    return this.#followerReads.gather(batch, maxStalenessMs);
  }

  /** Appends an expire entry; false when this replica cannot propose now. */
  proposeExpiry(keys: readonly DueKey[]): boolean {
    const { raft, nowMs, wake, requestTurn } = this.#ground;
    if (raft.role !== 'leader') return false;
    wake();
    const body = { family: 'internal', operation: 'expire', keys } as const;
    const entry = encodeEnvelope({ timeMs: nowMs(), seed: 0, body });
    requestTurn();
    return raft.propose([entry]).ok;
  }

  /** `gone` aborts when nobody waits for the outcome any more. */
  wait(request: WaitRequest, gone?: AbortSignal): Promise<WaitOutcome> {
    if (resolveCommand(request.line)?.kind === 'read') return this.#waitReading(request, gone);
    const reply = request.withdraw ? undefined : this.#refusalOfNewer()?.(request.line);
    if (reply !== undefined) return Promise.resolve({ kind: 'served', reply });
    const { isNew, outcome } = this.#waiters.ask(request);
    gone?.addEventListener('abort', () => this.#waiters.leave(request), { once: true });
    if (isNew) void this.#confirmLeadership(request);
    return outcome;
  }

  #waitReading(request: WaitRequest, gone?: AbortSignal): Promise<WaitOutcome> {
    const outcome = this.#readers.ask(request);
    gone?.addEventListener('abort', () => this.#readers.leave(request), { once: true });
    return outcome;
  }

  /** These replies have arrived: they need not be kept. */
  confirmServed(ids: readonly Buffer[]): void {
    this.#waiters.drafts.confirmServed(ids);
    this.#confirmingSinceMs ??= this.#ground.clock.monotonicMs();
  }

  /** The turn ends: entries are proposed unless they wait for their cohort, a round of reads begins. */
  flush(): void {
    if (this.#proposals.hasGathered && this.#mayPropose()) this.#propose();
    if (this.#waiters.hasSuspected) this.#lookAtSuspected();
    if (this.#readers.isDue) this.#readers.work();
    if (this.#waiters.drafts.isDue || this.#confirmIsDue()) this.#proposeServing();
    if (this.#reads.hasFresh) this.#reads.flush(this.#ground.raft);
  }

  confirm(states: readonly ReadState[]): void {
    this.#reads.confirm(states);
    this.#followerReads.confirm(states);
  }

  onApplied(entries: readonly AppliedEntry[], batch: AppliedBatch): void {
    const { raft } = this.#ground;
    this.#recent.note(entries, raft.role === 'leader' ? raft.term : undefined);
    this.#watches.onChanged(
      batch.changed,
      // what scripts left nothing of may have been there in between, as with clients that were served
      batch.ofScripts || entries.some(({ served = [] }) => served.length > 0),
    );
    if (batch.ofScripts) this.#waiters.onScripts(batch.changed);
    this.#waiters.onChanged(batch.changed);
    this.#readers.onChanged(batch.changed);
    noteChanges(this.changes, entries, batch);
    for (const { index, term, replies, served = [] } of entries) {
      this.#proposals.settle(index, term, replies);
      this.#waiters.onApplied(index, served);
    }
    this.#noteCohort();
    this.#waiters.decideAll();
    if (this.#waiters.hasSuspected) this.#ground.requestTurn();
  }

  /** All of the partition's data goes now. */
  onClear(): void {
    this.#watches.onClear();
    this.#waiters.onClear();
    this.changes.onClear();
  }

  fateOf(entry: EntryPlace): EntryFate {
    return this.#recent.fateOf(entry);
  }

  /** A snapshot replaced the log up to `last`. */
  skipTo(last: EntryPlace): void {
    this.#proposals.skipTo(last);
    this.changes.skipTo(last.index);
    this.#noteCohort();
  }

  /** Runs reads that had to wait for something other than a round. */
  resume(): void {
    this.#reads.resume();
    this.#followerReads.resume();
  }

  /** Gives up on what is past its deadline. */
  expire(): void {
    const nowMs = this.#ground.clock.monotonicMs();
    this.#proposals.expire(nowMs, this.#ground.raft.committed);
    this.#noteCohort();
    this.#reads.expire(nowMs);
    this.#refuseWaiters();
    if (this.#ground.raft.role === 'leader') {
      this.#followerReads.failAll('NOT_LEADER', 'this replica leads by now');
    }
    this.#followerReads.tick();
  }

  /** Leadership is gone: reads may be sent elsewhere; what was proposed is settled by the log. */
  stepDown(): void {
    this.#reads.failAll('NOT_LEADER', 'leadership was lost');
    this.#waiters.failAll('NOT_LEADER', 'leadership was lost');
    this.#readers.failAll('NOT_LEADER', 'leadership was lost');
    this.#watches.stepDown();
    this.changes.stepDown();
  }

  /**
   * Until writes that are known to be committed are answered: nobody else could tell their clients.
   * So long at most as requests are held.
   */
  async settle(): Promise<void> {
    const { clock, raft } = this.#ground;
    const untilMs = clock.monotonicMs() + limits.holdMs;
    while (this.#proposals.awaitsUpTo(raft.committed) && clock.monotonicMs() < untilMs) {
      await sleep(clock, SETTLE_MS);
    }
  }

  stop(why: string): void {
    this.#cohort.stop();
    this.#watches.stepDown();
    this.#proposals.stop();
    this.#reads.failAll('STOPPING', why);
    this.#followerReads.failAll('STOPPING', why);
    this.#waiters.failAll('STOPPING', why);
    this.#readers.failAll('STOPPING', why);
    this.changes.stop(why);
  }

  /** A read of nothing: the round that it takes part in is what matters. */
  async #confirmLeadership(request: WaitRequest): Promise<void> {
    const { line, protocol } = request;
    const result = await readNothing(this.#reads, this.#ground, line, protocol);
    if (!result.ok) return this.#waiters.fail(request, result.code, result.message);
    this.#waiters.confirm(request);
    if (this.#waiters.drafts.isDue) this.#ground.requestTurn();
  }

  /** Wakes the group: nobody asleep can tell how old the state is. */
  #askLeader(): number | undefined {
    this.#ground.wake();
    this.#ground.requestTurn();
    return this.#ground.raft.requestReadFromLeader();
  }

  /** Some of them: the others in the next turns. */
  #lookAtSuspected(): void {
    if (this.#ground.clearing()) return;
    this.#waiters.lookAtSuspected();
    if (this.#waiters.hasSuspected) this.#ground.requestTurn();
  }

  #confirmIsDue(): boolean {
    if (this.#confirmingSinceMs === undefined) return false;
    return this.#ground.clock.monotonicMs() - this.#confirmingSinceMs >= CONFIRM_ALONE_MS;
  }

  #mayPropose(): boolean {
    if (this.#ground.raft.role !== 'leader') return true;
    return this.#cohort.mayLeave();
  }

  /** What a member would not know is refused, as long as a node of an older build is known of. */
  #gatherKnown(batch: CommandBatch): Promise<readonly LineResult[]> {
    const gather = (known: CommandBatch) => this.#watches.gather(known);
    const refusal = this.#refusalOfNewer();
    return refusal === undefined ? gather(batch) : executeRefusing(batch, refusal, gather);
  }

  /** Undefined: no node of an older build is known of. */
  #refusalOfNewer(): ((line: CommandLine) => Reply | undefined) | undefined {
    if (!this.#ground.hasOlderNodes()) return undefined;
    const older = this.#olderNode();
    return (line) => refusalOfNewer(line, older);
  }

  #olderNode(): OlderNode {
    const { olderNode, applied } = this.#ground;
    const { voters, votersOutgoing, learners } = applied().confState;
    return (version) => olderNode(version, [...voters, ...votersOutgoing, ...learners]);
  }

  readonly #knownToAll = (): number =>
    this.#ground.hasOlderNodes() ? newestOfAll(this.#olderNode()) : APPLY_VERSION;

  #gatherWrites(batch: CommandBatch): Promise<readonly LineResult[]> {
    const results = this.#proposals.gather(batch);
    this.#noteCohort();
    return results;
  }

  #noteCohort(): void {
    const { count, gathered } = this.#proposals;
    this.#cohort.note(gathered, count - gathered);
  }

  #propose(): void {
    this.#refuseWaiters();
    const drafts: Draft[] = [];
    const timeMs = this.#ground.nowMs();
    this.#proposals.flush(
      this.#ground.clock.monotonicMs(),
      (lines, once) => {
        const draft = this.#waiters.drafts.draft(lines);
        const leaving = this.#watches.leave(lines, timeMs, (before) =>
          servedBefore(drafts, draft, before),
        );
        drafts.push(draft);
        return this.#encode(leaving, draft, timeMs, once);
      },
      (data) => this.#append(data, drafts),
    );
    this.#noteCohort();
    if (this.#proposals.hasGathered) this.#ground.requestTurn();
  }

  /** Members may be of an older build than those when they came. */
  #refuseWaiters(): void {
    const refusal = this.#waiters.count > 0 ? this.#refusalOfNewer() : undefined;
    if (refusal !== undefined) this.#waiters.refuse(refusal);
  }

  /** What whoever does not lead proposes is refused: it need not look. */
  #storedBytes(key: Buffer): number {
    const { raft, engine } = this.#ground;
    return raft.role === 'leader' ? storedBytes(engine(), key) : 0;
  }

  /** An entry of its own for those who wait for what is there already, or for confirmations. */
  #proposeServing(): void {
    this.#refuseWaiters();
    const draft = this.#waiters.drafts.draft([]);
    if (draft.part !== undefined)
      this.#append([this.#encode([], draft, this.#ground.nowMs())], [draft]);
  }

  #encode(
    lines: readonly CommandLine[],
    { part }: Draft,
    timeMs: number,
    batches: readonly OnceLines[] = [],
  ): Buffer {
    const once = batches.length > 0 && { once: batches };
    const body = { family: 'redis', lines, ...(part && { waiting: part }), ...once } as const;
    return encodeEnvelope({ timeMs, seed: this.#ground.random.u32(), body }, this.#knownToAll);
  }

  #append(data: readonly Buffer[], drafts: readonly Draft[]): ProposeResult {
    const result = this.#ground.raft.propose(data);
    drafts.forEach((draft, at) => {
      if (result.ok) this.#onAppended(draft, result.index + at);
      else this.#waiters.drafts.onRefused(draft);
    });
    if (this.#waiters.drafts.confirmations === 0) this.#confirmingSinceMs = undefined;
    return result;
  }

  #onAppended(draft: Draft, index: LogIndex): void {
    const { waiters, fills } = draft;
    if (waiters.length > 0 && this.#watches.count > 0) {
      this.#watches.onServing(index, reachOf(waiters, fills.keys(), true));
    }
    this.#waiters.drafts.onAppended(draft, index);
  }
}
