/**
 * Clients that wait for an element (BLPOP …), in the memory of a partition's leader, in order of
 * arrival. An entry appended after a waiter was registered carries it if one of its commands names
 * a key it waits for; apply decides whom it serves (serving.ts). For what was there before, the
 * leader looks once: when its leadership is confirmed and all that was appended before is applied.
 * A waiter is withdrawn from memory; one in entries on their way waits for those.
 */
import type { ErrorCode } from '../../../common/errors.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { BlockingForm } from '../../commands/rows/command.ts';
import type { ChangeSet } from '../../encoding/txn/change-set.ts';
import type { Reply } from '../../resp/reply.ts';
import type { Served } from '../applying/serving.ts';
import type { CommandLine } from '../entries/batch.ts';
import { blockingRequest } from '../entries/blocking-request.ts';
import type { WaitOutcome, WaitRequest } from '../entries/wait.ts';
import type { CarriedWaiter, WaitingPart } from '../entries/waiter-codec.ts';
import { ALL, fillAnyKey, fillsOf } from './fills.ts';
import { FillsOnTheWay } from './fills-on-the-way.ts';
import { carriedOf, type GroupDraft, type GroupStanding, ReadyGroups } from './ready-groups.ts';
import { SuspectedKeys } from './suspected-keys.ts';
import { longestWaiting, WaiterChoice } from './waiter-choice.ts';
import { WaiterQueues } from './waiter-queues.ts';
import { failed, memoryBytes, refusalOfMore } from './waiting-room.ts';

export interface WaiterGround {
  /** Of the log, applied or not. */
  lastIndex(): LogIndex;
  appliedIndex(): LogIndex;
  /** The partition is being emptied: nothing may be looked at. */
  clearing(): boolean;
  /** What is under the key now: a type, or undefined. */
  typeOf(key: Buffer): string | undefined;
  /** Of the stream under the key: what it has for a group. */
  groupsOf(key: Buffer): (group: Buffer) => GroupStanding;
  /** What is kept under the id, as bytes of the protocol it was asked in. */
  keptReply(id: Buffer): Buffer | undefined;
}

interface Waiter {
  readonly id: Buffer;
  /** The newest under its id. */
  request: WaitRequest;
  readonly form: BlockingForm;
  /** Place in the order of arrival. */
  readonly order: number;
  /** Entries up to this one did not carry it. */
  since: LogIndex;
  /** Leadership was confirmed after it came. */
  confirmed: boolean;
  /** What was there when it came has been looked at. */
  looked: boolean;
  /** It may be that something was there: it runs in the next entry as if sent just now. */
  asked: boolean;
  withdrawn: boolean;
  /** Only its withdrawal has come to this leader. */
  readonly cameWithdrawn: boolean;
  /** The newest entry that carries it. */
  carriedBy: LogIndex;
  /** That it takes in memory. */
  readonly bytes: number;
  resolve: (outcome: WaitOutcome) => void;
}

/** What an entry is to carry. */
export interface Draft {
  readonly part: WaitingPart | undefined;
  readonly waiters: readonly Waiter[];
  /** Of streams that it serves. */
  readonly groups: readonly GroupDraft<Waiter>[];
  /** Elements it may add to keys that somebody waits for. */
  readonly fills: ReadonlyMap<string, number>;
}

const NOTHING: Draft = { part: undefined, waiters: [], groups: [], fills: new Map() };
const name = (key: Buffer) => key.toString('latin1');

export class Waiters {
  readonly #ground: WaiterGround;
  /** In order of arrival. */
  readonly #byId = new Map<string, Waiter>();
  readonly #queues = new WaiterQueues<Waiter>();
  /** An applied entry, or a confirmation, may decide what becomes of them. */
  readonly #undecided = new Set<Waiter>();
  /** For these, and for these keys, an entry has to be proposed. */
  readonly #due = new Set<Waiter>();
  readonly #ready = new Map<string, Buffer>();
  readonly #readyGroups = new ReadyGroups<Waiter>();
  readonly #onTheWay = new FillsOnTheWay();
  readonly #suspected = new SuspectedKeys();
  #confirmations: Buffer[] = [];
  #arrived = 0;
  #bytes = 0;

  constructor(ground: WaiterGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#byId.size;
  }

  /** An entry has to be proposed for those who wait. */
  get isDue(): boolean {
    return this.#due.size + this.#ready.size + this.#readyGroups.count > 0;
  }

  /** There are keys to be looked at in the next turns, by `lookAtSuspected`. */
  get hasSuspected(): boolean {
    return this.#suspected.count > 0;
  }

