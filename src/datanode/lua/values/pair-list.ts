/**
 * Pairs in the order in which their keys came. A key whose value was set to nil keeps its place until so
 * many others have come that the list is written anew: a walk finds its way on, and nothing grows for ever.
 */
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
  /** How many keys are positive integers, with a value or without. */
  private integers = 0;

  get(key: LuaValue): LuaValue {
    const slot = this.slotOf(key);
    return slot < 0 ? undefined : this.values[slot];
  }

  /** −1: there is no such key, nor was one since the list was written anew. */
  slotOf(key: LuaValue): number {
    if (this.slots !== undefined) {
      const slot = this.slots.get(key);
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
    return false;
  }

  /** Whether one of its keys may be a positive integer. */
  get hasIntegers(): boolean {
    return this.integers > 0;
  }

  /** The first pair behind a slot that has a value. */
  after(slot: number): readonly [LuaValue, LuaValue] | undefined {
    for (let at = slot + 1; at < this.keys.length; at++) {
      if (this.values[at] !== undefined) return [this.keys[at], this.values[at]];
    }
    return undefined;
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
    if (this.slots !== undefined) this.slots.set(key, slot);
    else if (slot >= COMPARED_MAX) this.hash();
    return true;
  }

  private writeAnew(): void {
    const { keys, values } = this;
    this.keys = [];
    this.values = [];
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
    for (let slot = 0; slot < this.keys.length; slot++) this.slots.set(this.keys[slot], slot);
  }
}

function isIndex(key: LuaValue): boolean {
  return typeof key === 'number' && key >= 1 && Number.isInteger(key);
}
