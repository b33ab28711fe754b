/** `table`, but for sorting. None of its functions asks metatables. */
import { LuaError } from '../values/error.ts';
import { type Library, type LuaRun, type Meter, native } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import { typeName } from '../values/value.ts';
import {
  type Args,
  checkFunction,
  checkInt,
  checkTable,
  optionalInt,
  optionalText,
} from './arguments.ts';
import { numberText } from './number-text.ts';
import { Pieces } from './pieces.ts';
import { sort } from './sorting.ts';

function concat(args: Args, meter: Meter): readonly LuaValue[] {
  const separator = optionalText(args, 2, 'concat', '', meter);
  const table = checkTable(args, 1, 'concat');
  const first = optionalInt(args, 3, 'concat', meter, 1);
  const last = optionalInt(args, 4, 'concat', meter, table.length);
  const pieces = new Pieces(meter);
  for (let at = first; at <= last; at++) {
    meter.steps(2);
    const value = table.get(at);
    if (typeof value === 'string') pieces.add(value);
    else if (typeof value === 'number') pieces.add(numberText(value, meter));
    else {
      const what = `(${typeName(value)}) at index ${at}`;
      throw new LuaError(`invalid value ${what} in table for 'concat'`);
    }
    if (at < last && separator !== '') pieces.add(separator);
  }
  return [pieces.text()];
}

function insert(args: Args, meter: Meter): readonly LuaValue[] {
  const table = checkTable(args, 1, 'insert');
  const end = table.length + 1;
  if (args.length === 2) {
    meter.bytes(table.set(end, args[1]));
    return [];
  }
  if (args.length !== 3) throw new LuaError("wrong number of arguments to 'insert'");
  const at = checkInt(args, 2, 'insert', meter);
  const last = Math.max(end, at);
  meter.steps(last - at);
  for (let to = last; to > at; to--) meter.bytes(table.set(to, table.get(to - 1)));
  meter.bytes(table.set(at, args[2]));
  return [];
}

function remove(args: Args, meter: Meter): readonly LuaValue[] {
  const table = checkTable(args, 1, 'remove');
  const end = table.length;
  const at = optionalInt(args, 2, 'remove', meter, end);
  if (at < 1 || at > end) return [];
  meter.steps(end - at);
  const removed = table.get(at);
  for (let to = at; to < end; to++) table.set(to, table.get(to + 1));
  table.set(end, undefined);
  return [removed];
}

function maxn(args: Args, meter: Meter): readonly LuaValue[] {
  const table = checkTable(args, 1, 'maxn');
  let most = 0;
  for (
    let pair = table.next(undefined, meter);
    pair !== undefined;
    pair = table.next(pair[0], meter)
  ) {
    meter.steps(1);
    if (typeof pair[0] === 'number' && pair[0] > most) most = pair[0];
  }
  return [most];
}

/** Up to the first call that answers something. */
function* foreach(args: Args, meter: Meter): LuaRun {
  const table = checkTable(args, 1, 'foreach');
  const callee = checkFunction(args, 2, 'foreach');
  for (
    let pair = table.next(undefined, meter);
    pair !== undefined;
    pair = table.next(pair[0], meter)
  ) {
    const [answer] = yield { kind: 'call', callee, args: [pair[0], pair[1]] };
    if (answer !== undefined) return [answer];
  }
  return [];
}

function* foreachi(args: Args): LuaRun {
  const table = checkTable(args, 1, 'foreachi');
  const callee = checkFunction(args, 2, 'foreachi');
  const last = table.length;
  for (let at = 1; at <= last; at++) {
    const [answer] = yield { kind: 'call', callee, args: [at, table.get(at)] };
    if (answer !== undefined) return [answer];
  }
  return [];
}

function getn(args: Args): readonly LuaValue[] {
  return [checkTable(args, 1, 'getn').length];
}

function setn(args: Args): readonly LuaValue[] {
  checkTable(args, 1, 'setn');
  throw new LuaError("'setn' is obsolete");
}

export function tableLibrary(): Library {
  return {
    concat: native('concat', concat),
    foreach: native('foreach', foreach),
    foreachi: native('foreachi', foreachi),
    getn: native('getn', getn),
    insert: native('insert', insert),
    maxn: native('maxn', maxn),
    remove: native('remove', remove),
    setn: native('setn', setn),
    sort: native('sort', sort),
  };
}
