/**
 * Whom an entry takes along of those who wait: as many as it may serve, those whom they would serve
 * in turn, and no more than it has room for. Many may wait for one key, and most pushes are of one
 * element: nobody is looked at behind those who are taken, and each destination once.
 */
import { limits } from '../../../common/limits.ts';
import type { BlockingForm } from '../../commands/rows/command.ts';
import { type CarriedWaiter, waiterBytes } from '../entries/waiter-codec.ts';

/** Of a type that nobody waits for: undefined. */
export interface WaitingFor<W> {
  readonly list?: Iterable<W> | undefined;
  readonly zset?: Iterable<W> | undefined;
  /** In groups, each of which is given all that is added. */
  readonly stream?: Iterable<Iterable<W>> | undefined;
}

export interface Choosable {
  readonly request: Pick<CarriedWaiter, 'id' | 'line'>;
  readonly form: BlockingForm;
  /** Place in the order of arrival. */
  readonly order: number;
  readonly withdrawn: boolean;
}

export interface ChoiceGround<W extends Choosable> {
  /** Who waits for the key (latin1), by what they wait for, in order of arrival. */
  waiting(key: string): WaitingFor<W>;
  /** Elements that entries on their way may add to the key. */
  expected(key: string): number;
  typeOf(key: Buffer): string | undefined;
}

export class WaiterChoice<W extends Choosable> {
  readonly #ground: ChoiceGround<W>;
  /** Elements that the entry may add, by key; grows by what those taken would add. */
  readonly #fills: Map<string, number>;
  /** Keys that have more of them since they were looked at. */
  readonly #open: Set<string>;
  readonly #taken = new Set<W>();
  /** Whether what is under a destination lets an element be added. */
  readonly #takes = new Map<string, boolean>();
  #bytesLeft = limits.waiterBytesPerEntryMax;

  constructor(ground: ChoiceGround<W>, fills: Map<string, number>) {
    this.#ground = ground;
    this.#fills = fills;
    this.#open = new Set(fills.keys());
  }

  /** `due` are taken whatever the entry fills. The longest waiting first. */
  choose(due: Iterable<W>): W[] {
    for (const waiter of due) if (!this.#take(waiter)) break;
    for (const key of this.#open) {
      if (this.#isFull) break;
      this.#open.delete(key);
      this.#takeFirst(key, this.#fills.get(key)! + this.#ground.expected(key));
    }
    return [...this.#taken].sort((a, b) => a.order - b.order);
  }

  get #isFull(): boolean {
    return this.#taken.size >= limits.waitersPerEntryMax || this.#bytesLeft < 0;
  }

  /** Of each queue the first that wait for the key and take `count` elements. */
  #takeFirst(key: string, count: number): void {
    for (const waiting of this.#waitingFor(key)) {
      if (!this.#takeFirstOf(waiting, count)) return;
    }
  }

  /** Who waits for what is there comes first: there may be no room for both. */
  #waitingFor(key: string): readonly Iterable<W>[] {
    const { list, zset, stream } = this.#ground.waiting(key);
    const queues: readonly (readonly [string, readonly Iterable<W>[]])[] = [
      ...(list ? [['list', [list]] as const] : []),
      ...(zset ? [['zset', [zset]] as const] : []),
      ...(stream ? [['stream', [...stream]] as const] : []),
    ];
    if (queues.length < 2) return queues[0]?.[1] ?? [];
    const there = this.#ground.typeOf(Buffer.from(key, 'latin1'));
    const isFirst = ([type]: (typeof queues)[number]) => type === there;
    return [...queues.filter(isFirst), ...queues.filter((of) => !isFirst(of))].flatMap(
      ([, those]) => those,
    );
  }

  /** False when there is no room for more. */
  #takeFirstOf(waiting: Iterable<W>, count: number): boolean {
    let left = count;
    for (const waiter of waiting) {
      if (waiter.withdrawn) continue;
      if (!this.#take(waiter)) return false;
      if (this.#mayAdd(waiter) && --left <= 0) break;
    }
    return true;
  }

  /** False when there is no room for it. */
  #take(waiter: W): boolean {
    if (this.#taken.has(waiter)) return true;
    if (this.#isFull) return false;
    this.#taken.add(waiter);
    this.#bytesLeft -= waiterBytes(waiter.request);
    if (waiter.form.fills === undefined) return true;
    const filled = waiter.form.fills.toString('latin1');
    this.#fills.set(filled, (this.#fills.get(filled) ?? 0) + 1);
    this.#open.add(filled);
    return true;
  }

  /** One whose destination holds another type is told so: the element is for whoever is behind it. */
  #mayAdd({ form: { fills } }: W): boolean {
    if (fills === undefined) return true;
    const name = fills.toString('latin1');
    let may = this.#takes.get(name);
    if (may === undefined) {
      may = ['list', undefined].includes(this.#ground.typeOf(fills));
      this.#takes.set(name, may);
    }
    return may;
  }
}

/**
 * The longest waiting of `waiters`, whatever for: a script may have something for each, and an entry has
 * room for some. What it may have for them joins `fills`.
 */
export function longestWaiting<W extends Choosable>(
  waiters: Iterable<W>,
  fills: Map<string, number>,
): readonly W[] {
  const longest: W[] = [];
  let bytesLeft = limits.scriptWaiterBytesMax;
  for (const waiter of waiters) {
    if (longest.length >= limits.scriptWaitersMax) break;
    if (waiter.withdrawn) continue;
    bytesLeft -= waiterBytes(waiter.request);
    if (bytesLeft < 0) break;
    longest.push(waiter);
  }
  const named = new Set(fills.keys());
  for (const { form } of longest) {
    for (const key of form.keys.map((bytes) => bytes.toString('latin1'))) {
      if (!named.has(key)) fills.set(key, (fills.get(key) ?? 0) + 1);
    }
  }
  return longest;
}
