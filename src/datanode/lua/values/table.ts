/**
 * Lua's only collection. Which order `next` has is Lua's to choose: here it is 1, 2, 3, … and then the
 * others as they came, alike on every replica, which addresses in memory would not be. Keys are forgotten
 * only when others come, as in Lua: so a walk may set to nil what it meets.
 */
import { LuaError } from './error.ts';
import type { Meter } from './function.ts';
import { PairList, passing } from './pair-list.ts';
import type { LuaValue } from './value.ts';

/** What items and pairs are taken to need, when a script is told how much it has made. */
const ITEM_BYTES = 16;
const PAIR_BYTES = 112;
/** Fewer places are passed at once, and so are so many for each value. */
const HOLES_MIN = 64;
const PLACES_PER_VALUE = 16;

export class LuaTable {
  metatable: LuaTable | undefined;
  /** Set by the machine for its globals and libraries: scripts may not change them. */
  isReadonly = false;
  /** Of the keys 1, 2, 3, …; some may be nil, the last one is not. */
  private items: LuaValue[] = [];
  private itemsLive = 0;
  /** The longest that `items` has been: up to there a walk may ask for what is behind a key. */
  private itemsSeen = 0;
  /** All items before it are nil. */
  private first = 0;
  private pairs: PairList | undefined;

  /** Without metamethods, as all of these. */
  get(key: LuaValue): LuaValue {
    if (typeof key === 'number') {
      const at = key - 1;
      if (at >= 0 && at < this.items.length && Number.isInteger(at)) return this.items[at];
    }
    return this.pairs === undefined ? undefined : this.pairs.get(key);
  }

  /**
   * Undefined removes. Answers by how many bytes the table has grown. Throws LuaError: nil or NaN as a
   * key, a table that is read only.
   */
  set(key: LuaValue, value: LuaValue): number {
    if (this.isReadonly) throw new LuaError('Attempt to modify a readonly table', 0);
    if (typeof key === 'number') return this.setNumber(key, value);
    if (key === undefined) throw new LuaError('table index is nil', 0);
    return this.setPair(key, value);
  }

  /** Values of a constructor, for the keys behind `before`. Nil among them is a hole in the list, not its end. */
  setItems(before: number, values: readonly LuaValue[]): number {
    const { items } = this;
    if (items.length > before || this.pairs?.hasIntegers) {
      let grown = 0;
      for (let n = 0; n < values.length; n++) grown += this.set(before + n + 1, values[n]);
      return grown;
    }
    while (items.length < before) items.push(undefined);
    for (const value of values) {
      items.push(value);
      if (value !== undefined) this.itemsLive += 1;
    }
    this.trim();
    if (this.pairs !== undefined) this.takeFromPairs(this.pairs);
    this.itemsSeen = Math.max(this.itemsSeen, items.length);
    return values.length * ITEM_BYTES;
  }

  /** A border: `t[n] ~= nil and t[n + 1] == nil`, or 0. */
  get length(): number {
    return this.items.length;
  }

  /**
   * The pair behind `key` (undefined: the first); undefined: there is none. Throws LuaError: no such key.
   * What was set to nil is passed on the way, which `meter` is charged for.
   */
  next(key: LuaValue, meter?: Meter): readonly [LuaValue, LuaValue] | undefined {
    const before = this.itemsBefore(key);
    if (before < 0) return this.nextPair(key, meter);
    const { items } = this;
    const from = Math.max(before, this.first);
    let at = from;
    while (at < items.length && items[at] === undefined) at += 1;
    meter?.steps(passing(at - from));
    if (before <= this.first) this.first = at;
    return at < items.length ? [at + 1, items[at]] : this.pairs?.after(-1, meter);
  }

