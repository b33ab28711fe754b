/**
 * What scripts find by name. Libraries are made once and shared by all runs, so nothing of them may be
 * changed by a script: their tables, the table of globals and the metatable of strings are read only.
 */
import { LuaError } from '../values/error.ts';
import { type Library, native } from '../values/function.ts';
import { formatNumber } from '../values/numbers.ts';
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import { baseLibrary } from './base/base.ts';
import { coroutineLibrary } from './base/coroutine.ts';

export interface Globals {
  readonly table: LuaTable;
  readonly stringMetatable: LuaTable;
}

/** What all runs share. */
export interface SharedGlobals {
  readonly values: ReadonlyMap<string, LuaValue>;
  readonly metatable: LuaTable;
  readonly stringMetatable: LuaTable;
}

/** `libraries` by the names of their tables, beside the machine's own. */
export function shareGlobals(libraries: Readonly<Record<string, Library>>): SharedGlobals {
  const values = new Map<string, LuaValue>(Object.entries(baseLibrary));
  for (const [name, library] of Object.entries({ coroutine: coroutineLibrary, ...libraries })) {
    values.set(name, readonlyTable(library));
  }
  return {
    values,
    metatable: readonlyTable({ __index: refuseUnknown }),
    stringMetatable: readonlyTable({ __index: values.get('string') }),
  };
}

/** Of one run: with `own` beside what is shared (`KEYS`, `ARGV`, `redis`). */
export function globalsOf(shared: SharedGlobals, own: Readonly<Record<string, LuaValue>>): Globals {
  const table = new LuaTable();
  for (const [name, value] of shared.values) table.set(name, value);
  for (const [name, value] of Object.entries(own)) table.set(name, value);
  table.set('_G', table);
  table.metatable = shared.metatable;
  table.isReadonly = true;
  return { table, stringMetatable: shared.stringMetatable };
}

/** Nothing but `values`, where what is not there is an error: of what may do little. */
export function onlyGlobals(
  { metatable, stringMetatable }: SharedGlobals,
  values: Readonly<Record<string, LuaValue>>,
): Globals {
  const table = readonlyTable(values);
  table.metatable = metatable;
  return { table, stringMetatable };
}

/** A library's table as scripts get it. */
export function readonlyTable(fields: Readonly<Record<string, LuaValue>>): LuaTable {
  const table = new LuaTable();
  for (const [name, value] of Object.entries(fields)) table.set(name, value);
  table.isReadonly = true;
  return table;
}

const refuseUnknown = native('__index', (args) => {
  const name = args[1];
  if (typeof name !== 'string' && typeof name !== 'number') {
    const what = 'Second argument to luaProtectedTableError must be a string or number';
    throw new LuaError(what);
  }
  throw new LuaError(`Script attempted to access nonexistent global variable '${textOf(name)}'`);
});

function textOf(name: string | number): string {
  return typeof name === 'number' ? formatNumber(name) : name;
}
