/**
 * One call of `client.watch()`: WATCH on a connection of its own, the caller's reads, and its
 * transaction, which takes effect only if nobody has changed a watched key meanwhile; all of it again
 * while somebody has. EXEC runs in the partition's session. When its reply is lost, an empty EXEC
 * under the same number asks the log: it answers what the first has answered, and if that has not
 * run, it never will.
 */
import type { Timer } from '../common/clock.ts';
import type { PartitionId } from '../common/ids.ts';
import { onAbort } from './abort-signals.ts';
import { Call } from './call.ts';
import type { CallResult, CallWorld } from './call-plan.ts';
import type { Argument, Connection, Reply } from './connection.ts';
import type { Timed } from './deadlines.ts';
import { type ClientError, type OwnErrorCode, ownError } from './errors.ts';
import { type Answer, exchange, type Failed } from './exchange.ts';
import {
  type Gathered,
  type PipelineResult,
  queuedLines,
  resultsOf,
  WatchedTransaction,
} from './pipeline.ts';
import type { QueuedLine } from './refusals.ts';
import { backoffMs, decide, type Failure, failures } from './retry.ts';
import { onceLine, sessionError, type Ticket } from './sessions.ts';
import { leaderOf } from './targets.ts';
import { Watched, type WatchedRead } from './watched.ts';
import type { Entrant, Window } from './window.ts';

/** Undefined: the function has given up, and nothing was sent. */
export type WatchResult = PipelineResult[] | undefined;

/** Reads, and returns the transaction to send; undefined: none. Called once per attempt. */
export type WatchBody = (
  tx: Watched,
) => Promise<WatchedTransaction | undefined> | WatchedTransaction | undefined;

export interface WatchPlan {
  /** At least one, all of `partition`; undefined: any node takes them. */
  readonly keys: readonly Argument[];
  readonly partition: PartitionId | undefined;
  readonly body: WatchBody;
  /** On `clock.monotonicMs`: when the caller asked. */
  readonly askedMs: number;
  readonly timeoutMs: number;
  readonly attemptsMax: number;
  readonly signal: AbortSignal | undefined;
  /** How many watches are under way at a time. */
  readonly window: Window;
  /** Throws for lines that have no place in the transaction. */
  check(queued: readonly QueuedLine[]): void;
  /** A read of the body, with what is left of the time. */
  read(
    timeoutMs: number,
    signal: AbortSignal,
    ...asked: Parameters<WatchedRead>
  ): ReturnType<WatchedRead>;
}

export class Watch implements Entrant, Timed {
  readonly #world: CallWorld;
  readonly #plan: WatchPlan;
  readonly #dueMs: number;
  readonly #gone = new AbortController();
  #state: 'waiting' | 'begun' | 'settled' = 'waiting';
  #settled: { resolve(result: WatchResult): void; reject(error: unknown): void } | undefined;
  #attempts = 0;
  #conflicts = 0;
  /** Attempts in a row that failed before their EXEC. */
  #failures = 0;
  /** An EXEC was sent and nobody has said what became of it. */
  #isUncertain = false;
  #connection: Connection | undefined;
  #timer: Timer | undefined;
  #unlisten: (() => void) | undefined;

  constructor(world: CallWorld, plan: WatchPlan) {
    this.#world = world;
    this.#plan = plan;
    this.#dueMs = plan.askedMs + plan.timeoutMs;
  }

  /** Times WATCH was sent. */
  get attempts(): number {
    return this.#attempts;
  }

  start(): Promise<WatchResult> {
    return new Promise((resolve, reject) => {
      this.#settled = { resolve, reject };
      const { signal, window } = this.#plan;
      if (signal?.aborted) return this.#onAbort();
      if (signal !== undefined) this.#unlisten = onAbort(signal, this.#onAbort);
      this.#world.deadlines.add(this);
      if (window.enter(undefined, this)) return;
      this.#fail('QUEUE_FULL', `${window.waiting} watches wait already: see maxQueued`);
    });
  }

  /** Its turn in the window has come. */
  begin(): void {
    this.#state = 'begun';
    void this.#run();
  }

  onTime(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    const tried = this.#conflicts > 0 ? `; ${this.#conflicts} attempts met a changed key` : '';
    this.#end('TIMEOUT', `the watch has not ended within ${this.#plan.timeoutMs} ms${tried}`);
  }

  /** Ends it because the client does. */
  close(): void {
    this.#end('CLOSED', 'the client was closed');
  }

