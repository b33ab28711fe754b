/** `struct`: values as the bytes of structures of C, and back. */
import { LuaError } from '../values/error.ts';
import { type Library, type Meter, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import {
  type Args,
  checkNumber,
  checkText,
  numberOf,
  optionalInteger,
  refuse,
} from './arguments.ts';
import { toUnsigned } from './integers.ts';
import { Pieces } from './pieces.ts';
import { INTEGERS, StructFormat, type StructItem } from './struct-format.ts';

function pack(given: Args, meter: Meter): readonly LuaValue[] {
  const format = readFormat(given, 'pack', meter);
  // One that is missing is nil, says Redis, not no value.
  const args = [...given, undefined];
  meter.steps(given.length);
  const pieces = new Pieces(meter);
  let position = 0;
  let argument = 2;
  for (;;) {
    const item = format.next(position);
    if (item === undefined) return [pieces.text()];
    const isValue = item.letter !== 'x' && /[a-z]/i.test(item.letter);
    pieces.add('\0'.repeat(item.padding));
    meter.steps(8);
    const packed = packItem(format, item, args, argument, meter);
    pieces.add(packed);
    position += item.padding + packed.length;
    if (isValue) argument++;
  }
}

function readFormat(args: Args, name: string, meter: Meter): StructFormat {
  const format = new StructFormat(checkText(args, 1, name, meter), name);
  meter.steps(format.length);
  return format;
}

function packItem(
  format: StructFormat,
  { letter, size }: StructItem,
  args: Args,
  argument: number,
  meter: Meter,
): string {
  if (INTEGERS.includes(letter)) {
    return integerBytes(checkNumber(args, argument, 'pack', meter), size, format.isLittle);
  }
  switch (letter) {
    case 'x':
      return '\0';
    case 'f':
    case 'd':
      return floatBytes(checkNumber(args, argument, 'pack', meter), size, format.isLittle);
    case 'c':
    case 's':
      return textBytes(letter, size, args, argument, meter);
    default:
      format.control(letter);
      return '';
  }
}

function textBytes(
  letter: string,
  size: number,
  args: Args,
  argument: number,
  meter: Meter,
): string {
  const text = checkText(args, argument, 'pack', meter);
  const length = size === 0 ? text.length : size;
  // Redis counts one too many.
  if (text.length < length) refuse(argument + 1, 'pack', 'string too short');
  return letter === 's' ? `${text}\0` : text.slice(0, length);
}

function integerBytes(n: number, size: number, isLittle: boolean): string {
  let bits = toUnsigned(n);
  const bytes: number[] = [];
  for (let at = 0; at < size; at++, bits >>= 8n) bytes.push(Number(bits & 255n));
  return ordered(Buffer.from(bytes), isLittle);
}

function floatBytes(n: number, size: number, isLittle: boolean): string {
  const bytes = Buffer.alloc(size);
  if (size === 4) bytes.writeFloatLE(n);
  else bytes.writeDoubleLE(n);
  return ordered(bytes, isLittle);
}

function ordered(little: Buffer, isLittle: boolean): string {
  return (isLittle ? little : little.reverse()).toString('latin1');
}

function unpack(args: Args, meter: Meter): readonly LuaValue[] {
  const format = readFormat(args, 'unpack', meter);
  const data = checkText(args, 2, 'unpack', meter);
  const first = optionalInteger(args, 3, 'unpack', meter, 1);
  if (first === 0) refuse(3, 'unpack', 'offset must be 1 or greater');
  if (first < 0) refuse(2, 'unpack', 'data string too short');
  let position = first - 1;
  const values: LuaValue[] = [];
  for (;;) {
    const item = format.next(position);
    if (item === undefined) return [...values, position + 1];
    position += item.padding;
    checkLeft(data, position, item.size);
    meter.steps(8);
    meter.bytes(16);
    position += unpackItem(format, item, data, position, values, meter);
  }
}

function checkLeft(data: string, position: number, size: number): void {
  if (position + size > data.length) refuse(2, 'unpack', 'data string too short');
}

/** Adds what it has read; how many bytes that was. */
function unpackItem(
  format: StructFormat,
  { letter, size }: StructItem,
  data: string,
  at: number,
  values: LuaValue[],
  meter: Meter,
): number {
  if (INTEGERS.includes(letter)) {
    const isSigned = letter === letter.toLowerCase();
    values.push(integerOf(piece(data, at, size, format.isLittle), isSigned));
    return size;
  }
  switch (letter) {
    case 'x':
      return size;
    case 'f':
      values.push(piece(data, at, size, format.isLittle).readFloatLE());
      return size;
    case 'd':
      values.push(piece(data, at, size, format.isLittle).readDoubleLE());
      return size;
    case 'c':
    case 's': {
      const text =
        letter === 's' ? terminated(data, at, meter) : counted(data, at, size, values, meter);
      meter.bytes(text.length);
      values.push(text);
      return letter === 's' ? text.length + 1 : text.length;
    }
    default:
      format.control(letter);
      return size;
  }
}

function piece(data: string, at: number, size: number, isLittle: boolean): Buffer {
  const bytes = Buffer.from(data.slice(at, at + size), 'latin1');
  return isLittle ? bytes : bytes.reverse();
}

/** Of more than eight bytes the last eight in their order count. */
function integerOf(little: Buffer, isSigned: boolean): number {
  let bits = 0n;
  for (let at = Math.min(little.length, 8) - 1; at >= 0; at--) {
    bits = (bits << 8n) | BigInt(little[at]!);
  }
  if (!isSigned) return Number(bits);
  const width = little.length === 0 || little.length > 8 ? 64 : little.length * 8;
  return Number(BigInt.asIntN(width, bits));
}

function terminated(data: string, at: number, meter: Meter): string {
  const end = data.indexOf('\0', at);
  meter.steps(Math.floor(((end < 0 ? data.length : end) - at) / 16));
  if (end < 0) throw new LuaError('unfinished string in data');
  return data.slice(at, end);
}

/** `c0`: as long as the number before it says, which is taken away. */
function counted(data: string, at: number, size: number, values: LuaValue[], meter: Meter): string {
  if (size > 0) return data.slice(at, at + size);
  const count = numberOf(values.at(-1), meter);
  if (count === undefined) throw new LuaError("format 'c0' needs a previous size");
  values.pop();
  const length = Number(toUnsigned(count));
  checkLeft(data, at, length);
  return data.slice(at, at + length);
}

function size(args: Args, meter: Meter): readonly LuaValue[] {
  const format = readFormat(args, 'size', meter);
  let position = 0;
  for (;;) {
    const item = format.next(position);
    if (item === undefined) return [position];
    const { letter } = item;
    position += item.padding + item.size;
    if (letter === 's') refuse(1, 'size', "option 's' has no fixed size");
    if (letter === 'c' && item.size === 0) refuse(1, 'size', "option 'c0' has no fixed size");
    if (!/[a-z0-9]/i.test(letter)) format.control(letter);
  }
}

export function structLibrary(): Library {
  return {
    pack: native('pack', pack),
    size: native('size', size),
    unpack: native('unpack', unpack),
  };
}
