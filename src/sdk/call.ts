/**
 * One command (or transaction) of one partition from its turn in the window to its outcome: where it
 * is sent, under which session, how often. What to do about a failure is decided by `retry.ts`.
 */
import type { Timer } from '../common/clock.ts';
import type { Address } from '../common/network.ts';
import { onAbort } from './abort-signals.ts';
import { AttemptPath } from './attempt-path.ts';
import type { CallPlan, CallResult, CallWorld } from './call-plan.ts';
import type { Argument, Connection } from './connection.ts';
import type { Timed } from './deadlines.ts';
import {
  type ClientError,
  failureText,
  type OwnErrorCode,
  ownError,
  ReplyError,
} from './errors.ts';
import { type Answered, sendLines } from './lines.ts';
import {
  type Attempted,
  decide,
  type Failure,
  failureOf,
  failures,
  isOfNode,
  movedTo,
} from './retry.ts';
import { linesUnder, sessionError, type Ticket } from './sessions.ts';
import { noteMoved, noteSilent } from './targets.ts';
import { type Entrant, laneOf } from './window.ts';

interface Sent {
  readonly connection: Connection;
  readonly silentMs: number;
  /** Nothing of the call itself has been sent. */
  readonly isQuestion: boolean;
}

export class Call implements Entrant, Timed {
  readonly #world: CallWorld;
  readonly #plan: CallPlan;
  readonly #done: (result: CallResult) => void;
  #state: 'waiting' | 'begun' | 'settled' = 'waiting';
  #attempts = 0;
  /** Attempts that nobody has said anything to. */
  #silences = 0;
  /** What waits for its reply: the attempt, or before it the question whether it may be sent. */
  #sent: Sent | undefined;
  /** The outcome of an earlier attempt is unknown. */
  #maybeDone = false;
  #ticket: Ticket | undefined;
  readonly #path: AttemptPath;
  /** Lets those begin that came after it. */
  #goOn: (() => void) | undefined;
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
    this.#path = new AttemptPath(world, plan);
    this.#failingMs = plan.askedMs;
    this.#dueMs = plan.askedMs + plan.timeoutMs;
    this.#ticket = plan.ticket;
    this.#maybeDone = plan.ticket !== undefined;
  }

  start(): void {
    const { window, deadlines } = this.#world;
    const { signal, partition, blocking } = this.#plan;
    if (signal?.aborted) return this.#onAbort();
    if (signal !== undefined) this.#unlisten = onAbort(signal, this.#onAbort);
    deadlines.add(this);
    if (this.#plan.urgent) return this.begin();
    if (window.enter(laneOf(partition, blocking), this)) return;
    this.#fail('QUEUE_FULL', `${window.waiting} commands wait already: see maxQueued`);
  }

  /** Its turn in the window has come. */
  begin(): void {
    this.#state = 'begun';
    // Given up while it waited: what has not been sent is certain to have no effect.
    const nowMs = this.#world.clock.monotonicMs();
    const isOver = nowMs >= this.#dueMs || this.#plan.signal?.aborted;
    if (isOver) this.#world.deadlines.overdue(this, nowMs);
    else this.#attempt();
  }

  /** Ends it because the client does. */
  close(): void {
    const code = this.#isUncertain() ? 'OUTCOME_UNKNOWN' : 'CLOSED';
    this.#fail(code, 'the client was closed');
  }

  onTime(nowMs: number): void {
    if (this.#plan.signal?.aborted) return this.#onAbort();
    if (nowMs >= this.#dueMs) {
      const { timeoutMs, name, partition } = this.#plan;
      const uncertain = this.#isUncertain();
      const rest = uncertain ? ', and it may have taken effect' : '';
      const text = `no answer to ${name} within ${timeoutMs} ms${rest}`;
      if (this.#sent !== undefined) noteSilent(this.#world, partition, this.#sent.connection);
      this.#fail(uncertain ? 'OUTCOME_UNKNOWN' : 'TIMEOUT', text);
      return;
    }
    if (this.#sent === undefined || nowMs < this.#sent.silentMs) return;
    const { connection, isQuestion } = this.#sent;
    const { address } = connection;
    this.#world.pool.avoid(address);
    noteSilent(this.#world, this.#plan.partition, connection);
    const cause = new Error(`${address.host}:${address.port} says nothing`);
    this.#failed(isQuestion ? 'unsent' : 'silent', cause);
  }

  readonly #onAbort = (): void => {
    const { signal, name } = this.#plan;
    const uncertain = this.#isUncertain();
    const rest = uncertain ? '; it may have taken effect' : '';
    const sent = this.#sent;
    this.#fail(uncertain ? 'OUTCOME_UNKNOWN' : 'ABORTED', `${name} was aborted${rest}`, {
      cause: signal?.reason,
    });
    // calls that are all aborted early must find out as well who says nothing
    if (sent !== undefined) this.#world.pool.doubt(sent.connection);
  };

  /** A write that was sent and of which nobody has said what became of it. */
  #isUncertain(): boolean {
    return this.#plan.effect === 'write' && (this.#maybeDone || this.#sent?.isQuestion === false);
  }

  #attempt(): void {
    if (this.#state !== 'begun') return;
    if (this.#plan.key !== undefined && !this.#enterSession(this.#plan.key)) return;
    const connection = this.#path.take(this.#attempts);
    if (connection === undefined) {
      this.#attempts++;
      this.#failed('unsent', this.#world.lookup.error ?? new Error('no datanode is known'));
      return;
    }
    this.#attempts++;
    if (this.#mustAsk(connection)) this.#askFirst(connection);
    else this.#send(connection);
  }

  #send(connection: Connection): void {
    const number = this.#attempts;
    const lines = linesUnder(this.#ticket, this.#plan.lines);
    this.#sent = { connection, silentMs: this.#silentMs(), isQuestion: false };
    sendLines(connection, lines, (answered) => this.#heard(number, answered));
  }

  /** Again when something of it may have run: what is repeated must not run apart for sure. */
  #mustAsk(connection: Connection): boolean {
    if (this.#plan.isTransaction !== true) return false;
    return this.#maybeDone || !this.#world.proofs.has(connection);
  }

  /** Whether MULTI is accepted: if not, what is queued would run at once, and by itself. */
  #askFirst(connection: Connection): void {
    const { clock, window, proofs, attemptTimeoutMs } = this.#world;
    const { partition } = this.#plan;
    const silentMs = clock.monotonicMs() + attemptTimeoutMs;
    const asking = { connection, silentMs, isQuestion: true };
    this.#sent = asking;
    // what was asked for later is sent later
    window.hold(partition);
    this.#goOn = () => {
      this.#goOn = undefined;
      window.letGo(partition);
    };
    proofs.ask(connection, (answered) => {
      if (this.#sent !== asking || this.#state !== 'begun') return;
      if (answered.last.kind === 'reply' && answered.firstError === undefined) {
        this.#send(connection);
        this.#goOn?.();
      } else this.#mayNot(connection.address, answered);
    });
  }

  /** Nothing was sent but the question. */
  #mayNot(address: Address, { last, firstError }: Answered): void {
    if (last.kind === 'unsent' || last.kind === 'lost') return this.#unsent(address, last.cause);
    const text = firstError ?? (last.kind === 'error' ? last.text : '');
    const failure = failureOf(text);
    if (failure === 'reply') return this.#refused(address, text, undefined);
    if (failure === 'moved') noteMoved(this.#world, this.#plan.partition, movedTo(text), address);
    const isCertain = failures[failure].outcome === 'not-proposed';
    this.#failed(isCertain ? failure : 'clusterChanged', this.#replyError(text));
  }

  /** Writes without a session wait as long as the caller lets them, what blocks as it is held. */
  #silentMs(): number {
    const nowMs = this.#world.clock.monotonicMs();
    const { silentMs = Number.POSITIVE_INFINITY } = this.#plan;
    if (this.#plan.blocking || this.#effect() === 'write') return nowMs + silentMs;
    return nowMs + this.#world.attemptTimeoutMs * 2 ** Math.min(this.#silences, 2);
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

  #heard(number: number, answered: Answered): void {
    if (this.#state !== 'begun') return;
    const { last, firstError } = answered;
    if (answered.isApart) return this.#ranApart(firstError ?? '');
    if (number !== this.#attempts || this.#sent === undefined) {
      this.#heardLate(answered);
      return;
    }
    const { address } = this.#sent.connection;
    this.#sent = undefined;
    switch (last.kind) {
      case 'reply':
        // it is not the answer to what was asked
        if (firstError !== undefined) return this.#refused(address, firstError, undefined);
        return this.#settle({ ok: true, reply: last.reply, attempts: this.#attempts });
      case 'error':
        return this.#refused(address, last.text, firstError);
      case 'unsent':
        this.#path.drop();
        this.#unsent(address, last.cause);
        return;
      case 'lost':
        this.#path.drop();
        this.#failed('lost', last.cause);
    }
  }

  /** Of an attempt that was given up: what tells the outcome is as good as ever. */
  #heardLate({ last, firstError }: Answered): void {
    const attempts = this.#attempts;
    if (firstError !== undefined) return;
    if (last.kind === 'reply') this.#settle({ ok: true, reply: last.reply, attempts });
    else if (last.kind === 'error' && failureOf(last.text) === 'reply' && !isOfNode(last.text)) {
      this.#settle({ ok: false, error: this.#replyError(last.text), attempts });
    }
  }

  /** MULTI was refused, though it was accepted a moment ago, and not all that followed it. */
  #ranApart(why: string): void {
    const text = `a part of the transaction may have taken effect, and not as one: ${why}`;
    this.#fail('OUTCOME_UNKNOWN', text, { cause: this.#replyError(why) });
  }

  /** An error reply. EXEC is aborted by what was said to the commands before it. */
  #refused(address: Address, text: string, firstError: string | undefined): void {
    const why = failureOf(text) === 'reply' ? (firstError ?? text) : text;
    const failure = failureOf(why);
    if (failure === 'moved') noteMoved(this.#world, this.#plan.partition, movedTo(why), address);
    if (failure !== 'reply') {
      this.#failed(failure, this.#replyError(why));
      return;
    }
    const { partition, name } = this.#plan;
    const cause = why === text ? undefined : this.#replyError(why);
    const error = new ReplyError(text, { partition, cause });
    // who refuses to pass it on does not know what became of it before
    if (this.#isUncertain() && isOfNode(text)) {
      const code = 'OUTCOME_UNKNOWN';
      return this.#fail(code, failureText(name, code, error), { cause: error });
    }
    this.#settle({ ok: false, error, attempts: this.#attempts });
  }

  #unsent(address: Address, cause: Error): void {
    const refusal = this.#world.pool.refusal(address);
    // follower-read ports serve no namespace but the user's own: leaders serve them all
    if (refusal === undefined || this.#path.isAtFollower) {
      this.#failed('unsent', cause);
      return;
    }
    const text = `${address.host}:${address.port} refuses this client: ${refusal.message}`;
    const code = this.#isUncertain() ? 'OUTCOME_UNKNOWN' : 'REFUSED';
    this.#fail(code, text, { cause: refusal });
  }

  #failed(failure: Failure, cause: Error): void {
    const { random, retry, lookup, clock, sessions } = this.#world;
    this.#sent = undefined;
    this.#goOn?.();
    this.#lastCause = cause;
    if (failure === 'silent') {
      this.#silences++;
      this.#path.drop();
    } else this.#path.giveBack();
    const now = clock.monotonicMs();
    const attempted: Attempted = {
      effect: this.#effect(),
      maybeDone: this.#maybeDone,
      attempts: this.#attempts,
      // what waited long at the server has not been failing
      elapsedMs: this.#plan.blocking && failure !== 'silent' ? 0 : now - this.#failingMs,
    };
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
    const { partition, urgent, blocking } = this.#plan;
    const waited = this.#state === 'waiting';
    this.#state = 'settled';
    this.#timer?.cancel();
    deadlines.delete(this);
    this.#unlisten?.();
    if (this.#ticket !== undefined) this.#ticket.session.release(this.#ticket.sequence);
    // Whoever still waits at the server is taken out of its queue by closing the connection.
    if (this.#sent === undefined) this.#path.giveBack();
    else this.#path.drop();
    this.#done(result);
    this.#goOn?.();
    if (urgent) return;
    const lane = laneOf(partition, blocking);
    if (waited) window.withdraw(lane, this);
    else window.leave(lane);
  }
}
