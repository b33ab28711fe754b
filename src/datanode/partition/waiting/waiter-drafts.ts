/**
 * What entries carry for those who wait: whom the commands of an entry may serve, whom one without any is
 * proposed for, and which keys entries on their way may fill, so that each of these is looked at once
 * they are applied.
 */
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { CommandLine } from '../entries/batch.ts';
import type { CarriedWaiter, WaitingPart } from '../entries/waiter-codec.ts';
import { ALL, fillAnyKey, fillsOf } from './fills.ts';
import { FillsOnTheWay } from './fills-on-the-way.ts';
import { carriedOf, type GroupDraft, type GroupStanding, ReadyGroups } from './ready-groups.ts';
import type { Waiter } from './waiter.ts';
import { longestWaiting, WaiterChoice } from './waiter-choice.ts';
import type { Queue, WaiterQueues } from './waiter-queues.ts';

/** What is stored, as the leader sees it. */
export interface StoredGround {
  /** What is under the key now: a type, or undefined. */
  typeOf(key: Buffer): string | undefined;
  /** Of the stream under the key: what it has for a group. */
  groupsOf(key: Buffer): (group: Buffer) => GroupStanding;
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

export class WaiterDrafts {
  readonly #ground: StoredGround;
  /** Of all, in order of arrival. */
  readonly #byId: ReadonlyMap<string, Waiter>;
  readonly #queues: WaiterQueues<Waiter>;
  /** For these, and for these keys, an entry has to be proposed. */
  readonly due = new Set<Waiter>();
  readonly #ready = new Map<string, Buffer>();
  readonly #readyGroups = new ReadyGroups<Waiter>();
  readonly #onTheWay = new FillsOnTheWay();
  #confirmations: Buffer[] = [];

  constructor(
    ground: StoredGround,
    byId: ReadonlyMap<string, Waiter>,
    queues: WaiterQueues<Waiter>,
  ) {
    this.#ground = ground;
    this.#byId = byId;
    this.#queues = queues;
  }

  /** An entry has to be proposed for those who wait. */
  get isDue(): boolean {
    return this.due.size + this.#ready.size + this.#readyGroups.count > 0;
  }

  /** Confirmations that no entry has taken along. */
  get confirmations(): number {
    return this.#confirmations.length;
  }

  /** These replies have arrived: the next entry says so. */
  confirmServed(ids: readonly Buffer[]): void {
    for (const id of ids) {
      if (this.#confirmations.length >= limits.servedRepliesMax) return;
      this.#confirmations.push(id);
    }
  }

  /** For an entry of these commands; of none: for one that is proposed for those who are due. */
  draft(lines: readonly CommandLine[]): Draft {
    if (this.#byId.size === 0 && this.#confirmations.length === 0) return NOTHING;
    const confirmed = this.#confirmations.splice(0, limits.confirmationsPerEntryMax);
    const serves = lines.length === 0;
    const readyKeys = serves ? this.#firstReady() : [];
    const readyGroups = serves ? this.#readyGroups.first() : [];
    const fills = this.#byId.size === 0 ? new Map<string, number>() : fillsOf(lines);
    for (const key of readyKeys) fills.set(name(key), ALL);
    const brought = fillAnyKey(lines) ? longestWaiting(this.#byId.values(), fills) : [];
    const due = serves ? [...this.due, ...readyGroups.flatMap(({ waiters }) => waiters)] : brought;
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
      this.due.delete(waiter);
    }
    this.#onTheWay.add(index, fills);
  }

  /** The draft was not appended: what it confirms is told by another. */
  onRefused({ part }: Draft): void {
    if (part !== undefined) this.#confirmations.unshift(...part.confirmed);
  }

  /** The entry is in the engine, and so are all before it. */
  onApplied(index: LogIndex): void {
    for (const key of this.#onTheWay.applied(index)) this.lookAt(key);
  }

  /** Entries on their way may fill the key: it is looked at when they are applied. */
  isOnTheWay(key: string): boolean {
    return this.#onTheWay.has(key);
  }

  /** Who is left of those who wait for the key has to be served by another entry. */
  lookAt(key: string): void {
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

  /** It waits no more; it has left its queues. */
  forget(waiter: Waiter, left: readonly Queue<Waiter>[]): void {
    this.due.delete(waiter);
    for (const queue of left) this.#readyGroups.done(queue);
  }

  /** Nobody waits any more. */
  clear(): void {
    this.#ready.clear();
    this.#readyGroups.clear();
    this.#onTheWay.clear();
    this.#confirmations = [];
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
}

function carried({ request: { id, line, protocol }, asked }: Waiter): CarriedWaiter {
  return { id, line, protocol, asked };
}
