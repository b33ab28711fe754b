/**
 * One command (or transaction) of one partition from its turn in the window to its outcome: where it
 * is sent, under which session, how often. What to do about a failure is decided by `retry.ts`.
 */
import type { Clock, Timer } from '../common/clock.ts';
import type { PartitionId } from '../common/ids.ts';
import type { Address } from '../common/network.ts';
import { onAbort } from './abort-signals.ts';
import type { Consistency } from './command-types.ts';
import type { Argument, Connection, Outcome, Reply } from './connection.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { type ClientError, type OwnErrorCode, ownError, ReplyError } from './errors.ts';
import type { RetryLimits } from './retry.ts';
import { type Attempted, decide, type Failure, failureOf, failures, movedTo } from './retry.ts';
import { onceLine, type Sessions, sessionError, type Ticket } from './sessions.ts';
import { followerOf, leaderOf, noteMoved, type TargetWorld } from './targets.ts';
import type { Entrant, Window } from './window.ts';

/** What all calls of a client share. */
export interface CallWorld extends TargetWorld {
  readonly clock: Clock;
  readonly window: Window;
  readonly deadlines: Deadlines;
  /** Undefined: writes are sent without. */
  readonly sessions: Sessions | undefined;
  readonly retry: Omit<RetryLimits, 'timeoutMs'>;
  /** How long an attempt that may be repeated waits for its reply; see the option. */
  readonly attemptTimeoutMs: number;
}

export interface CallPlan {
  /** Lower case. */
  readonly name: string;
  /** Sent one behind the other; the reply of the last is the call's. */
  readonly lines: readonly (readonly Argument[])[];
  readonly effect: 'read' | 'write';
  /** Waits at the server: it has a connection for itself, and no time limit but the caller's. */
  readonly blocking: boolean;
  readonly partition: PartitionId | undefined;
  /** A key of the partition; undefined: it is not run in a session. */
  readonly key: Argument | undefined;
  /** On `clock.monotonicMs`: when the caller asked. */
  readonly askedMs: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly consistency: Consistency;
  /** Begins at once and does not count in the window: what others wait for. */
  readonly urgent?: boolean;
  /** It has a connection for itself, as what blocks has: it changes what the connection is in. */
  readonly alone?: boolean;
  /** What was sent before under this place of a session may have taken effect. */
  readonly ticket?: Ticket | undefined;
}

export type CallResult =
  | { readonly ok: true; readonly reply: Reply; readonly attempts: number }
  | { readonly ok: false; readonly error: ClientError; readonly attempts: number };

export class Call implements Entrant, Timed {
  readonly #world: CallWorld;
  readonly #plan: CallPlan;
  readonly #done: (result: CallResult) => void;
  #state: 'waiting' | 'begun' | 'settled' = 'waiting';
  #attempts = 0;
  /** Attempts that nobody has said anything to. */
  #silences = 0;
  /** The attempt that waits for its reply. */
  #sent: { readonly connection: Connection; readonly silentMs: number } | undefined;
  /** The outcome of an earlier attempt is unknown. */
  #maybeDone = false;
  #ticket: Ticket | undefined;
  #borrowed: Connection | undefined;
  /** The present attempt goes to a follower-read port. */
  #atFollower = false;
  #timer: Timer | undefined;
  #unlisten: (() => void) | undefined;
  #lastCause: Error | undefined;
  /** When the present row of failures began. */
  #failingMs: number;
  #dueMs: number;

  constructor(world: CallWorld, plan: CallPlan, done: (result: CallResult) => void) {
    this.#world = world;
    this.#plan = plan;
    this.#done = done;
    this.#failingMs = plan.askedMs;
    this.#dueMs = plan.askedMs + plan.timeoutMs;
    this.#ticket = plan.ticket;
    this.#maybeDone = plan.ticket !== undefined;
  }

  start(): void {
    const { window, deadlines } = this.#world;
    const { signal, partition } = this.#plan;
    if (signal?.aborted) return this.#onAbort();
    if (signal !== undefined) this.#unlisten = onAbort(signal, this.#onAbort);
    deadlines.add(this);
    if (this.#plan.urgent) return this.begin();
    if (window.enter(partition, this)) return;
    this.#fail('QUEUE_FULL', `${window.waiting} commands wait already: see maxQueued`);
  }

  /** Its turn in the window has come. */
  begin(): void {
    this.#state = 'begun';
    // Its time was up while it waited: what has not been sent is certain to have no effect.
    const nowMs = this.#world.clock.monotonicMs();
    if (nowMs >= this.#dueMs) this.onTime(nowMs);
    else this.#attempt();
  }

  /** Ends it because the client does. */
  close(): void {
    const code = this.#isUncertain() ? 'OUTCOME_UNKNOWN' : 'CLOSED';
    this.#fail(code, 'the client was closed');
  }

  onTime(nowMs: number): void {
    if (nowMs >= this.#dueMs) {
      const { timeoutMs, name } = this.#plan;
      const uncertain = this.#isUncertain();
      const rest = uncertain ? ', and it may have taken effect' : '';
      const text = `no answer to ${name} within ${timeoutMs} ms${rest}`;
      if (this.#sent !== undefined) this.#world.pool.doubt(this.#sent.connection);
      this.#fail(uncertain ? 'OUTCOME_UNKNOWN' : 'TIMEOUT', text);
      return;
    }
    if (this.#sent === undefined || nowMs < this.#sent.silentMs) return;
    const { connection } = this.#sent;
    const { address } = connection;
    this.#world.pool.avoid(address);
    this.#world.pool.doubt(connection);
    this.#failed('silent', new Error(`${address.host}:${address.port} says nothing`));
  }

  readonly #onAbort = (): void => {
    const { signal, name } = this.#plan;
    const uncertain = this.#isUncertain();
    const rest = uncertain ? '; it may have taken effect' : '';
    this.#fail(uncertain ? 'OUTCOME_UNKNOWN' : 'ABORTED', `${name} was aborted${rest}`, {
      cause: signal?.reason,
    });
  };

  /** A write that was sent and of which nobody has said what became of it. */
  #isUncertain(): boolean {
    return this.#plan.effect === 'write' && (this.#maybeDone || this.#sent !== undefined);
  }

