/**
 * One command (or transaction) of one partition from its turn in the window to its outcome: where it
 * is sent, under which session, how often. What to do about a failure is decided by `retry.ts`.
 */
import type { Clock, Timer } from '../common/clock.ts';
import type { PartitionId } from '../common/ids.ts';
import type { Address } from '../common/network.ts';
import type { Random } from '../common/random.ts';
import type { Consistency } from './command-types.ts';
import type { Argument, Connection, Outcome, Reply } from './connection.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { type ClientError, type OwnErrorCode, ownError, ReplyError } from './errors.ts';
import type { Lookup } from './lookup.ts';
import type { Pool } from './pool.ts';
import type { RetryLimits } from './retry.ts';
import { type Attempted, decide, type Failure, failureOf, failures, movedTo } from './retry.ts';
import { onceLine, type Sessions, type Ticket } from './sessions.ts';
import type { Entrant, Window } from './window.ts';

/** What all calls of a client share. */
export interface CallWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly pool: Pool;
  readonly lookup: Lookup;
  readonly window: Window;
  readonly deadlines: Deadlines;
  /** Undefined: writes are sent without. */
  readonly sessions: Sessions | undefined;
  readonly retry: Omit<RetryLimits, 'timeoutMs'>;
  /** How long an attempt that may be repeated waits for its reply; doubles with each. */
  readonly attemptTimeoutMs: number;
  /** The client's data centre. */
  readonly dc: string | undefined;
  /** What the datanodes' followers keep to. */
  readonly replicaMaxStalenessMs: number;
  /** Which node commands without a key go to first. */
  readonly anySeed: number;
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
  /** The attempt that waits for its reply. */
  #sent: { readonly connection: Connection; readonly silentMs: number } | undefined;
  /** The outcome of an earlier attempt is unknown. */
  #maybeDone = false;
  #ticket: Ticket | undefined;
  #borrowed: Connection | undefined;
  /** The present attempt goes to a follower-read port. */
  #atFollower = false;
  #timer: Timer | undefined;
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
  }

  start(): void {
    const { window, deadlines } = this.#world;
    const { signal, partition } = this.#plan;
    if (signal?.aborted) return this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    deadlines.add(this);
    if (this.#plan.urgent) return this.begin();
    if (window.enter(partition, this)) return;
    this.#fail('QUEUE_FULL', `${window.waiting} commands wait already: see maxQueued`);
  }

  /** Its turn in the window has come. */
  begin(): void {
    this.#state = 'begun';
    this.#attempt();
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
    this.#sent = { connection, silentMs: this.#silentMs(number) };
    let firstError: string | undefined;
    lines.forEach((line, at) => {
      connection.send(line, (outcome) => {
        if (at === lines.length - 1) this.#heard(number, outcome, firstError);
        else if (outcome.kind === 'error') firstError ??= outcome.text;
      });
    });
  }

  /** Blocking commands and writes without a session wait as long as the caller lets them. */
  #silentMs(attempt: number): number {
    const { clock, attemptTimeoutMs } = this.#world;
    if (this.#plan.blocking || this.#effect() === 'write') return Number.POSITIVE_INFINITY;
    return clock.monotonicMs() + attemptTimeoutMs * 2 ** Math.min(attempt - 1, 20);
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
    sessions.begin(partition, key, () => {
      if (this.#state === 'begun') {
        if (sessions.isOpen(partition) || !sessions.supported) this.#attempt();
        else this.#notOpened();
      }
      window.letGo(partition);
    });
    return false;
  }

  /** The open has used up its own attempts. */
  #notOpened(): void {
    this.#fail('UNAVAILABLE', `${this.#plan.name}: no session could be opened in its partition`);
  }

  #connection(): Connection | undefined {
    const { pool } = this.#world;
    const { partition, blocking } = this.#plan;
    const follower = this.#follower();
    this.#atFollower = follower !== undefined;
    if (follower !== undefined) return pool.shared('follower', follower);
    const address = this.#target();
    if (address === undefined) return undefined;
    if (!blocking) return pool.shared(partition === undefined ? 'any' : 'data', address);
    this.#borrowed = pool.borrow(address);
    return this.#borrowed;
  }

  /** Where a read that may be stale goes first. */
  #follower(): Address | undefined {
    const { consistency, partition, effect } = this.#plan;
    const { replicaMaxStalenessMs, dc, lookup, pool, random } = this.#world;
    if (effect !== 'read' || partition === undefined || this.#attempts > 0) return undefined;
    const bound = typeof consistency === 'object' ? consistency.maxStalenessMs : undefined;
    if (consistency !== 'stale' && !(bound !== undefined && bound >= replicaMaxStalenessMs)) {
      return undefined;
    }
    const followers = (lookup.table?.followers(partition, dc) ?? []).filter(
      (address) => !pool.isAvoided(address) && pool.refusal(address) === undefined,
    );
    return followers[random.below(Math.max(1, followers.length))];
  }

  /** The leader, or who else takes the command while it cannot be reached. */
  #target(): Address | undefined {
    const { lookup, pool, anySeed } = this.#world;
    const { partition } = this.#plan;
    const found = lookup.table?.candidates(partition) ?? [];
    const from = partition === undefined ? anySeed : 0;
    for (let at = 0; at < found.length; at++) {
      const address = found[(from + at) % found.length]!;
      if (!pool.isAvoided(address)) return address;
    }
    return found[(from + this.#attempts) % Math.max(1, found.length)];
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
    if (failure === 'moved') {
      const to = movedTo(why);
      const { partition } = this.#plan;
      if (to !== undefined && partition !== undefined) {
        // An empty host is the one that was asked.
        const target = { host: to.host === '' ? address.host : to.host, port: to.port };
        this.#world.lookup.table?.noteMoved(partition, target);
      }
    }
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
      this.#fail(decision.code ?? 'UNAVAILABLE', failureText(this.#plan.name, failure, cause));
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
    const { window, deadlines, pool } = this.#world;
    const { partition, signal, urgent } = this.#plan;
    const waited = this.#state === 'waiting';
    this.#state = 'settled';
    this.#timer?.cancel();
    deadlines.delete(this);
    signal?.removeEventListener('abort', this.#onAbort);
    if (this.#ticket !== undefined) this.#ticket.session.release(this.#ticket.sequence);
    if (this.#borrowed !== undefined) {
      // Whoever still waits at the server is taken out of its queue by closing the connection.
      if (this.#sent === undefined) pool.giveBack(this.#borrowed);
      else this.#borrowed.close();
    }
    this.#done(result);
    if (urgent) return;
    if (waited) window.withdraw(partition, this);
    else window.leave(partition);
  }

  #dropBorrowed(): void {
    this.#borrowed?.close();
    this.#borrowed = undefined;
  }
}

function failureText(name: string, failure: Failure, cause: Error): string {
  if (failure === 'done') return `${name} took effect once; its reply is not kept any more`;
  const unknown = failures[failure].outcome !== 'not-proposed';
  return `${name}${unknown ? ' may have taken effect' : ' was not carried out'}: ${cause.message}`;
}
