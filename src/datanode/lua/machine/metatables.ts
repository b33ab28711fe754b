/** Metatables, and the calls of what is in them. */
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import type { Thread } from './thread.ts';

export function metatableOf(t: Thread, value: LuaValue): LuaTable | undefined {
  if (value instanceof LuaTable) return value.metatable;
  return typeof value === 'string' ? t.machine.stringMetatable : undefined;
}

export function metamethod(t: Thread, value: LuaValue, event: string): LuaValue {
  return metatableOf(t, value)?.get(event);
}
