/** Reading and writing of fields, with `__index` and `__newindex`. */
import { aOf, bOf, bxOf, cOf } from '../syntax/opcodes.ts';
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import { isFunction } from './calls.ts';
import { runtimeError, typeError, UNNAMED } from './errors.ts';
import { RESULT } from './frame.ts';
import { callHandler } from './handlers.ts';
import { metamethod } from './metatables.ts';
import { operand } from './operands.ts';
import type { Thread } from './thread.ts';

/** So many tables in a row are asked for a field. */
const CHAIN_MAX = 100;
/** Longer keys cost more than a step: they are compared. */
const SHORT_KEY_MAX = 64;

export function opGetGlobal(t: Thread, i: number): void {
  const key = t.constants[bxOf(i)];
  const value = t.machine.globals.get(key);
  const target = t.base + aOf(i);
  if (value !== undefined) t.stack[target] = value;
  else read(t, t.machine.globals, key, target, UNNAMED);
}

export function opSetGlobal(t: Thread, i: number): void {
  write(t, t.machine.globals, t.constants[bxOf(i)], t.stack[t.base + aOf(i)], UNNAMED);
}

export function opGetTable(t: Thread, i: number): void {
  const object = t.stack[t.base + bOf(i)];
  const key = operand(t, cOf(i));
  if (object instanceof LuaTable) {
    if (typeof key === 'string' && key.length > SHORT_KEY_MAX) chargeKey(t, key);
    const value = object.get(key);
    if (value !== undefined || object.metatable === undefined) {
      t.stack[t.base + aOf(i)] = value;
      return;
    }
  }
  read(t, object, key, t.base + aOf(i), bOf(i));
}

export function opSetTable(t: Thread, i: number): void {
  const object = t.stack[t.base + aOf(i)];
  const key = operand(t, bOf(i));
  const value = operand(t, cOf(i));
  if (object instanceof LuaTable && object.metatable === undefined) put(t, object, key, value);
  else write(t, object, key, value, aOf(i));
}

export function opSelf(t: Thread, i: number): void {
  const object = t.stack[t.base + bOf(i)];
  const key = operand(t, cOf(i)) as string;
  if (key.length > SHORT_KEY_MAX) chargeKey(t, key);
  t.stack[t.base + aOf(i) + 1] = object;
  read(t, object, key, t.base + aOf(i), bOf(i));
}

/** `object[key]` into the register `target`. */
function read(t: Thread, first: LuaValue, key: LuaValue, target: number, register: number): void {
  let object = first;
  for (let n = 0; n < CHAIN_MAX; n++) {
    if (n > 0) t.machine.steps(1);
    if (object instanceof LuaTable) {
      if (typeof key === 'string' && key.length > SHORT_KEY_MAX) chargeKey(t, key);
      const value = object.get(key);
      if (value !== undefined || object.metatable === undefined) {
        t.stack[target] = value;
        return;
      }
    }
    const handler = metamethod(t, object, '__index');
    if (handler === undefined) {
      if (!(object instanceof LuaTable)) {
        throw typeError(t, object, 'index', n === 0 ? register : UNNAMED);
      }
      t.stack[target] = undefined;
      return;
    }
    if (isFunction(handler)) {
      return callHandler(t, handler, [object, key], RESULT.value, target);
    }
    object = handler;
  }
  throw runtimeError(t, 'loop in gettable');
}

function write(t: Thread, first: LuaValue, key: LuaValue, value: LuaValue, register: number): void {
  let object = first;
  for (let n = 0; n < CHAIN_MAX; n++) {
    if (n > 0) t.machine.steps(1);
    let handler: LuaValue;
    if (object instanceof LuaTable) {
      checkKey(t, object, key);
      if (typeof key === 'string' && key.length > SHORT_KEY_MAX) chargeKey(t, key);
      if (object.metatable === undefined || object.get(key) !== undefined) {
        return put(t, object, key, value);
      }
      handler = object.metatable.get('__newindex');
      if (handler === undefined) return put(t, object, key, value);
    } else {
      handler = metamethod(t, object, '__newindex');
      if (handler === undefined) {
        throw typeError(t, object, 'index', n === 0 ? register : UNNAMED);
      }
    }
    if (isFunction(handler)) {
      return callHandler(t, handler, [object, key, value], RESULT.none, 0);
    }
    object = handler;
  }
  throw runtimeError(t, 'loop in settable');
}

/** Into the table itself. */
function put(t: Thread, table: LuaTable, key: LuaValue, value: LuaValue): void {
  if (typeof key !== 'string') checkKey(t, table, key);
  else if (key.length > SHORT_KEY_MAX) chargeKey(t, key);
  if (table.isReadonly) throw runtimeError(t, 'Attempt to modify a readonly table');
  const grown = table.set(key, value);
  if (grown > 0) t.machine.bytes(grown);
}

function checkKey(t: Thread, table: LuaTable, key: LuaValue): void {
  if (table.isReadonly) throw runtimeError(t, 'Attempt to modify a readonly table');
  if (key === undefined) throw runtimeError(t, 'table index is nil');
  if (typeof key === 'number' && Number.isNaN(key)) throw runtimeError(t, 'table index is NaN');
}

function chargeKey(t: Thread, key: string): void {
  t.machine.steps(Math.floor(key.length / SHORT_KEY_MAX));
}
