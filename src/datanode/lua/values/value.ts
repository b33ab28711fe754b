/**
 * Values of Lua 5.1 as scripts of clients have them (redis.io, Scripting with Lua). A string is a string
 * of JavaScript with one character for each of its bytes (latin1); a number is a double; nil is undefined.
 */
import type { LuaFunction } from './function.ts';
import { LuaTable } from './table.ts';
import type { LuaThread } from './thread.ts';
import { LuaUserdata } from './userdata.ts';

export type LuaValue =
  | undefined
  | boolean
  | number
  | string
  | LuaTable
  | LuaFunction
  | LuaUserdata
  | LuaThread;

export type TypeName =
  | 'nil'
  | 'boolean'
  | 'number'
  | 'string'
  | 'table'
  | 'function'
  | 'userdata'
  | 'thread';

/** What `type` says of it. */
export function typeName(value: LuaValue): TypeName {
  switch (typeof value) {
    case 'undefined':
      return 'nil';
    case 'boolean':
    case 'number':
    case 'string':
      return typeof value as TypeName;
    default:
      if (value instanceof LuaTable) return 'table';
      if (value instanceof LuaUserdata) return 'userdata';
      return value.kind === 'thread' ? 'thread' : 'function';
  }
}

/** All but nil and false hold. */
export function isTruthy(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}
