/**
 * Clients that wait for an element (BLPOP …), in the memory of a partition's leader, in order of
 * arrival. An entry appended after a waiter was registered carries it if one of its commands names
 * a key it waits for; apply decides whom it serves (serving.ts). For what was there before, the
 * leader looks once: when its leadership is confirmed and all that was appended before is applied.
 * A waiter is withdrawn from memory; one in entries on their way waits for those.
 */
import type { ErrorCode } from '../../../common/errors.ts';
import type { LogIndex } from '../../../common/ids.ts';
import type { BlockingForm } from '../../commands/rows/command.ts';
import type { ChangeSet } from '../../encoding/txn/change-set.ts';
import type { Reply } from '../../resp/reply.ts';
import type { Served } from '../applying/serving.ts';
import type { CommandLine } from '../entries/batch.ts';
import { blockingRequest } from '../entries/blocking-request.ts';
import type { WaitOutcome, WaitRequest } from '../entries/wait.ts';
import { IdleLooks, type IdleLooksGround } from './idle-looks.ts';
import { SuspectedKeys } from './suspected-keys.ts';
import type { Waiter } from './waiter.ts';
import { type StoredGround, WaiterDrafts } from './waiter-drafts.ts';
import { WaiterQueues } from './waiter-queues.ts';
import { failed, memoryBytes, refusalOfMore } from './waiting-room.ts';

export interface WaiterGround extends StoredGround {
  /** Of the log, applied or not. */
  lastIndex(): LogIndex;
  appliedIndex(): LogIndex;
  /** The partition is being emptied: nothing may be looked at. */
  clearing(): boolean;
  readonly clock: IdleLooksGround['clock'];
  /** An entry is to be proposed, whatever else happens. */
  askForTurn(): void;
  /** What is kept under the id, as bytes of the protocol it was asked in. */
  keptReply(id: Buffer): Buffer | undefined;
}

const name = (key: Buffer) => key.toString('latin1');

export class Waiters {
  readonly #ground: WaiterGround;
  /** In order of arrival. */
  readonly #byId = new Map<string, Waiter>();
  readonly #queues = new WaiterQueues<Waiter>();
  /** An applied entry, or a confirmation, may decide what becomes of them. */
  readonly #undecided = new Set<Waiter>();
  /** What entries carry for them. */
  readonly drafts: WaiterDrafts;
  readonly #suspected = new SuspectedKeys();
  readonly #idleLooks: IdleLooks;
  #arrived = 0;
  #bytes = 0;

