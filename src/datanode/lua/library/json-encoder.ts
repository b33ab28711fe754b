/** `cjson.encode`. Tables within tables wait on a list, not on the stack of JavaScript. */
import { generalDecimal } from '../values/decimal.ts';
import { LuaError } from '../values/error.ts';
import type { Meter } from '../values/function.ts';
import { unusualText } from '../values/numbers.ts';
import { LuaTable } from '../values/table.ts';
import { NULL } from '../values/userdata.ts';
import { type LuaValue, typeName } from '../values/value.ts';
import type { JsonSettings } from './json-settings.ts';
import { FRACTION_STEPS, numberText } from './number-text.ts';
import { Pieces } from './pieces.ts';

/** A table of which a part is written. */
interface Open {
  readonly table: LuaTable;
  /** Of a list; undefined: an object. */
  readonly length: number | undefined;
  /** The last index or key that was written. */
  at: LuaValue;
}

const OPEN_BYTES = 64;
const INT_MAX = 2 ** 31 - 1;

export class JsonEncoder {
  readonly #settings: JsonSettings;
  readonly #meter: Meter;
  readonly #pieces: Pieces;
  readonly #open: Open[] = [];

  constructor(settings: JsonSettings, meter: Meter) {
    this.#settings = settings;
    this.#meter = meter;
    this.#pieces = new Pieces(meter);
  }

  encode(value: LuaValue): string {
    this.#write(value);
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      this.#meter.steps(2);
      if (open.length === undefined) this.#nextPair(open);
      else this.#nextItem(open, open.length);
    }
    return this.#pieces.text();
  }

  #write(value: LuaValue): void {
    switch (typeof value) {
      case 'string':
        return this.#string(value);
      case 'number':
        return this.#pieces.add(this.#number(value));
      case 'boolean':
        return this.#pieces.add(value ? 'true' : 'false');
      case 'undefined':
        return this.#pieces.add('null');
      default:
        if (value === NULL) return this.#pieces.add('null');
        if (value instanceof LuaTable) return this.#begin(value);
        refuse(value, 'type not supported');
    }
  }

  #begin(table: LuaTable): void {
    const depth = this.#open.length + 1;
    if (depth > this.#settings.encodeDepthMax) {
      throw new LuaError(`Cannot serialise, excessive nesting (${depth})`);
    }
    this.#meter.bytes(OPEN_BYTES);
    const length = this.#listLength(table);
    this.#pieces.add(length === undefined ? '{' : '[');
    this.#open.push({ table, length, at: length === undefined ? undefined : 0 });
  }

  #nextItem(open: Open, length: number): void {
    const at = (open.at as number) + 1;
    if (at > length) {
      this.#open.pop();
      return this.#pieces.add(']');
    }
    if (at > 1) this.#pieces.add(',');
    open.at = at;
    this.#write(open.table.get(at));
  }

  #nextPair(open: Open): void {
    const pair = open.table.next(open.at, this.#meter);
    if (pair === undefined) {
      this.#open.pop();
      return this.#pieces.add('}');
    }
    if (open.at !== undefined) this.#pieces.add(',');
    open.at = pair[0];
    this.#key(pair[0]);
    this.#write(pair[1]);
  }

  #key(key: LuaValue): void {
    if (typeof key === 'string') {
      this.#string(key);
      this.#pieces.add(':');
    } else if (typeof key === 'number') this.#pieces.add(`"${this.#number(key)}":`);
    else refuse(key, 'table key must be a number or string');
  }

  /** Undefined: an object, as an empty table is, and one with any key but 1, 2, 3, … */
  #listLength(table: LuaTable): number | undefined {
    let most = 0;
    let count = 0;
    for (
      let pair = table.next(undefined, this.#meter);
      pair !== undefined;
      pair = table.next(pair[0], this.#meter)
    ) {
      this.#meter.steps(1);
      const [key] = pair;
      if (typeof key !== 'number' || key < 1 || !Number.isInteger(key)) return undefined;
      // Kept in 32 bits, where what does not fit is the smallest.
      if (key > most) most = key > INT_MAX ? -INT_MAX - 1 : key;
      count++;
    }
    if (this.#isSparse(most, count)) {
      if (!this.#settings.sparseIsObject) refuse(table, 'excessively sparse array');
      return undefined;
    }
    return most > 0 ? most : undefined;
  }

  #isSparse(most: number, count: number): boolean {
    const { sparseRatio, sparseSafe } = this.#settings;
    return sparseRatio > 0 && most > count * sparseRatio && most > sparseSafe;
  }

  #number(n: number): string {
    const { encodeInvalid, precision } = this.#settings;
    if (!Number.isFinite(n)) {
      if (encodeInvalid === 0) refuse(n, 'must not be NaN or Inf');
      if (encodeInvalid === 2) return 'null';
      return Number.isNaN(n) ? 'nan' : unusualText(n);
    }
    if (precision === 14) return numberText(n, this.#meter);
    this.#meter.steps(FRACTION_STEPS);
    const sign = n < 0 || Object.is(n, -0) ? '-' : '';
    return sign + generalDecimal(Math.abs(n), precision);
  }

  #string(text: string): void {
    this.#meter.steps(Math.floor(text.length / 8));
    this.#pieces.add('"');
    if (ESCAPED.test(text)) {
      // Before it is made: each byte may become six.
      this.#meter.bytes(text.length * 5);
      this.#meter.steps(text.length);
      this.#pieces.add(escaped(text));
    } else this.#pieces.add(text);
    this.#pieces.add('"');
  }
}

function refuse(value: LuaValue, reason: string): never {
  throw new LuaError(`Cannot serialise ${typeName(value)}: ${reason}`);
}

/** Control characters, `"`, `/` and the backslash: all but what is listed. */
const ESCAPED = /[^ !#-.0-[\]-~\u0080-\u00ff]/;

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
};

/** What is written for each byte. */
const written: readonly Buffer[] = Array.from({ length: 256 }, (_, code) => {
  const byte = String.fromCharCode(code);
  const long = `\\u${code.toString(16).padStart(4, '0')}`;
  return Buffer.from(ESCAPED.test(byte) ? (SHORT[byte] ?? long) : byte, 'latin1');
});

function escaped(text: string): string {
  const made = Buffer.allocUnsafe(text.length * 6);
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const bytes = written[text.charCodeAt(at)]!;
    for (let each = 0; each < bytes.length; each++) made[end++] = bytes[each]!;
  }
  return made.toString('latin1', 0, end);
}
