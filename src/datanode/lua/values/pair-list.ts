/**
 * Pairs in the order in which their keys came. A key whose value was set to nil keeps its place until so
 * many others have come that the list is written anew: a walk finds its way on, and nothing grows for ever.
 */
import type { Meter } from './function.ts';
import { mapKey } from './long-keys.ts';
import type { LuaValue } from './value.ts';

/** Up to so many keys are compared one by one, which is faster than to hash them. */
const COMPARED_MAX = 8;

/** Equals no key, not even itself. */
const NO_KEY = Number.NaN;

export class PairList {
  private keys: LuaValue[] = [];
  private values: LuaValue[] = [];
  /** Where each key is, once there are more than a few. */
  private slots: Map<LuaValue, number> | undefined;
  private live = 0;
  /** All before it have no value: what takes key by key from the front does not pass them again. */
  private first = 0;
  /** How many keys are positive integers, with a value or without. */
  private integers = 0;

  get(key: LuaValue): LuaValue {
    const slot = this.slotOf(key);
    return slot < 0 ? undefined : this.values[slot];
  }

  /** −1: there is no such key, nor was one since the list was written anew. */
  slotOf(key: LuaValue): number {
    if (this.slots !== undefined) {
      const slot = this.slots.get(mapKey(key));
      return slot === undefined ? -1 : slot;
    }
    const { keys } = this;
    for (let slot = 0; slot < keys.length; slot++) {
      if (keys[slot] === key) return slot;
    }
    return -1;
  }

  /** Whether the list has got longer. */
  set(key: LuaValue, value: LuaValue): boolean {
    const slot = this.slotOf(key);
    if (slot < 0) return value !== undefined && this.append(key, value);
    if (this.values[slot] === undefined) this.live += value === undefined ? 0 : 1;
    else if (value === undefined) this.live -= 1;
    this.values[slot] = value;
    if (slot < this.first) this.first = slot;
    return false;
  }

  /** Places of keys, with a value or without. */
  get places(): number {
    return this.keys.length;
  }

  get liveCount(): number {
    return this.live;
  }

  /** Whether one of its keys may be a positive integer. */
  get hasIntegers(): boolean {
    return this.integers > 0;
  }

  /** The first pair behind a slot that has a value. */
  after(slot: number, meter?: Meter): readonly [LuaValue, LuaValue] | undefined {
    const { keys, values } = this;
    const from = Math.max(slot + 1, this.first);
    let at = from;
    while (at < keys.length && values[at] === undefined) at += 1;
    meter?.steps(passing(at - from));
    if (slot < this.first) this.first = at;
    return at < keys.length ? [keys[at], values[at]] : undefined;
  }

  /** Removes the pair of an integer, which is to be kept elsewhere, and answers its value. */
  takeInteger(key: number): LuaValue {
    if (this.integers === 0) return undefined;
    const slot = this.slotOf(key);
    if (slot < 0) return undefined;
    const value = this.values[slot];
    if (value !== undefined) this.live -= 1;
    this.values[slot] = undefined;
    this.keys[slot] = NO_KEY;
    this.slots?.delete(key);
    this.integers -= 1;
    return value;
  }

  private append(key: LuaValue, value: LuaValue): boolean {
    if (this.keys.length >= COMPARED_MAX && this.live * 2 < this.keys.length) this.writeAnew();
    const slot = this.keys.length;
    this.keys.push(key);
    this.values.push(value);
    this.live += 1;
    if (isIndex(key)) this.integers += 1;
    if (this.slots !== undefined) this.slots.set(mapKey(key), slot);
    else if (slot >= COMPARED_MAX) this.hash();
    return true;
  }

  private writeAnew(): void {
    const { keys, values } = this;
    this.keys = [];
    this.values = [];
    this.first = 0;
    this.integers = 0;
    for (let slot = 0; slot < keys.length; slot++) {
      if (values[slot] === undefined) continue;
      this.keys.push(keys[slot]);
      this.values.push(values[slot]);
      if (isIndex(keys[slot])) this.integers += 1;
    }
    this.slots = undefined;
    if (this.keys.length > COMPARED_MAX) this.hash();
  }

  private hash(): void {
    this.slots = new Map();
    for (let slot = 0; slot < this.keys.length; slot++)
      this.slots.set(mapKey(this.keys[slot]), slot);
  }
}

/** So many places without a value are passed in one step. */
const PASSED = 16;

/** Steps for places that have no value and are looked at on the way. */
export function passing(places: number): number {
  return Math.floor(places / PASSED);
}

function isIndex(key: LuaValue): boolean {
  return typeof key === 'number' && key >= 1 && Number.isInteger(key);
}
