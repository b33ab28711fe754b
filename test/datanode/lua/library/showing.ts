/** Values of Lua as texts, alike for ours and for those of redis-server; and calls as source of Lua. */

import { bitLibrary } from '../../../../src/datanode/lua/library/bit.ts';
import { cjsonLibrary } from '../../../../src/datanode/lua/library/cjson.ts';
import { cmsgpackLibrary } from '../../../../src/datanode/lua/library/cmsgpack.ts';
import { mathLibrary } from '../../../../src/datanode/lua/library/math.ts';
import { stringLibrary } from '../../../../src/datanode/lua/library/string.ts';
import { structLibrary } from '../../../../src/datanode/lua/library/struct.ts';
import { tableLibrary } from '../../../../src/datanode/lua/library/table.ts';
import { generalDecimal } from '../../../../src/datanode/lua/values/decimal.ts';
import { LuaError } from '../../../../src/datanode/lua/values/error.ts';
import type { Library, LuaRequest, Meter } from '../../../../src/datanode/lua/values/function.ts';
import { unusualText } from '../../../../src/datanode/lua/values/numbers.ts';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import { NULL } from '../../../../src/datanode/lua/values/userdata.ts';
import { type LuaValue, typeName } from '../../../../src/datanode/lua/values/value.ts';

export const libraries: Readonly<Record<string, Library>> = {
  bit: bitLibrary(),
  cjson: cjsonLibrary(),
  cmsgpack: cmsgpackLibrary(),
  math: mathLibrary(),
  string: stringLibrary(),
  struct: structLibrary(),
  table: tableLibrary(),
};

/** An argument: a list is a table, null is nil; `pairs` a table with these keys. */
export type Argument =
  | null
  | boolean
  | number
  | string
  | { readonly pairs: readonly (readonly [Argument, Argument])[] }
  | readonly Argument[];

/** `string.rep` and what it is called with. */
export type Call = readonly [name: string, ...args: Argument[]];

export class CountingMeter implements Meter {
  stepsDone = 0;
  bytesDone = 0;

  steps(count: number): void {
    if (!(count >= 0)) throw new Error(`${count} steps`);
    this.stepsDone += count;
  }

  bytes(count: number): void {
    if (!(count >= 0)) throw new Error(`${count} bytes`);
    this.bytesDone += count;
  }
}

export function luaValueOf(argument: Argument): LuaValue {
  if (argument === null) return undefined;
  if (typeof argument !== 'object') return argument;
  const table = new LuaTable();
  if ('pairs' in argument) {
    for (const [key, value] of argument.pairs) table.set(luaValueOf(key), luaValueOf(value));
  } else {
    for (const [at, value] of argument.entries()) table.set(at + 1, luaValueOf(value));
  }
  return table;
}

export function functionOf(name: string) {
  const [library = '', member = ''] = name.split('.');
  const found = libraries[library]?.[member];
  if (typeof found !== 'object' || !('kind' in found)) throw new Error(`no ${name}`);
  return found;
}

/** Runs one that may be a generator; whoever is called answers at once. */
export function run(
  name: string,
  args: readonly LuaValue[],
  meter: Meter = new CountingMeter(),
  answer: (args: readonly LuaValue[]) => readonly LuaValue[] = () => [],
): readonly LuaValue[] {
  const results = functionOf(name).run(args, meter);
  if (!('next' in results)) return results;
  let step: IteratorResult<LuaRequest, readonly LuaValue[]> = results.next();
  while (!step.done) {
    if (step.value.kind !== 'call') throw new Error('asks the host');
    step = results.next(answer(step.value.args));
  }
  return step.value;
}

/** What it answers, or the error with its level. */
export function shownCall([name, ...args]: Call): string {
  try {
    return run(name, args.map(luaValueOf)).map(show).join(' ');
  } catch (failure) {
    if (!(failure instanceof LuaError)) throw failure;
    return `error: ${failure.level > 0 ? 'user_script:1: ' : ''}${failure.value}`;
  }
}

export function show(value: LuaValue): string {
  if (typeof value === 'string') {
    const inner = value.replace(/[^ !#-[\]-~]/g, (code) => {
      return `\\x${code.charCodeAt(0).toString(16).padStart(2, '0')}`;
    });
    return `"${inner}"`;
  }
  if (typeof value === 'number') return showNumber(value);
  if (value instanceof LuaTable) return showTable(value);
  if (value === NULL) return 'null';
  return value === undefined || typeof value === 'boolean'
    ? String(value ?? 'nil')
    : typeName(value);
}

function showNumber(n: number): string {
  if (!Number.isFinite(n)) return unusualText(n);
  return (n < 0 || Object.is(n, -0) ? '-' : '') + generalDecimal(Math.abs(n), 17);
}

function showTable(table: LuaTable): string {
  const pairs: string[] = [];
  for (let pair = table.next(undefined); pair !== undefined; pair = table.next(pair[0])) {
    pairs.push(`${show(pair[0])}=${show(pair[1])}`);
  }
  return `{${pairs.sort().join(',')}}`;
}

/** The same in Lua: what `shownCall` gives, as a script for EVAL. */
export function sourceOf([name, ...args]: Call): string {
  return `${SHOW} return shown(pcall(function() return kept(${name}(${args.map(literal).join(', ')})) end))`;
}

const SHOW = String.raw`math.randomseed(0) local function show(v) local t = type(v)
if t == 'string' then return '"' .. string.gsub(v, '[%z\1-\31"\\\127-\255]', function(c) return string.format('\\x%02x', string.byte(c)) end) .. '"' end
if t == 'number' then if v ~= v then return '-nan' end return string.format('%.17g', v) end
if t == 'table' then local r = {} for k, e in pairs(v) do r[#r + 1] = show(k) .. '=' .. show(e) end table.sort(r) return '{' .. table.concat(r, ',') .. '}' end
if v == cjson.null then return 'null' end
if t == 'nil' or t == 'boolean' then return tostring(v) end
return t end
local function kept(...) return {n = select('#', ...), ...} end
local function shown(ok, r) if not ok then return 'error: ' .. tostring(r) end
local s = {} for i = 1, r.n do s[i] = show(r[i]) end return table.concat(s, ' ') end `.replaceAll(
  '\n',
  ' ',
);

export function literal(argument: Argument): string {
  if (argument === null) return 'nil';
  if (typeof argument === 'string') return quoted(argument);
  if (typeof argument === 'number') return numeral(argument);
  if (typeof argument === 'boolean') return String(argument);
  if ('pairs' in argument) {
    const pairs = argument.pairs.map(([key, value]) => `[${literal(key)}]=${literal(value)}`);
    return `{${pairs.join(',')}}`;
  }
  return `{${argument.map(literal).join(',')}}`;
}

function quoted(text: string): string {
  const inner = text.replace(/[^ !#-[\]-~]/g, (code) => {
    return `\\${code.charCodeAt(0).toString().padStart(3, '0')}`;
  });
  return `"${inner}"`;
}

function numeral(n: number): string {
  if (Number.isNaN(n)) return '(0/0)';
  if (!Number.isFinite(n)) return n < 0 ? '(-1/0)' : '(1/0)';
  return Object.is(n, -0) ? '-0' : String(n);
}
