/** `bit`: LuaBitOp, whose numbers have 32 bits and a sign. */
import { type Library, type Meter, type NativeFunction, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import { type Args, checkNumber, numberOf } from './arguments.ts';

const cell = new DataView(new ArrayBuffer(8));

/** With it added, the lower half of a double is the whole number next to it, even where two are. */
const ALIGNED = 2 ** 52 + 2 ** 51;

function bits(args: Args, at: number, name: string, meter: Meter): number {
  const n = numberOf(args[at - 1], meter) ?? checkNumber(args, at, name, meter);
  cell.setFloat64(0, n + ALIGNED);
  return cell.getInt32(4);
}

function ofOne(name: string, run: (bits: number) => number): NativeFunction {
  return native(name, (args, meter) => [run(bits(args, 1, name, meter)) | 0]);
}

function ofAll(name: string, run: (a: number, b: number) => number): NativeFunction {
  return native(name, (args, meter) => {
    meter.steps(args.length);
    let result = bits(args, 1, name, meter);
    for (let at = args.length; at > 1; at--) result = run(result, bits(args, at, name, meter));
    return [result | 0];
  });
}

function shift(name: string, run: (bits: number, by: number) => number): NativeFunction {
  return native(name, (args, meter) => {
    const value = bits(args, 1, name, meter);
    return [run(value, bits(args, 2, name, meter) & 31) | 0];
  });
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> ((32 - by) & 31));
}

function swapped(value: number): number {
  cell.setInt32(0, value);
  return cell.getInt32(0, true);
}

/** So many digits, from the last; in upper case where the count is negative. */
function tohex(args: Args, meter: Meter): readonly LuaValue[] {
  const value = bits(args, 1, 'tohex', meter);
  const count = args.length < 2 ? 8 : bits(args, 2, 'tohex', meter);
  const digits = (value >>> 0).toString(16).padStart(8, '0');
  const shown = Math.abs(count) >= 8 ? digits : digits.slice(8 - Math.abs(count));
  return [count < 0 ? shown.toUpperCase() : shown];
}

export function bitLibrary(): Library {
  return {
    arshift: shift('arshift', (value, by) => value >> by),
    band: ofAll('band', (a, b) => a & b),
    bnot: ofOne('bnot', (value) => ~value),
    bor: ofAll('bor', (a, b) => a | b),
    bswap: ofOne('bswap', swapped),
    bxor: ofAll('bxor', (a, b) => a ^ b),
    lshift: shift('lshift', (value, by) => value << by),
    rol: shift('rol', rotated),
    ror: shift('ror', (value, by) => rotated(value, (32 - by) & 31)),
    rshift: shift('rshift', (value, by) => value >>> by),
    tobit: ofOne('tobit', (value) => value),
    tohex: native('tohex', tohex),
  };
}
