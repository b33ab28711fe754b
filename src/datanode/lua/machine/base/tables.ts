/** Tables without their metamethods, walks over them, and metatables. */
import { type Args, checkInt, checkTable, optionalInt, refuse } from '../../library/arguments.ts';
import { LuaError } from '../../values/error.ts';
import { type Library, type Meter, native } from '../../values/function.ts';
import { LuaTable } from '../../values/table.ts';
import type { LuaValue } from '../../values/value.ts';
import type { Machine } from '../machine.ts';
import { checkAny } from './arguments.ts';

/** So many values a function in C has room for, with its arguments. */
const FRAME_VALUES = 8_000;
/** Where the machine `unpacksLess`. */
const FEWER_VALUES = 7_997;
const CHARACTERS_PER_STEP = 64;
const NOTHING: Args = [];
const NIL: Args = [undefined];

/** As a field costs that is read or written by the script itself: long keys are looked through. */
function chargeKey(key: LuaValue, meter: Meter): void {
  if (typeof key === 'string' && key.length > CHARACTERS_PER_STEP) {
    meter.steps(Math.floor(key.length / CHARACTERS_PER_STEP));
  }
}

const next = native('next', (args, meter) => {
  const table = checkTable(args, 1, 'next');
  chargeKey(args[1], meter);
  return table.next(args[1], meter) ?? NIL;
});

const pairs = native('pairs', (args) => [next, checkTable(args, 1, 'pairs'), undefined]);

const following = native('ipairs', (args, meter) => {
  const table = checkTable(args, 1, 'ipairs');
  const at = checkInt(args, 2, 'ipairs', meter) + 1;
  const value = table.get(at);
  return value === undefined ? NOTHING : [at, value];
});

const ipairs = native('ipairs', (args) => [following, checkTable(args, 1, 'ipairs'), 0]);

const rawget = native('rawget', (args, meter) => {
  const table = checkTable(args, 1, 'rawget');
  checkAny(args, 2, 'rawget');
  chargeKey(args[1], meter);
  return [table.get(args[1])];
});

const rawset = native('rawset', (args, meter) => {
  const table = checkTable(args, 1, 'rawset');
  checkAny(args, 2, 'rawset');
  checkAny(args, 3, 'rawset');
  chargeKey(args[1], meter);
  meter.bytes(table.set(args[1], args[2]));
  return [table];
});

const rawequal = native('rawequal', (args) => {
  checkAny(args, 1, 'rawequal');
  checkAny(args, 2, 'rawequal');
  return [args[0] === args[1]];
});

const getmetatable = native('getmetatable', (args, meter) => {
  checkAny(args, 1, 'getmetatable');
  const metatable = metatableOf(args[0], meter);
  return [metatable?.get('__metatable') ?? metatable];
});

function metatableOf(value: LuaValue, meter: Meter): LuaTable | undefined {
  if (value instanceof LuaTable) return value.metatable;
  return typeof value === 'string' ? (meter as Machine).stringMetatable : undefined;
}

const setmetatable = native('setmetatable', (args) => {
  const table = checkTable(args, 1, 'setmetatable');
  const metatable = args[1];
  if (args.length < 2 || !(metatable === undefined || metatable instanceof LuaTable)) {
    refuse(2, 'setmetatable', 'nil or table expected');
  }
  if (table.metatable?.get('__metatable') !== undefined) {
    throw new LuaError('cannot change a protected metatable');
  }
  if (table.isReadonly) throw new LuaError('Attempt to modify a readonly table', 0);
  table.metatable = metatable;
  return [table];
});

const unpack = native('unpack', (args, meter) => {
  const table = checkTable(args, 1, 'unpack');
  const first = optionalInt(args, 2, 'unpack', meter, 1);
  const last = optionalInt(args, 3, 'unpack', meter, table.length);
  if (first > last) return NOTHING;
  const count = last - first + 1;
  const most = (meter as Machine).unpacksLess ? FEWER_VALUES : FRAME_VALUES - args.length;
  if (count > most) throw new LuaError('too many results to unpack');
  meter.steps(count);
  return Array.from({ length: count }, (_, n) => table.get(first + n));
});

const select = native('select', (args, meter) => {
  if (args[0] === '#') return [args.length - 1];
  const n = checkInt(args, 1, 'select', meter);
  const from = n < 0 ? args.length + n : Math.min(n, args.length);
  if (from < 1) refuse(1, 'select', 'index out of range');
  return args.slice(from);
});

export const tables: Library = {
  next,
  pairs,
  ipairs,
  rawget,
  rawset,
  rawequal,
  getmetatable,
  setmetatable,
  unpack,
  select,
};