  #attempt(): void {
    if (this.#state !== 'begun') return;
    if (this.#plan.key !== undefined && !this.#enterSession(this.#plan.key)) return;
    const connection = this.#connection();
    if (connection === undefined) {
      this.#attempts++;
      this.#failed('unsent', this.#world.lookup.error ?? new Error('no datanode is known'));
      return;
    }
    const number = ++this.#attempts;
    const lines = this.#linesToSend();
    this.#sent = { connection, silentMs: this.#silentMs() };
    let firstError: string | undefined;
    lines.forEach((line, at) => {
      connection.send(line, (outcome) => {
        if (at === lines.length - 1) this.#heard(number, outcome, firstError);
        else if (outcome.kind === 'error') firstError ??= outcome.text;
      });
    });
  }

  /** Blocking commands and writes without a session wait as long as the caller lets them. */
  #silentMs(): number {
    const { clock, attemptTimeoutMs } = this.#world;
    if (this.#plan.blocking || this.#effect() === 'write') return Number.POSITIVE_INFINITY;
    return clock.monotonicMs() + attemptTimeoutMs * 2 ** Math.min(this.#silences, 2);
  }

  #linesToSend(): readonly (readonly Argument[])[] {
    const { lines } = this.#plan;
    const ticket = this.#ticket;
    if (ticket === undefined) return lines;
    return lines.map((line, at) => (at === lines.length - 1 ? onceLine(ticket, line) : line));
  }

  /** False: the attempt goes on when the session has been opened. */
  #enterSession(key: Argument): boolean {
    const { sessions, window } = this.#world;
    const { partition } = this.#plan;
    if (this.#ticket !== undefined || partition === undefined) return true;
    if (sessions === undefined || !sessions.supported) return true;
    this.#ticket = sessions.take(partition);
    if (this.#ticket !== undefined) return true;
    window.hold(partition);
    sessions.begin(partition, key, (failure) => {
      if (this.#state === 'begun') {
        if (failure === undefined) this.#attempt();
        else this.#notOpened(failure);
      }
      window.letGo(partition);
    });
    return false;
  }

  /** The open has used up its own attempts, or was refused. */
  #notOpened(failure: ClientError): void {
    const error = sessionError(this.#plan.name, this.#plan.partition, failure);
    this.#settle({ ok: false, error, attempts: this.#attempts });
  }

  #connection(): Connection | undefined {
    const { pool } = this.#world;
    const { partition, blocking } = this.#plan;
    const { effect, consistency, alone } = this.#plan;
    this.#atFollower = false;
    if (effect === 'read' && partition !== undefined && this.#attempts === 0) {
      const follower = followerOf(this.#world, partition, consistency);
      this.#atFollower = follower !== undefined;
      if (follower !== undefined) return pool.shared('follower', follower);
    }
    const address = leaderOf(this.#world, partition, this.#attempts);
    if (address === undefined) return undefined;
    if (!blocking && !alone) return pool.shared(partition === undefined ? 'any' : 'data', address);
    this.#borrowed = pool.borrow(address);
    return this.#borrowed;
  }

  #heard(number: number, outcome: Outcome, firstError: string | undefined): void {
    if (this.#state !== 'begun') return;
    if (number !== this.#attempts || this.#sent === undefined) {
      this.#heardLate(outcome);
      return;
    }
    const { address } = this.#sent.connection;
    this.#sent = undefined;
    switch (outcome.kind) {
      case 'reply':
        this.#settle({ ok: true, reply: outcome.reply, attempts: this.#attempts });
        return;
      case 'error':
        this.#refused(address, outcome.text, firstError);
        return;
      case 'unsent':
        this.#dropBorrowed();
        this.#unsent(address, outcome.cause);
        return;
      case 'lost':
        this.#dropBorrowed();
        this.#failed('lost', outcome.cause);
    }
  }

  /** Of an attempt that was given up: what tells the outcome is as good as ever. */
  #heardLate(outcome: Outcome): void {
    const attempts = this.#attempts;
    if (outcome.kind === 'reply') this.#settle({ ok: true, reply: outcome.reply, attempts });
    else if (outcome.kind === 'error' && failureOf(outcome.text) === 'reply') {
      this.#settle({ ok: false, error: this.#replyError(outcome.text), attempts });
    }
  }

  /** An error reply. EXEC is aborted by what was said to the commands before it. */
  #refused(address: Address, text: string, firstError: string | undefined): void {
    const why = text.startsWith('EXECABORT') && firstError !== undefined ? firstError : text;
    const failure = failureOf(why);
    if (failure === 'moved') noteMoved(this.#world, this.#plan.partition, movedTo(why), address);
    if (failure !== 'reply') {
      this.#failed(failure, this.#replyError(why));
      return;
    }
    const cause = why === text ? undefined : this.#replyError(why);
    const { partition } = this.#plan;
    const error = new ReplyError(text, { partition, cause });
    this.#settle({ ok: false, error, attempts: this.#attempts });
  }

  #unsent(address: Address, cause: Error): void {
    const refusal = this.#world.pool.refusal(address);
    // follower-read ports serve no namespace but the user's own: leaders serve them all
    if (refusal === undefined || this.#atFollower) {
      this.#failed('unsent', cause);
      return;
    }
    const text = `${address.host}:${address.port} refuses this client: ${refusal.message}`;
    this.#fail('REFUSED', text, { cause: refusal });
  }

  #failed(failure: Failure, cause: Error): void {
    const { random, retry, lookup, clock, sessions } = this.#world;
    this.#sent = undefined;
    this.#lastCause = cause;
    if (failure === 'silent') {
      this.#silences++;
      this.#dropBorrowed();
    } else this.#giveBack();
    const now = clock.monotonicMs();
    const attempted: Attempted = {
      effect: this.#effect(),
      maybeDone: this.#maybeDone,
      attempts: this.#attempts,
      elapsedMs: now - this.#failingMs,
    };
    // What waited long at the server has not been failing.
    if (this.#plan.blocking) this.#failingMs = now;
    const timeoutMs = this.#plan.blocking ? retry.backoffMaxMs * 16 : this.#plan.timeoutMs;
    const decision = decide(failure, attempted, { ...retry, timeoutMs }, random.float());
    if (failures[failure].outcome === 'unknown') this.#maybeDone = true;
    if (decision.refresh) lookup.refresh();
    if (decision.do === 'fail') {
      const code = decision.code ?? 'UNAVAILABLE';
      this.#fail(code, failureText(this.#plan.name, code, cause));
      return;
    }
    if (decision.newSession && this.#ticket !== undefined) {
      const { session, sequence } = this.#ticket;
      this.#ticket = undefined;
      session.release(sequence);
      sessions?.lost(session);
    }
    if (decision.afterMs <= 0) this.#attempt();
    else this.#timer = clock.setTimer(decision.afterMs, () => this.#attempt());
  }

  #effect(): Attempted['effect'] {
    if (this.#plan.effect === 'read') return 'read';
    return this.#ticket === undefined ? 'write' : 'write-in-session';
  }

  #replyError(text: string): ReplyError {
    return new ReplyError(text, { partition: this.#plan.partition });
  }

  #fail(code: OwnErrorCode, text: string, { cause }: { readonly cause?: unknown } = {}): void {
    const { partition } = this.#plan;
    const error = ownError(code, text, { partition, cause: cause ?? this.#lastCause });
    this.#settle({ ok: false, error, attempts: this.#attempts });
  }

  #settle(result: CallResult): void {
    if (this.#state === 'settled') return;
    const { window, deadlines } = this.#world;
    const { partition, urgent } = this.#plan;
    const waited = this.#state === 'waiting';
    this.#state = 'settled';
    this.#timer?.cancel();
    deadlines.delete(this);
    this.#unlisten?.();
    if (this.#ticket !== undefined) this.#ticket.session.release(this.#ticket.sequence);
    // Whoever still waits at the server is taken out of its queue by closing the connection.
    if (this.#sent === undefined) this.#giveBack();
    else this.#dropBorrowed();
    this.#done(result);
    if (urgent) return;
    if (waited) window.withdraw(partition, this);
    else window.leave(partition);
  }

  #giveBack(): void {
    if (this.#borrowed !== undefined) this.#world.pool.giveBack(this.#borrowed);
    this.#borrowed = undefined;
  }

  #dropBorrowed(): void {
    this.#borrowed?.close();
    this.#borrowed = undefined;
  }
}

/** `cause` is what was met last; an earlier attempt may be why the outcome is not known. */
function failureText(name: string, code: OwnErrorCode, cause: Error): string {
  if (code === 'DONE') return `${name} took effect once; its reply is not kept any more`;
  const unknown = code === 'OUTCOME_UNKNOWN';
  return `${name}${unknown ? ' may have taken effect' : ' was not carried out'}: ${cause.message}`;
}