  /**
   * Forgets the places of what was set to nil, where they are by far the most: who walks the table again and
   * again would pass them each time. The order stays. For when no script will look at it any more: they would
   * see another length, and be charged less.
   */
  forgetHoles(): void {
    const places = this.items.length + (this.pairs?.places ?? 0);
    const live = this.itemsLive + (this.pairs?.liveCount ?? 0);
    if (places <= HOLES_MIN || live * PLACES_PER_VALUE >= places) return;
    const kept = new PairList();
    for (let pair = this.next(undefined); pair !== undefined; pair = this.next(pair[0])) {
      kept.set(pair[0], pair[1]);
    }
    this.items = [];
    this.itemsLive = 0;
    this.first = 0;
    this.pairs = kept;
  }

  private nextPair(key: LuaValue, meter?: Meter): readonly [LuaValue, LuaValue] | undefined {
    const slot = this.pairs === undefined ? -1 : this.pairs.slotOf(key);
    if (slot < 0) throw new LuaError("invalid key to 'next'", 0);
    return this.pairs!.after(slot, meter);
  }

  /** How many items come at or before this key; −1: it is none of theirs. */
  private itemsBefore(key: LuaValue): number {
    if (key === undefined) return 0;
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return -1;
    if (key <= this.items.length) return key;
    if (key > this.itemsSeen || (this.pairs !== undefined && this.pairs.slotOf(key) >= 0))
      return -1;
    return this.items.length;
  }

  private setNumber(key: number, value: LuaValue): number {
    const { items } = this;
    const at = key - 1;
    if (at >= 0 && at < items.length && Number.isInteger(at)) return this.setItem(at, value);
    if (at === items.length && value !== undefined && !this.isHeldAsPair(key))
      return this.push(value);
    if (Number.isNaN(key)) throw new LuaError('table index is NaN', 0);
    return this.setPair(key, value);
  }

  private setItem(at: number, value: LuaValue): number {
    const { items } = this;
    if (items[at] === undefined) this.itemsLive += value === undefined ? 0 : 1;
    else if (value === undefined) this.itemsLive -= 1;
    items[at] = value;
    if (at < this.first) this.first = at;
    if (value === undefined) this.trim();
    return 0;
  }

  private trim(): void {
    const { items } = this;
    while (items.length > 0 && items[items.length - 1] === undefined) items.pop();
    if (items.length < this.first) this.first = items.length;
  }

  /** A list whose head moves on is kept as pairs: what it has left behind would fill the items for ever. */
  private push(value: LuaValue): number {
    const { items } = this;
    if (items.length >= 16 && this.itemsLive * 2 < items.length) {
      const key = items.length + 1;
      this.moveItemsToPairs();
      return this.setPair(key, value);
    }
    items.push(value);
    this.itemsLive += 1;
    if (this.pairs !== undefined) this.takeFromPairs(this.pairs);
    if (items.length > this.itemsSeen) this.itemsSeen = items.length;
    return ITEM_BYTES;
  }

  private isHeldAsPair(key: number): boolean {
    return this.pairs !== undefined && this.pairs.get(key) !== undefined;
  }

  private takeFromPairs(pairs: PairList): void {
    for (;;) {
      const value = pairs.takeInteger(this.items.length + 1);
      if (value === undefined) return;
      this.items.push(value);
      this.itemsLive += 1;
    }
  }

  /** But for those up to the first hole: they stay, so that the length is a border. */
  private moveItemsToPairs(): void {
    const { items } = this;
    this.pairs ??= new PairList();
    let kept = 0;
    while (items[kept] !== undefined) kept += 1;
    for (let at = kept; at < items.length; at++) {
      if (items[at] !== undefined) this.pairs.set(at + 1, items[at]);
    }
    this.items = items.slice(0, kept);
    this.itemsLive = kept;
    if (kept < this.first) this.first = kept;
  }

  private setPair(key: LuaValue, value: LuaValue): number {
    if (this.pairs === undefined) {
      if (value === undefined) return 0;
      this.pairs = new PairList();
    }
    return this.pairs.set(key, value) ? PAIR_BYTES : 0;
  }
}
