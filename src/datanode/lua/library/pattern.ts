/**
 * Patterns of Lua 5.1, taken apart once. What is wrong with one is an item as well: Lua says so only when a
 * match comes to it.
 */
import type { Meter } from '../values/function.ts';
import { ANY, type ByteSet, classOf, isDigitCode, setOf } from './characters.ts';

export type PatternItem =
  /** One byte of the set, as often as `repeat` says. */
  | { readonly kind: 'one'; readonly set: ByteSet; readonly repeat: Repeat }
  | { readonly kind: 'open'; readonly isPosition: boolean }
  | { readonly kind: 'close' }
  /** `%b()` */
  | { readonly kind: 'balanced'; readonly open: number; readonly close: number }
  /** `%f[set]` */
  | { readonly kind: 'frontier'; readonly set: ByteSet }
  /** `%1`; what is captured under this index, counted from 0. */
  | { readonly kind: 'again'; readonly capture: number }
  /** `$` */
  | { readonly kind: 'last' }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly text: string };

/** '': just once; otherwise as it is written. */
export type Repeat = '' | '?' | '*' | '+' | '-';

const ESCAPE = 37;
const UNCLOSED = "malformed pattern (missing ']')";

/** Patterns that scripts use again and again; only whether one is there depends on what came before. */
const cache = new Map<string, readonly PatternItem[]>();
const CACHED_MAX = 256;
const CACHED_LENGTH_MAX = 256;

/** What the items of a long pattern take for each of its characters: one in three may begin a set. */
const CHARACTER_BYTES = 128;

/** Whoever asks charges the pattern's length in steps, each time. */
export function patternItems(pattern: string, meter: Meter): readonly PatternItem[] {
  // whether it is remembered or not: so it comes to the same on every replica
  if (pattern.length > CACHED_LENGTH_MAX) meter.bytes(pattern.length * CHARACTER_BYTES);
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const items = new PatternReader(pattern).read();
  if (pattern.length <= CACHED_LENGTH_MAX) {
    if (cache.size >= CACHED_MAX) cache.clear();
    cache.set(pattern, items);
  }
  return items;
}

class PatternReader {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  read(): PatternItem[] {
    const items: PatternItem[] = [];
    for (;;) {
      const item = this.#item();
      items.push(item);
      if (item.kind === 'end' || item.kind === 'error') return items;
    }
  }

  /** NaN at the end. */
  #code(ahead = 0): number {
    return this.#pattern.charCodeAt(this.#at + ahead);
  }

  #item(): PatternItem {
    switch (this.#pattern[this.#at]) {
      case undefined:
        return { kind: 'end' };
      case '(':
        return this.#open();
      case ')':
        this.#at++;
        return { kind: 'close' };
      case '%':
        return this.#escaped();
      case '$':
        if (this.#at + 1 < this.#pattern.length) return this.#one();
        this.#at++;
        return { kind: 'last' };
      default:
        return this.#one();
    }
  }

  #open(): PatternItem {
    const isPosition = this.#pattern[this.#at + 1] === ')';
    this.#at += isPosition ? 2 : 1;
    return { kind: 'open', isPosition };
  }

  #escaped(): PatternItem {
    const letter = this.#pattern[this.#at + 1];
    if (letter === 'b') return this.#balanced();
    if (letter === 'f') return this.#frontier();
    const code = this.#code(1);
    if (!isDigitCode(code)) return this.#one();
    this.#at += 2;
    return { kind: 'again', capture: code - 49 };
  }

  #balanced(): PatternItem {
    if (this.#at + 3 >= this.#pattern.length) return { kind: 'error', text: 'unbalanced pattern' };
    const [open, close] = [this.#code(2), this.#code(3)];
    this.#at += 4;
    return { kind: 'balanced', open, close };
  }

  #frontier(): PatternItem {
    this.#at += 2;
    if (this.#pattern[this.#at] !== '[') {
      return { kind: 'error', text: "missing '[' after '%f' in pattern" };
    }
    const set = this.#bracketed();
    return set === undefined ? { kind: 'error', text: UNCLOSED } : { kind: 'frontier', set };
  }

  #one(): PatternItem {
    const set = this.#set();
    if (typeof set === 'string') return { kind: 'error', text: set };
    const repeat = this.#pattern[this.#at] ?? '';
    if (repeat === '' || !'?*+-'.includes(repeat)) return { kind: 'one', set, repeat: '' };
    this.#at++;
    return { kind: 'one', set, repeat: repeat as Repeat };
  }

  /** Which bytes the item at hand stands for, or what is wrong with it. */
  #set(): ByteSet | string {
    const code = this.#code();
    if (code === ESCAPE) {
      const letter = this.#code(1);
      if (Number.isNaN(letter)) return "malformed pattern (ends with '%')";
      this.#at += 2;
      return classOf(letter) ?? only(letter);
    }
    if (this.#pattern[this.#at] === '[') return this.#bracketed() ?? UNCLOSED;
    this.#at++;
    return this.#pattern[this.#at - 1] === '.' ? ANY : only(code);
  }

  /** From `[` to behind its `]`; undefined where there is none. */
  #bracketed(): ByteSet | undefined {
    let at = this.#at + 1;
    const isOther = this.#pattern[at] === '^';
    if (isOther) at++;
    const start = at;
    // The first may be a `]` that does not close.
    do {
      const code = this.#pattern.charCodeAt(at++);
      if (Number.isNaN(code)) return undefined;
      if (code === ESCAPE && at < this.#pattern.length) at++;
    } while (this.#pattern[at] !== ']');
    this.#at = at + 1;
    const members = this.#members(start, at);
    return isOther ? setOf((code) => members[code] === 0) : members;
  }

  #members(start: number, end: number): ByteSet {
    const pattern = this.#pattern;
    const set = new Uint8Array(256);
    for (let at = start; at < end; at++) {
      const code = pattern.charCodeAt(at);
      if (code === ESCAPE) {
        at++;
        const letter = pattern.charCodeAt(at);
        const members = classOf(letter);
        if (members === undefined) set[letter] = 1;
        else for (let each = 0; each < 256; each++) set[each]! |= members[each]!;
      } else if (pattern[at + 1] === '-' && at + 2 < end) {
        at += 2;
        // Where the second is the smaller one, there is nothing in between.
        set.fill(1, code, Math.max(code, pattern.charCodeAt(at) + 1));
      } else {
        set[code] = 1;
      }
    }
    return set;
  }
}

/** Made once: a pattern of many letters would take 300 bytes for each. */
const singles: readonly ByteSet[] = Array.from({ length: 256 }, (_, code) => {
  const set = new Uint8Array(256);
  set[code] = 1;
  return set;
});

function only(code: number): ByteSet {
  return singles[code]!;
}
