/** `cmsgpack`: lua-cmsgpack 0.4. */
import { LuaError } from '../values/error.ts';
import { type Library, type Meter, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import { type Args, checkInteger, checkText, optionalInteger, refuse } from './arguments.ts';
import { MsgpackDecoder } from './msgpack-decoder.ts';
import { MsgpackEncoder } from './msgpack-encoder.ts';

function pack(args: Args, meter: Meter): readonly LuaValue[] {
  if (args.length === 0) refuse(0, 'pack', 'MessagePack pack needs input.');
  const encoder = new MsgpackEncoder(meter);
  for (const value of args) encoder.add(value);
  return [encoder.text()];
}

function unpack(args: Args, meter: Meter): readonly LuaValue[] {
  return unpackFrom(checkText(args, 1, 'unpack', meter), 0, 0, meter);
}

/** One value from an offset on, after the offset of the next one. */
function unpackOne(args: Args, meter: Meter): readonly LuaValue[] {
  const offset = optionalInteger(args, 2, 'unpack_one', meter, 0);
  return unpackFrom(checkText(args, 1, 'unpack_one', meter), 1, offset, meter);
}

function unpackLimit(args: Args, meter: Meter): readonly LuaValue[] {
  const limit = checkInteger(args, 2, 'unpack_limit', meter);
  const offset = optionalInteger(args, 3, 'unpack_limit', meter, 0);
  return unpackFrom(checkText(args, 1, 'unpack_limit', meter), limit | 0, offset, meter);
}

/** With neither limit nor offset everything, and no offset is answered. */
function unpackFrom(data: string, limit: number, at: number, meter: Meter): readonly LuaValue[] {
  const offset = at | 0;
  if (offset < 0 || limit < 0) {
    const asked = `offset of ${offset} and limit of ${data.length}`;
    throw new LuaError(`Invalid request to unpack with ${asked}.`);
  }
  if (offset > data.length) {
    throw new LuaError(`Start offset ${offset} greater than input length ${data.length}.`);
  }
  const takesAll = limit === 0 && offset === 0;
  const decoder = new MsgpackDecoder(data, offset, meter);
  const values: LuaValue[] = [];
  while (decoder.left > 0 && (takesAll || values.length < limit)) values.push(decoder.decode());
  if (takesAll) return values;
  return [decoder.left === 0 ? -1 : decoder.position, ...values];
}

export function cmsgpackLibrary(): Library {
  return {
    _COPYRIGHT: 'Copyright (C) 2012, Salvatore Sanfilippo',
    _DESCRIPTION: 'MessagePack C implementation for Lua',
    _NAME: 'cmsgpack',
    _VERSION: 'lua-cmsgpack 0.4.0',
    pack: native('pack', pack),
    unpack: native('unpack', unpack),
    unpack_limit: native('unpack_limit', unpackLimit),
    unpack_one: native('unpack_one', unpackOne),
  };
}
