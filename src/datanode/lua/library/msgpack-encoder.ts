/** `cmsgpack.pack`. */
import type { Meter } from '../values/function.ts';
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import { Pieces } from './pieces.ts';

/** A table so far within others is packed as nil. */
const NESTING_MAX = 16;

const cell = Buffer.alloc(9);

export class MsgpackEncoder {
  readonly #meter: Meter;
  readonly #pieces: Pieces;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#pieces = new Pieces(meter);
  }

  text(): string {
    return this.#pieces.text();
  }

  /** Of tables this calls itself, up to the limit. */
  add(value: LuaValue, level = 0): void {
    this.#meter.steps(4);
    switch (typeof value) {
      case 'string':
        this.#string(value);
        return;
      case 'boolean':
        this.#byte(value ? 0xc3 : 0xc2);
        return;
      case 'number':
        this.#pieces.add(numberBytes(value));
        return;
      default:
        if (value instanceof LuaTable && level < NESTING_MAX) this.#table(value, level);
        else this.#byte(0xc0);
    }
  }

  #byte(code: number): void {
    this.#pieces.add(String.fromCharCode(code));
  }

  #string(text: string): void {
    this.#meter.steps(Math.floor(text.length / 16));
    const { length } = text;
    if (length < 32) this.#byte(0xa0 | length);
    else if (length <= 0xff) this.#pieces.add(sized(0xd9, length, 1));
    else this.#sized(0xda, length);
    this.#pieces.add(text);
  }

  #table(table: LuaTable, level: number): void {
    const count = this.#count(table);
    if (count.isList) {
      this.#start(0x90, 0xdc, count.pairs);
      for (let at = 1; at <= count.pairs; at++) this.add(table.get(at), level + 1);
      return;
    }
    this.#start(0x80, 0xde, count.pairs);
    for (
      let pair = table.next(undefined, this.#meter);
      pair !== undefined;
      pair = table.next(pair[0], this.#meter)
    ) {
      this.add(pair[0], level + 1);
      this.add(pair[1], level + 1);
    }
  }

  /** A list: the keys 1, 2, 3, … and no other, also none at all. */
  #count(table: LuaTable): { readonly pairs: number; readonly isList: boolean } {
    let pairs = 0;
    let most = 0;
    let isList = true;
    for (
      let pair = table.next(undefined, this.#meter);
      pair !== undefined;
      pair = table.next(pair[0], this.#meter)
    ) {
      this.#meter.steps(1);
      const [key] = pair;
      pairs++;
      if (typeof key !== 'number' || key <= 0 || !Number.isInteger(key)) isList = false;
      else if (key > most) most = key;
    }
    return { pairs, isList: isList && most === pairs };
  }

  #start(short: number, long: number, count: number): void {
    if (count < 16) this.#byte(short | count);
    else this.#sized(long, count);
  }

  /** With two bytes, or four under the next code. */
  #sized(code: number, size: number): void {
    this.#pieces.add(size <= 0xffff ? sized(code, size, 2) : sized(code + 1, size, 4));
  }
}

function sized(code: number, size: number, bytes: number): string {
  cell[0] = code;
  cell.writeUIntBE(size, 1, bytes);
  return cell.toString('latin1', 0, bytes + 1);
}

function numberBytes(n: number): string {
  if (Number.isInteger(n) && n >= -(2 ** 63) && n < 2 ** 63) return integerBytes(n);
  if (Math.fround(n) === n) {
    cell[0] = 0xca;
    cell.writeFloatBE(n, 1);
    return cell.toString('latin1', 0, 5);
  }
  cell[0] = 0xcb;
  cell.writeDoubleBE(n, 1);
  return cell.toString('latin1', 0, 9);
}

function integerBytes(n: number): string {
  if (n >= -32 && n <= 127) return String.fromCharCode(n & 0xff);
  if (n >= 0) {
    if (n <= 0xff) return sized(0xcc, n, 1);
    if (n <= 0xffff) return sized(0xcd, n, 2);
    if (n <= 0xffffffff) return sized(0xce, n, 4);
    return ofEight(0xcf, BigInt(n));
  }
  if (n >= -(2 ** 7)) return sized(0xd0, n & 0xff, 1);
  if (n >= -(2 ** 15)) return sized(0xd1, n & 0xffff, 2);
  if (n >= -(2 ** 31)) return sized(0xd2, n >>> 0, 4);
  return ofEight(0xd3, BigInt.asUintN(64, BigInt(n)));
}

function ofEight(code: number, bits: bigint): string {
  cell[0] = code;
  cell.writeBigUInt64BE(bits, 1);
  return cell.toString('latin1', 0, 9);
}
