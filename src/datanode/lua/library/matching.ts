/**
 * Matches a pattern by going on with the next item and coming back to where there was a choice, as Lua
 * does; on a stack of its own, so that no pattern is too deep. There are patterns that come back for
 * ever: every item that is tried and every byte that is looked at is a step.
 */
import { LuaError } from '../values/error.ts';
import type { Meter } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import type { ByteSet } from './characters.ts';
import { type PatternItem, patternItems } from './pattern.ts';

const CAPTURES_MAX = 32;
const UNFINISHED = -1;
const POSITION = -2;

/** Steps are told to the meter in portions, since a call for each would cost more than the step. */
const PORTION = 256;

/** Of handing on a match that was found. */
export const MATCH_STEPS = 4;

/** A choice or what has to be undone: three numbers on the stack, of which the last says what it is. */
const TRY_WITHOUT = 0;
const TRY_FEWER = 1;
const TRY_MORE = 2;
const UNDO_OPEN = 3;
const UNDO_CLOSE = 4;

const NO_MATCH = -1;

export class Matcher {
  readonly #text: string;
  readonly #items: readonly PatternItem[];
  readonly #meter: Meter;
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];
  #stack: number[] = [];
  #steps = 0;

  /** The pattern ends with its first zero byte, as in C. */
  constructor(text: string, pattern: string, meter: Meter) {
    const zero = pattern.indexOf('\0');
    const whole = zero < 0 ? pattern : pattern.slice(0, zero);
    meter.steps(whole.length);
    this.#text = text;
    this.#items = patternItems(whole, meter);
    this.#meter = meter;
  }

  /** Where a match that begins at `start` ends; −1: there is none. */
  match(start: number): number {
    this.#starts.length = 0;
    this.#lengths.length = 0;
    this.#stack.length = 0;
    return this.#run(start);
  }

  /** The first match that begins at `start` or behind it. */
  search(start: number, isAnchored: boolean): readonly [number, number] | undefined {
    const last = isAnchored ? start : this.#text.length;
    for (let at = start; at <= last; at++) {
      const end = this.match(at);
      if (end !== NO_MATCH) return [at, end];
    }
    return undefined;
  }

  /** To be called when a function of the library is through: what is left of a portion. */
  settle(): void {
    this.#meter.steps(this.#steps);
    this.#steps = 0;
  }

  get captureCount(): number {
    return this.#starts.length;
  }

  /** `start` and `end`: of the match, which is the first capture where there is no other. */
  capture(index: number, start: number, end: number): string | number {
    if (index >= this.#starts.length) {
      if (index !== 0) throw new LuaError('invalid capture index');
      return this.#piece(start, end);
    }
    const length = this.#lengths[index]!;
    if (length === UNFINISHED) throw new LuaError('unfinished capture');
    const from = this.#starts[index]!;
    return length === POSITION ? from + 1 : this.#piece(from, from + length);
  }

  captures(start: number, end: number): LuaValue[] {
    const all: LuaValue[] = [];
    const count = Math.max(this.#starts.length, 1);
    for (let index = 0; index < count; index++) all.push(this.capture(index, start, end));
    return all;
  }

  #piece(start: number, end: number): string {
    this.#meter.bytes(end - start);
    return this.#text.slice(start, end);
  }

  #step(): void {
    if (++this.#steps === PORTION) this.settle();
  }

  #run(start: number): number {
    let at = start;
    let index = 0;
    for (;;) {
      this.#step();
      const item = this.#items[index]!;
      if (item.kind === 'end') return at;
      at = item.kind === 'one' ? this.#one(item, at, index) : this.#other(item, at);
      index++;
      if (at !== NO_MATCH) continue;
      const resumed = this.#back();
      if (resumed === undefined) return NO_MATCH;
      [at, index] = resumed;
    }
  }

  #one(item: PatternItem & { kind: 'one' }, at: number, index: number): number {
    const { set } = item;
    const isMember = at < this.#text.length && set[this.#text.charCodeAt(at)] === 1;
    switch (item.repeat) {
      case '':
        return isMember ? at + 1 : NO_MATCH;
      case '?':
        if (!isMember) return at;
        this.#stack.push(at, index, TRY_WITHOUT);
        return at + 1;
      case '*':
        return this.#most(set, at, index, at);
      case '+':
        return isMember ? this.#most(set, at, index, at + 1) : NO_MATCH;
      case '-':
        this.#stack.push(at, index, TRY_MORE);
        return at;
    }
  }

  /** As many as there are; `least`: where the fewest that will do end. */
  #most(set: ByteSet, at: number, index: number, least: number): number {
    let end = at;
    while (end < this.#text.length && set[this.#text.charCodeAt(end)] === 1) {
      end++;
      this.#step();
    }
    if (end > least) this.#stack.push(least, end, index, TRY_FEWER);
    return end;
  }

  #other(item: Exclude<PatternItem, { kind: 'one' | 'end' }>, at: number): number {
    switch (item.kind) {
      case 'open':
        return this.#open(at, item.isPosition);
      case 'close':
        return this.#close(at);
      case 'balanced':
        return this.#balanced(at, item.open, item.close);
      case 'frontier': {
        const before = at === 0 ? 0 : this.#text.charCodeAt(at - 1);
        const here = at === this.#text.length ? 0 : this.#text.charCodeAt(at);
        return item.set[before] === 0 && item.set[here] === 1 ? at : NO_MATCH;
      }
      case 'again':
        return this.#again(at, item.capture);
      case 'last':
        return at === this.#text.length ? at : NO_MATCH;
      case 'error':
        throw new LuaError(item.text);
    }
  }

  #open(at: number, isPosition: boolean): number {
    if (this.#starts.length >= CAPTURES_MAX) throw new LuaError('too many captures');
    this.#starts.push(at);
    this.#lengths.push(isPosition ? POSITION : UNFINISHED);
    this.#stack.push(UNDO_OPEN);
    return at;
  }

  #close(at: number): number {
    const capture = this.#lengths.lastIndexOf(UNFINISHED);
    if (capture < 0) throw new LuaError('invalid pattern capture');
    this.#lengths[capture] = at - this.#starts[capture]!;
    this.#stack.push(capture, UNDO_CLOSE);
    return at;
  }

  #balanced(at: number, open: number, close: number): number {
    const text = this.#text;
    if (at >= text.length || text.charCodeAt(at) !== open) return NO_MATCH;
    let depth = 1;
    for (let end = at + 1; end < text.length; end++) {
      this.#step();
      const code = text.charCodeAt(end);
      if (code === close) {
        if (--depth === 0) return end + 1;
      } else if (code === open) depth++;
    }
    return NO_MATCH;
  }

  #again(at: number, capture: number): number {
    const length = this.#lengths[capture];
    if (length === undefined || length === UNFINISHED) {
      throw new LuaError('invalid capture index');
    }
    if (length === POSITION || this.#text.length - at < length) return NO_MATCH;
    this.#meter.steps(Math.floor(length / 16));
    const from = this.#starts[capture]!;
    const isSame = this.#text.slice(from, from + length) === this.#text.slice(at, at + length);
    return isSame ? at + length : NO_MATCH;
  }

  /** To the last choice that has something left: where it goes on, with which item. */
  #back(): readonly [number, number] | undefined {
    const stack = this.#stack;
    for (;;) {
      const kind = stack.pop();
      this.#step();
      switch (kind) {
        case undefined:
          return undefined;
        case UNDO_OPEN:
          this.#starts.pop();
          this.#lengths.pop();
          break;
        case UNDO_CLOSE:
          this.#lengths[stack.pop()!] = UNFINISHED;
          break;
        case TRY_WITHOUT: {
          const index = stack.pop()!;
          return [stack.pop()!, index + 1];
        }
        case TRY_FEWER:
          return this.#fewer();
        default: {
          const resumed = this.#more();
          if (resumed !== undefined) return resumed;
        }
      }
    }
  }

  #fewer(): readonly [number, number] {
    const stack = this.#stack;
    const index = stack.pop()!;
    const end = stack.pop()! - 1;
    const least = stack.pop()!;
    if (end > least) stack.push(least, end, index, TRY_FEWER);
    return [end, index + 1];
  }

  #more(): readonly [number, number] | undefined {
    const stack = this.#stack;
    const index = stack.pop()!;
    const at = stack.pop()!;
    const item = this.#items[index]!;
    const isMember =
      item.kind === 'one' && at < this.#text.length && item.set[this.#text.charCodeAt(at)] === 1;
    if (!isMember) return undefined;
    stack.push(at + 1, index, TRY_MORE);
    return [at + 1, index + 1];
  }
}