  readonly #onAbort = (): void => {
    this.#end('ABORTED', 'the watch was aborted', this.#plan.signal?.reason);
  };

  async #run(): Promise<void> {
    try {
      while (this.#state === 'begun') {
        const pauseMs = await this.#attempt(++this.#attempts);
        if (this.#state === 'begun' && pauseMs > 0) await this.#pause(pauseMs);
      }
    } catch (error) {
      this.#settle(() => this.#settled?.reject(error));
    }
  }

  /** From WATCH to EXEC; resolves with the pause before the next attempt. */
  async #attempt(number: number): Promise<number> {
    const { lookup, pool } = this.#world;
    const { partition, keys } = this.#plan;
    await this.#openSession();
    if (this.#state !== 'begun') return 0;
    const address = leaderOf(this.#world, partition, this.#failures);
    if (address === undefined) {
      return this.#failed('unsent', lookup.error ?? new Error('no datanode is known'));
    }
    const connection = pool.borrow(address);
    this.#connection = connection;
    const watched = await this.#send(connection, [['WATCH', ...keys]]);
    if (this.#state !== 'begun') return 0;
    if (watched.kind === 'failed') return this.#notDone(watched);
    this.#failures = 0;
    const gathered = await this.#ask(connection, number);
    if (this.#state !== 'begun') return 0;
    if (gathered !== undefined && gathered.length > 0) return this.#exec(connection, gathered);
    this.#unwatch(connection);
    this.#settle(() => this.#settled?.resolve(gathered && []));
    return 0;
  }

  /** What the body wants done; undefined: it has given up. */
  async #ask(connection: Connection, number: number): Promise<readonly Gathered[] | undefined> {
    const { body, read } = this.#plan;
    const { signal } = this.#gone;
    const left = () => Math.max(1, this.#dueMs - this.#world.clock.monotonicMs());
    const tx = new Watched(number, signal, (...asked) => read(left(), signal, ...asked));
    try {
      const made: unknown = await body(tx);
      if (made === undefined || made === null) return undefined;
      if (made instanceof WatchedTransaction) return this.#checked(made);
      const text = 'the function of a watch returns what tx.multi() gave it, or undefined';
      throw ownError('BAD_ARGUMENT', text);
    } catch (error) {
      this.#unwatch(connection);
      throw error;
    }
  }

  #checked(made: WatchedTransaction): readonly Gathered[] {
    const gathered = WatchedTransaction.gatheredIn(made);
    this.#plan.check(queuedLines(gathered));
    return gathered;
  }

  async #exec(connection: Connection, gathered: readonly Gathered[]): Promise<number> {
    const { sessions } = this.#world;
    // Were it refused, what is queued behind it would run at once.
    const opened = await this.#send(connection, [['MULTI']]);
    if (this.#state !== 'begun') return 0;
    if (opened.kind === 'failed') return this.#notDone(opened);
    const ticket = this.#ticket();
    if (ticket === 'lost') {
      this.#drop();
      return 0;
    }
    const lines = queuedLines(gathered).map(({ line }) => line);
    const exec = ticket === undefined ? ['EXEC'] : onceLine(ticket, ['EXEC']);
    this.#isUncertain = true;
    const answer = await this.#send(connection, [...lines, exec]);
    if (this.#state !== 'begun') {
      ticket?.session.release(ticket.sequence);
      return 0;
    }
    const outcome = answer.kind === 'failed' ? failures[answer.failure].outcome : 'reply';
    if (outcome === 'unknown' && ticket !== undefined) return this.#settleLost(ticket, gathered);
    ticket?.session.release(ticket.sequence);
    if (answer.kind === 'failed' && outcome === 'unknown') {
      const text = `exec may have taken effect: ${answer.error.message}`;
      this.#fail('OUTCOME_UNKNOWN', text, answer.error);
      return 0;
    }
    this.#isUncertain = false;
    if (answer.kind === 'reply') return this.#heard(answer.reply, gathered);
    if (outcome === 'session-lost' && ticket !== undefined) sessions?.lost(ticket.session);
    return this.#notDone(answer);
  }

  /** Nil: a watched key was changed, and nothing took effect. */
  #heard(reply: Reply, gathered: readonly Gathered[]): number {
    this.#giveBack();
    if (reply === null) return this.#conflict();
    const results = resultsOf(gathered, reply, this.#plan.partition);
    this.#settle(() => this.#settled?.resolve(results));
    return 0;
  }

  /** The reply of an EXEC is lost: the log is asked, wherever it is led now. */
  async #settleLost(ticket: Ticket, gathered: readonly Gathered[]): Promise<number> {
    const { keys, partition, askedMs, timeoutMs, signal } = this.#plan;
    this.#drop();
    this.#world.lookup.refresh();
    const plan = {
      name: 'exec',
      lines: [['WATCH', keys[0]!], ['MULTI'], ['EXEC']],
      effect: 'write' as const,
      blocking: false,
      partition,
      key: keys[0],
      askedMs,
      timeoutMs,
      signal,
      consistency: 'linearizable' as const,
      urgent: true,
      alone: true,
      ticket,
    };
    const told = await new Promise<CallResult>((resolve) => {
      new Call(this.#world, plan, resolve).start();
    });
    if (this.#state !== 'begun') return 0;
    if (!told.ok) {
      if (told.error.code === 'DONE') throw told.error;
      this.#fail('OUTCOME_UNKNOWN', told.error.message, told.error);
      return 0;
    }
    this.#isUncertain = false;
    // Nil or nothing is what the second one answers: the first has not run.
    const isOwn = Array.isArray(told.reply) && told.reply.length > 0;
    return this.#heard(isOwn ? told.reply : null, gathered);
  }

  /** Nothing took effect. */
  #notDone({ failure, error }: Failed): number {
    if (failure === 'lost' || failure === 'unsent' || failure === 'silent') this.#drop();
    else this.#unwatch(this.#connection);
    return this.#failed(failure, error);
  }

  #failed(failure: Failure, error: Error): number {
    const { clock, retry, random, lookup } = this.#world;
    const { timeoutMs, askedMs, partition } = this.#plan;
    if (failure === 'reply') throw error;
    const attempted = {
      effect: 'read' as const,
      maybeDone: false,
      attempts: ++this.#failures,
      elapsedMs: clock.monotonicMs() - askedMs,
    };
    const decision = decide(failure, attempted, { ...retry, timeoutMs }, random.float());
    if (decision.refresh) lookup.refresh();
    if (decision.do === 'retry') return decision.afterMs;
    const text = `watch: ${error.message}`;
    throw ownError(decision.code ?? 'UNAVAILABLE', text, { partition, cause: error });
  }

  #conflict(): number {
    const { clock, retry, random } = this.#world;
    const { attemptsMax, partition } = this.#plan;
    this.#conflicts++;
    const pauseMs = backoffMs(this.#conflicts, retry, random.float());
    const isLate = clock.monotonicMs() + pauseMs >= this.#dueMs;
    if (this.#conflicts < attemptsMax && !isLate) return pauseMs;
    const text = `a watched key was changed by others at each of ${this.#conflicts} attempts`;
    throw ownError('CONFLICT', text, { partition });
  }

  /** Throws when it cannot be opened. */
  async #openSession(): Promise<void> {
    const { sessions } = this.#world;
    const { partition, keys } = this.#plan;
    if (sessions === undefined || !sessions.supported || partition === undefined) return;
    if (sessions.isOpen(partition)) return;
    const failure = await new Promise<ClientError | undefined>((resolve) => {
      sessions.begin(partition, keys[0]!, resolve);
    });
    if (failure !== undefined) throw sessionError('EXEC', partition, failure);
  }

  /** Undefined: without a session; `lost`: its group has forgotten the one that was open. */
  #ticket(): Ticket | undefined | 'lost' {
    const { sessions } = this.#world;
    const { partition } = this.#plan;
    if (sessions === undefined || !sessions.supported || partition === undefined) return undefined;
    return sessions.take(partition) ?? 'lost';
  }

  #send(connection: Connection, lines: readonly (readonly Argument[])[]): Promise<Answer> {
    return exchange(this.#world, this.#plan.partition, connection, lines);
  }

  #pause(pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#timer = this.#world.clock.setTimer(pauseMs, resolve);
    });
  }

  /** What is watched would bind whoever has the connection next. */
  #unwatch(connection: Connection | undefined): void {
    if (connection === undefined || this.#connection !== connection) return;
    connection.send(['UNWATCH'], ({ kind }) => {
      if (kind !== 'reply') connection.close();
    });
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#connection !== undefined) this.#world.pool.giveBack(this.#connection);
    this.#connection = undefined;
  }

  #drop(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** From outside, whatever is under way. */
  #end(code: OwnErrorCode, text: string, cause?: unknown): void {
    const uncertain = this.#isUncertain;
    const rest = uncertain ? ', and its transaction may have taken effect' : '';
    this.#fail(uncertain ? 'OUTCOME_UNKNOWN' : code, `${text}${rest}`, cause);
  }

  #fail(code: OwnErrorCode, text: string, cause?: unknown): void {
    const error = ownError(code, text, { partition: this.#plan.partition, cause });
    this.#settle(() => this.#settled?.reject(error));
  }

  #settle(tell: () => void): void {
    if (this.#state === 'settled') return;
    const { window } = this.#plan;
    const waited = this.#state === 'waiting';
    this.#state = 'settled';
    this.#drop();
    this.#timer?.cancel();
    this.#world.deadlines.delete(this);
    this.#unlisten?.();
    tell();
    this.#gone.abort();
    if (waited) window.withdraw(undefined, this);
    else window.leave(undefined);
  }
}
