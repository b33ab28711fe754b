/**
 * JSON text (RFC 8259) as a document. Without recursion, so that others may have their turn in the midst of a large
 * one, and with what the standard leaves open as RedisJSON has it: of equal names the last one counts, in the place of the
 * first, and no more than 127 containers lie in each other.
 */
import { isUtf8 } from 'node:buffer';
import { limits } from '../../../common/limits.ts';
import type { Slices } from '../steps/slices.ts';
import { jsonNumber } from './json-number.ts';
import { DEPTH_MAX, type Json, type JsonContainer, JsonError, Strides } from './json-value.ts';

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
/** What of a string needs no look at each character. */
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPES = '"\\/bfnrt';
const [QUOTE, BACKSLASH, SPACE_CODE] = [0x22, 0x5c, 0x20];
const words: readonly (readonly [string, Json])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
];
/** A container that is not closed yet; of an object, the name whose value comes. */
interface Open {
  readonly container: JsonContainer;
  name: string;
}

/** Throws JsonError, which says where. */
export function* parseJson(bytes: Buffer): Slices<Json> {
  if (!isUtf8(bytes)) throw new JsonError('invalid UTF-8');
  const reader = new JsonReader(bytes.toString('utf8'));
  const strides = new Strides();
  const open: Open[] = [];
  for (;;) {
    if (strides.isDue) yield* strides.rest();
    const value = reader.begin(open);
    if (value === undefined) continue;
    const whole = reader.close(open, value);
    if (whole !== undefined) return whole;
  }
}

class JsonReader {
  readonly #text: string;
  #at = 0;
  #count = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The value that begins here; undefined: a container that has something in it was opened. */
  begin(open: Open[]): Json | undefined {
    if (++this.#count > limits.jsonValuesMax) {
      throw new JsonError(`the document has more than ${limits.jsonValuesMax} values`);
    }
    const first = this.#next();
    if (first !== '{' && first !== '[') return this.#scalar(first);
    this.#at++;
    const container: JsonContainer = first === '[' ? [] : new Map();
    const inner = this.#next();
    if (inner === (first === '[' ? ']' : '}')) {
      this.#at++;
      return container;
    }
    if (open.length === DEPTH_MAX) throw this.#wrong('recursion limit exceeded');
    open.push({ container, name: first === '{' ? this.#nameHere() : '' });
    return undefined;
  }

  /** Puts `value` where it belongs, and closes what ends behind it; the document, when that was all. */
  close(open: Open[], value: Json): Json | undefined {
    let done = value;
    for (;;) {
      const last = open.at(-1);
      if (last === undefined) {
        if (this.#next() !== '') throw this.#wrong('trailing characters');
        return done;
      }
      const isArray = Array.isArray(last.container);
      if (Array.isArray(last.container)) last.container.push(done);
      else last.container.set(last.name, done);
      const mark = this.#next();
      if (mark === ',') {
        this.#at++;
        if (!isArray) last.name = this.#nameHere();
        return undefined;
      }
      if (mark !== (isArray ? ']' : '}'))
        throw this.#expected(isArray ? '`,` or `]`' : '`,` or `}`');
      this.#at++;
      open.pop();
      done = last.container;
    }
  }

  /** The next character that is no space; empty: the text ends. */
  #next(): string {
    this.#match(SPACE);
    return this.#text.charAt(this.#at);
  }

  #nameHere(): string {
    if (this.#next() !== '"') throw this.#expected('a name');
    const name = this.#string();
    if (this.#next() !== ':') throw this.#expected('`:`');
    this.#at++;
    return name;
  }

  #scalar(first: string): Json {
    if (first === '"') return this.#string();
    for (const [word, value] of words) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    const digits = this.#match(NUMBER);
    if (digits === '') throw this.#expected('value');
    const number = jsonNumber(digits);
    if (number === undefined) throw this.#wrong('number out of range');
    return number;
  }

  #string(): string {
    const begin = this.#at++;
    const plain = this.#match(PLAIN);
    if (this.#text.charAt(this.#at) === '"') {
      this.#at++;
      return plain;
    }
    this.#passEscaped();
    // millions of escapes, put together one by one, would be seconds
    return JSON.parse(this.#text.slice(begin, this.#at)) as string;
  }

  /** To the end of a string, with its quote. Throws where JSON.parse would, and for half a pair of surrogates. */
  #passEscaped(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === BACKSLASH) {
        this.#passEscape();
      } else if (code >= SPACE_CODE) {
        this.#at++;
        if (code === QUOTE) return;
      } else {
        throw this.#wrong(
          Number.isNaN(code) ? 'EOF while parsing a string' : 'control character in a string',
        );
      }
    }
  }

  #passEscape(): void {
    const letter = this.#text.charAt(this.#at + 1);
    this.#at += 2;
    if (letter !== 'u') {
      if (letter === '' || !ESCAPES.includes(letter)) throw this.#wrong('invalid escape');
      return;
    }
    const unit = this.#unit();
    if (unit < 0xd800 || unit > 0xdfff) return;
    const isPair = unit < 0xdc00 && this.#text.startsWith('\\u', this.#at);
    if (!isPair) throw this.#wrong('lone surrogate in a string');
    this.#at += 2;
    const second = this.#unit();
    if (second < 0xdc00 || second > 0xdfff) throw this.#wrong('lone surrogate in a string');
  }

  /** Four digits. */
  #unit(): number {
    let unit = 0;
    for (let at = this.#at; at < this.#at + 4; at++) {
      const digit = hexDigit(this.#text.charCodeAt(at));
      if (digit === undefined) throw this.#wrong('invalid escape');
      unit = unit * 16 + digit;
    }
    this.#at += 4;
    return unit;
  }

  /** What `form` matches from here on; it is passed. */
  #match(form: RegExp): string {
    form.lastIndex = this.#at;
    const found = form.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #expected(what: string): JsonError {
    const isOver = this.#at >= this.#text.length;
    return this.#wrong(isOver ? 'EOF while parsing a value' : `expected ${what}`);
  }

  #wrong(what: string): JsonError {
    const before = this.#text.slice(0, this.#at);
    const line = before.split('\n').length;
    const column = this.#at - before.lastIndexOf('\n');
    return new JsonError(`${what} at line ${line} column ${column}`);
  }
}

function hexDigit(code: number): number | undefined {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined;
}
