/**
 * Lua's only collection. Which order `next` has is Lua's to choose: here it is 1, 2, 3, … and then the
 * others as they came, alike on every replica, which addresses in memory would not be.
 */
import type { LuaValue } from './value.ts';

export class LuaTable {
  metatable: LuaTable | undefined;
  /** Set by the machine for its globals and libraries: scripts may not change them. */
  isReadonly = false;

  /** Without metamethods, as all of these. */
  get(key: LuaValue): LuaValue {
    throw new Error(`not written yet: ${String(key)}`);
  }

  /** Undefined removes. Throws LuaError: nil or NaN as a key, a table that is read only. */
  set(key: LuaValue, value: LuaValue): void {
    throw new Error(`not written yet: ${String(key)} ${String(value)}`);
  }

  /** A border: `t[n] ~= nil and t[n + 1] == nil`, or 0. */
  get length(): number {
    return 0;
  }

  /** The pair behind `key` (undefined: the first); undefined: there is none. Throws LuaError: no such key. */
  next(key: LuaValue): readonly [LuaValue, LuaValue] | undefined {
    throw new Error(`not written yet: ${String(key)}`);
  }
}