  constructor(ground: WaiterGround) {
    this.#ground = ground;
    this.drafts = new WaiterDrafts(ground, this.#byId, this.#queues);
    this.#idleLooks = new IdleLooks({ clock: ground.clock, again: (one) => this.#lookAgain(one) });
  }

  get count(): number {
    return this.#byId.size;
  }

  /** There are keys to be looked at in the next turns, by `lookAtSuspected`. */
  get hasSuspected(): boolean {
    return this.#suspected.count > 0;
  }

  /**
   * Registers the request, or takes it over under an id that is known. `isNew`: leadership has to be
   * confirmed for it.
   */
  ask(request: WaitRequest): { readonly isNew: boolean; readonly outcome: Promise<WaitOutcome> } {
    const known = this.#byId.get(name(request.id));
    if (known !== undefined) return { isNew: false, outcome: this.#takeOver(known, request) };
    const form = blockingRequest(request.line);
    if (form === undefined) return refused(failed('BAD_FRAME', 'this is no blocking command'));
    const refusal = refusalOfMore(this.#byId.size, this.#bytes);
    if (refusal !== undefined) return refused(refusal);
    const outcome = new Promise<WaitOutcome>((resolve) => {
      this.#register(request, form, resolve);
    });
    return { isNew: true, outcome };
  }

  /** Whoever sent the request has gone; no effect when it was asked again since. */
  leave(request: WaitRequest): void {
    const waiter = this.#byId.get(name(request.id));
    if (waiter?.request === request) this.#withdraw(waiter);
  }

  /** Leadership was confirmed after the request had come. */
  confirm({ id }: WaitRequest): void {
    const waiter = this.#byId.get(name(id));
    if (waiter === undefined) return;
    waiter.confirmed = true;
    this.#decide(waiter);
  }

  /** BUSY says of a waiter that it was not taken in, and an entry may carry this one by now. */
  fail({ id }: WaitRequest, why: ErrorCode, message: string): void {
    const waiter = this.#byId.get(name(id));
    const code = why === 'BUSY' ? 'OUTCOME_UNKNOWN' : why;
    if (waiter !== undefined) this.#end(waiter, { kind: 'failed', code, message });
  }

  /** The entry is in the engine, and so are all before it. */
  onApplied(index: LogIndex, served: readonly Served[]): void {
    for (const { id, reply } of served) {
      const waiter = this.#byId.get(name(id));
      if (waiter !== undefined) this.#end(waiter, { kind: 'served', reply });
    }
    this.drafts.onApplied(index);
  }

  /** A batch with scripts, which changed so much, is in the engine. */
  onScripts(changed: ChangeSet): void {
    if (this.#byId.size === 0) return;
    this.#suspected.add(changed, this.#queues.has, this.#queues.keys);
  }

  /** The same of any batch: who waits in a group of a stream is told that it is gone. */
  onChanged(changed: ChangeSet): void {
    const { streams } = this.#queues;
    if (streams.size > 0) this.#suspected.addGone(changed, streams);
  }

  /** All of the partition's data goes. */
  onClear(): void {
    this.#suspected.addAll(this.#queues.streams.keys());
  }

  /** Those that entries on their way may fill are looked at when these are applied. */
  lookAtSuspected(): void {
    const { drafts } = this;
    for (const key of this.#suspected.take()) if (!drafts.isOnTheWay(key)) drafts.lookAt(key);
  }

  /** The ground's applied index has grown. */
  decideAll(): void {
    for (const waiter of [...this.#undecided]) this.#decide(waiter);
  }

  /** Those of whom `refusalOf` says that an entry must not carry them; one that is on its way decides. */
  refuse(refusalOf: (line: CommandLine) => Reply | undefined): void {
    const applied = this.#ground.appliedIndex();
    for (const waiter of [...this.#byId.values()]) {
      const isOpen = waiter.form.type === 'stream' && waiter.carriedBy <= applied;
      const reply = isOpen ? refusalOf(waiter.request.line) : undefined;
      if (reply !== undefined) this.#end(waiter, { kind: 'served', reply });
    }
  }

  /** Leadership is gone, or the replica stops: they ask again elsewhere. */
  failAll(code: ErrorCode, message: string): void {
    for (const waiter of [...this.#byId.values()]) {
      this.#end(waiter, { kind: 'failed', code, message });
    }
    this.#suspected.clear();
    this.drafts.clear();
  }

  #takeOver(known: Waiter, request: WaitRequest): Promise<WaitOutcome> {
    known.resolve({ kind: 'superseded' });
    const outcome = new Promise<WaitOutcome>((resolve) => {
      known.resolve = resolve;
    });
    known.request = request;
    if (request.withdraw) this.#withdraw(known);
    else if (known.withdrawn) this.#return(known);
    return outcome;
  }

  #register(
    request: WaitRequest,
    form: BlockingForm,
    resolve: (outcome: WaitOutcome) => void,
  ): void {
    const waiter: Waiter = {
      id: request.id,
      request,
      form,
      order: this.#arrived++,
      since: this.#ground.lastIndex(),
      confirmed: false,
      looked: false,
      asked: true,
      withdrawn: request.withdraw,
      cameWithdrawn: request.withdraw,
      carriedBy: 0,
      bytes: memoryBytes(request),
      resolve,
    };
    this.#byId.set(name(request.id), waiter);
    this.#bytes += waiter.bytes;
    this.#undecided.add(waiter);
    this.#queues.add(waiter);
    this.#idleLooks.add(waiter);
  }

  #withdraw(waiter: Waiter): void {
    waiter.withdrawn = true;
    // what was there when it came is its own, however short its timeout was
    if (!waiter.asked || waiter.cameWithdrawn) this.drafts.due.delete(waiter);
    this.#undecided.add(waiter);
    this.#decide(waiter);
  }

  /** Entries of meanwhile did not carry it: what is there is looked at again. */
  #return(waiter: Waiter): void {
    waiter.withdrawn = false;
    waiter.looked = false;
    waiter.asked = true;
    waiter.since = this.#ground.lastIndex();
    this.#undecided.add(waiter);
    this.#decide(waiter);
  }

  /** What it waits for may be there without any entry's doing; not while its first look is still to come. */
  #lookAgain(waiter: Waiter): boolean {
    if (waiter.withdrawn || this.#undecided.has(waiter) || this.#ground.clearing()) return false;
    this.#return(waiter);
    this.#ground.askForTurn();
    return true;
  }

  #decide(waiter: Waiter): void {
    const applied = this.#ground.appliedIndex();
    if (!waiter.looked) {
      if (!waiter.confirmed || applied < waiter.since || this.#ground.clearing()) return;
      if (!this.#look(waiter)) return;
    }
    if (this.drafts.due.has(waiter) || waiter.carriedBy > applied) return;
    waiter.asked = false;
    this.#undecided.delete(waiter);
    if (waiter.withdrawn) this.#end(waiter, { kind: 'withdrawn' });
  }

  /** Whether it waits on: an earlier leader may have served it. */
  #look(waiter: Waiter): boolean {
    const ground = this.#ground;
    waiter.looked = true;
    const kept = ground.keptReply(waiter.id);
    if (kept !== undefined) {
      this.#end(waiter, { kind: 'served', reply: { kind: 'encoded', bytes: kept } });
      return false;
    }
    if (waiter.cameWithdrawn && waiter.withdrawn) return true;
    const { type, keys } = waiter.form;
    // of a group: that its stream, or the group, is not there is something to tell as well
    if (type === 'stream' || keys.some((key) => ground.typeOf(key))) this.drafts.due.add(waiter);
    return true;
  }

  #end(waiter: Waiter, outcome: WaitOutcome): void {
    if (this.#byId.delete(name(waiter.id))) this.#bytes -= waiter.bytes;
    this.#undecided.delete(waiter);
    this.#idleLooks.delete(waiter);
    this.drafts.forget(waiter, this.#queues.delete(waiter));
    waiter.resolve(outcome);
  }
}

function refused(outcome: WaitOutcome) {
  return { isNew: false, outcome: Promise.resolve(outcome) };
}
