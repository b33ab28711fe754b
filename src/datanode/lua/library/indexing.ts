/** What `t[key]`, `a < b` come to where a table's metatable has a say: its functions are called. */
import { LuaError } from '../values/error.ts';
import type { LuaRequest } from '../values/function.ts';
import { LuaTable } from '../values/table.ts';
import { isTruthy, type LuaValue, typeName } from '../values/value.ts';

/** Tables that refer to one another, up to which Lua follows them. */
const LOOP_MAX = 100;

/** One value of what was asked for. */
export function* callFor(
  callee: LuaValue,
  args: readonly LuaValue[],
): Generator<LuaRequest, LuaValue, readonly LuaValue[]> {
  const results = yield { kind: 'call', callee, args };
  return results[0];
}

/** With `__index`. */
export function* indexed(
  table: LuaTable,
  key: LuaValue,
): Generator<LuaRequest, LuaValue, readonly LuaValue[]> {
  let from = table;
  for (let loop = 0; loop < LOOP_MAX; loop++) {
    const value = from.get(key);
    const handler = value === undefined ? from.metatable?.get('__index') : undefined;
    if (handler === undefined) return value;
    if (handler instanceof LuaTable) from = handler;
    else if (typeName(handler) === 'function') return yield* callFor(handler, [from, key]);
    else throw new LuaError(`attempt to index a ${typeName(handler)} value`, 0);
  }
  throw new LuaError('loop in gettable', 0);
}

/** Without metatables; undefined: they are asked. */
export function plainlyLess(a: LuaValue, b: LuaValue): boolean | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  if (typeof a === 'string' && typeof b === 'string') return a < b;
  return undefined;
}

/** `a < b`, of what is neither two numbers nor two strings. */
export function* lessByMetatable(
  a: LuaValue,
  b: LuaValue,
): Generator<LuaRequest, boolean, readonly LuaValue[]> {
  const handler = lessHandler(a, b);
  if (handler === undefined) throw orderError(a, b);
  return isTruthy(yield* callFor(handler, [a, b]));
}

/** Both have to have the same. */
function lessHandler(a: LuaValue, b: LuaValue): LuaValue {
  if (!(a instanceof LuaTable && b instanceof LuaTable)) return undefined;
  const handler = a.metatable?.get('__lt');
  return handler !== undefined && handler === b.metatable?.get('__lt') ? handler : undefined;
}

function orderError(a: LuaValue, b: LuaValue): LuaError {
  const [left, right] = [typeName(a), typeName(b)];
  const what = left === right ? `two ${left} values` : `${left} with ${right}`;
  return new LuaError(`attempt to compare ${what}`, 0);
}