  /** Confirmations that no entry has taken along. */
  get confirmations(): number {
    return this.#confirmations.length;
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

  /** These replies have arrived: the next entry says so. */
  confirmServed(ids: readonly Buffer[]): void {
    for (const id of ids) {
      if (this.#confirmations.length >= limits.servedRepliesMax) return;
      this.#confirmations.push(id);
    }
  }

  /** What an entry of these commands carries; of none: one for those who are due. */
  draft(lines: readonly CommandLine[]): Draft {
    if (this.#byId.size === 0 && this.#confirmations.length === 0) return NOTHING;
    const confirmed = this.#confirmations.splice(0, limits.confirmationsPerEntryMax);
    const serves = lines.length === 0;
    const readyKeys = serves ? this.#firstReady() : [];
    const readyGroups = serves ? this.#readyGroups.first() : [];
    const fills = this.#byId.size === 0 ? new Map<string, number>() : fillsOf(lines);
    for (const key of readyKeys) fills.set(name(key), ALL);
    const brought = fillAnyKey(lines) ? longestWaiting(this.#byId.values(), fills) : [];
    const due = serves ? [...this.#due, ...readyGroups.flatMap(({ waiters }) => waiters)] : brought;
    const waiters = this.#pick(fills, due);
    const groups = carriedOf(readyGroups, waiters);
    const ready = [...readyKeys, ...groups.map(({ queue }) => queue.key)];
    // what is left of theirs is looked at when the entry is applied
    for (const { queue } of groups) fills.set(name(queue.key), fills.get(name(queue.key)) ?? 0);
    for (const key of [...fills.keys()]) if (!this.#queues.has(key)) fills.delete(key);
    if (waiters.length === 0 && confirmed.length === 0 && ready.length === 0) return NOTHING;
    return { part: { ready, waiters: waiters.map(carried), confirmed }, waiters, groups, fills };
  }

  /** The draft is in the log at `index`. */
  onAppended({ part, waiters, groups, fills }: Draft, index: LogIndex): void {
    if (part === undefined) return;
    for (const { queue } of groups) this.#readyGroups.done(queue);
    for (const key of part.ready) this.#ready.delete(name(key));
    for (const waiter of waiters) {
      waiter.carriedBy = index;
      this.#due.delete(waiter);
    }
    this.#onTheWay.add(index, fills);
  }

  /** The draft was not appended: what it confirms is told by another. */
  onRefused({ part }: Draft): void {
    if (part !== undefined) this.#confirmations.unshift(...part.confirmed);
  }

  /** The entry is in the engine, and so are all before it. */
  onApplied(index: LogIndex, served: readonly Served[]): void {
    for (const { id, reply } of served) {
      const waiter = this.#byId.get(name(id));
      if (waiter !== undefined) this.#end(waiter, { kind: 'served', reply });
    }
    for (const key of this.#onTheWay.applied(index)) this.#lookAt(key);
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
    for (const key of this.#suspected.take()) if (!this.#onTheWay.has(key)) this.#lookAt(key);
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
    this.#ready.clear();
    this.#readyGroups.clear();
    this.#suspected.clear();
    this.#onTheWay.clear();
    this.#confirmations = [];
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
  }

  #withdraw(waiter: Waiter): void {
    waiter.withdrawn = true;
    // what was there when it came is its own, however short its timeout was
    if (!waiter.asked || waiter.cameWithdrawn) this.#due.delete(waiter);
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

  #decide(waiter: Waiter): void {
    const applied = this.#ground.appliedIndex();
    if (!waiter.looked) {
      if (!waiter.confirmed || applied < waiter.since || this.#ground.clearing()) return;
      if (!this.#look(waiter)) return;
    }
    if (this.#due.has(waiter) || waiter.carriedBy > applied) return;
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
    if (type === 'stream' || keys.some((key) => ground.typeOf(key))) this.#due.add(waiter);
    return true;
  }

  /** As many of the keys that are ready as one entry has room for. */
  #firstReady(): Buffer[] {
    const keys: Buffer[] = [];
    let bytesLeft = limits.waiterBytesPerEntryMax;
    for (const key of this.#ready.values()) {
      if (bytesLeft < 0) break;
      keys.push(key);
      bytesLeft -= key.length;
    }
    return keys;
  }

  /** Those an entry with these fills may serve, and those whom they would serve in turn. */
  #pick(fills: Map<string, number>, due: Iterable<Waiter>): Waiter[] {
    const ground = {
      waiting: (key: string) => ({
        list: this.#queues.one('list', key),
        zset: this.#queues.one('zset', key),
        stream: this.#queues.streams.has(key) ? this.#queues.waitersOf(key) : undefined,
      }),
      expected: (key: string) => this.#onTheWay.elements(key),
      typeOf: (key: Buffer) => this.#ground.typeOf(key),
    };
    return new WaiterChoice<Waiter>(ground, fills).choose(due);
  }

  /** Who is left of those who wait for the key has to be served by another entry. */
  #lookAt(key: string): void {
    if (!this.#queues.has(key)) return;
    const bytes = Buffer.from(key, 'latin1');
    const groups = this.#queues.groups(key);
    if (groups !== undefined) this.#readyGroups.lookAt(groups, this.#ground.groupsOf(bytes));
    const type = this.#ground.typeOf(bytes);
    if (type !== 'list' && type !== 'zset') return;
    for (const { withdrawn } of this.#queues.one(type, key) ?? []) {
      if (withdrawn) continue;
      this.#ready.set(key, bytes);
      return;
    }
  }

  #end(waiter: Waiter, outcome: WaitOutcome): void {
    if (this.#byId.delete(name(waiter.id))) this.#bytes -= waiter.bytes;
    this.#undecided.delete(waiter);
    this.#due.delete(waiter);
    for (const queue of this.#queues.delete(waiter)) this.#readyGroups.done(queue);
    waiter.resolve(outcome);
  }
}

function carried({ request: { id, line, protocol }, asked }: Waiter): CarriedWaiter {
  return { id, line, protocol, asked };
}

function refused(outcome: WaitOutcome) {
  return { isNew: false, outcome: Promise.resolve(outcome) };
}
