/** `string`, but for what has to do with patterns. */
import { LuaError } from '../values/error.ts';
import { type Library, type Meter, type NativeFunction, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import {
  type Args,
  checkFunction,
  checkInt,
  checkInteger,
  checkText,
  optionalInteger,
  refuse,
} from './arguments.ts';
import { format } from './format.ts';
import { find, gmatch, match } from './searching.ts';
import { position } from './string-position.ts';
import { gsub } from './substitution.ts';

/** Values that one call may answer: as many as Lua's stack takes. */
const RESULTS_MAX = 7_990;

function byte(args: Args, meter: Meter): readonly LuaValue[] {
  const text = checkText(args, 1, 'byte', meter);
  const first = position(optionalInteger(args, 2, 'byte', meter, 1), text.length);
  const last = position(optionalInteger(args, 3, 'byte', meter, first), text.length);
  const start = Math.max(first, 1);
  const end = Math.min(last, text.length);
  if (start > end) return [];
  if (end - start >= RESULTS_MAX) {
    throw new LuaError('stack overflow (string slice too long)');
  }
  meter.steps(end - start);
  const codes: LuaValue[] = [];
  for (let at = start; at <= end; at++) codes.push(text.charCodeAt(at - 1));
  return codes;
}

function char(args: Args, meter: Meter): readonly LuaValue[] {
  meter.steps(args.length);
  meter.bytes(args.length);
  const codes = args.map((_, at) => {
    const code = checkInt(args, at + 1, 'char', meter);
    return (code & 0xff) === code ? code : refuse(at + 1, 'char', 'invalid value');
  });
  return [Buffer.from(codes).toString('latin1')];
}

/** Functions of scripts have no other form than their source. */
function dump(args: Args): readonly LuaValue[] {
  checkFunction(args, 1, 'dump');
  throw new LuaError('unable to dump given function');
}

function len(args: Args, meter: Meter): readonly LuaValue[] {
  return [checkText(args, 1, 'len', meter).length];
}

function rep(args: Args, meter: Meter): readonly LuaValue[] {
  const text = checkText(args, 1, 'rep', meter);
  const count = checkInt(args, 2, 'rep', meter);
  if (count <= 0 || text === '') return [''];
  charge(meter, text.length * count);
  return [flat(text.repeat(count))];
}

/**
 * V8 keeps a string that was repeated as a tree and copies it when it is first looked into: that is done
 * here, where it has been charged.
 */
function flat(text: string): string {
  return text.length < 32 ? text : Buffer.from(text, 'latin1').toString('latin1');
}

function sub(args: Args, meter: Meter): readonly LuaValue[] {
  const text = checkText(args, 1, 'sub', meter);
  const start = Math.max(position(checkInteger(args, 2, 'sub', meter), text.length), 1);
  const last = position(optionalInteger(args, 3, 'sub', meter, -1), text.length);
  const end = Math.min(last, text.length);
  if (start > end) return [''];
  charge(meter, end - start + 1);
  return [text.slice(start - 1, end)];
}

/** For every byte what becomes of it, and the whole text in the other order where that is asked for. */
function mapped(name: string, map: (bytes: Buffer) => void): NativeFunction {
  return native(name, (args, meter) => {
    const text = checkText(args, 1, name, meter);
    charge(meter, text.length);
    const bytes = Buffer.from(text, 'latin1');
    map(bytes);
    return [bytes.toString('latin1')];
  });
}

function charge(meter: Meter, length: number): void {
  meter.bytes(length);
  // Copied in blocks: far less than a step for each.
  meter.steps(Math.floor(length / 16));
}

/** Only ASCII has cases, as in C's own locale. */
function shift(bytes: Buffer, first: number, last: number, by: number): void {
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (code >= first && code <= last) bytes[at] = code + by;
  }
}

export function stringLibrary(): Library {
  const walk = native('gmatch', gmatch);
  return {
    byte: native('byte', byte),
    char: native('char', char),
    dump: native('dump', dump),
    find: native('find', find),
    format: native('format', format),
    gfind: walk,
    gmatch: walk,
    gsub: native('gsub', gsub),
    len: native('len', len),
    lower: mapped('lower', (bytes) => shift(bytes, 65, 90, 32)),
    match: native('match', match),
    rep: native('rep', rep),
    reverse: mapped('reverse', (bytes) => bytes.reverse()),
    sub: native('sub', sub),
    upper: mapped('upper', (bytes) => shift(bytes, 97, 122, -32)),
  };
}
