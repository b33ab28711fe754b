/** `==`, `<` and `<=`, each with the jump behind it. */
import { bOf, cOf } from '../syntax/opcodes.ts';
import { LuaTable } from '../values/table.ts';
import { type LuaValue, typeName } from '../values/value.ts';
import { comparisonError } from './errors.ts';
import { RESULT } from './frame.ts';
import { callHandler } from './handlers.ts';
import { metamethod } from './metatables.ts';
import { operand } from './operands.ts';
import { branch } from './results.ts';
import type { Thread } from './thread.ts';

/** So many characters are compared by one step. */
const CHARACTERS_PER_STEP = 256;

export function opEqual(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (x instanceof LuaTable && y instanceof LuaTable && x !== y) {
    const handler = equalityHandler(x, y);
    if (handler !== undefined) return callHandler(t, handler, [x, y], RESULT.condition, 0);
  } else if (typeof x === 'string' && typeof y === 'string') {
    if (x.length === y.length) chargeCharacters(t, x.length);
  }
  branch(t, x === y);
}

export function opLessThan(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') return branch(t, x < y);
  if (typeof x === 'string' && typeof y === 'string') {
    chargeCharacters(t, Math.min(x.length, y.length));
    return branch(t, x < y);
  }
  if (!compareByHandler(t, x, y, '__lt', 0)) throw comparisonError(t, x, y);
}

export function opLessOrEqual(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') return branch(t, x <= y);
  if (typeof x === 'string' && typeof y === 'string') {
    chargeCharacters(t, Math.min(x.length, y.length));
    return branch(t, x <= y);
  }
  if (compareByHandler(t, x, y, '__le', 0)) return;
  // Without `__le`, `x <= y` is `not (y < x)`.
  if (!compareByHandler(t, y, x, '__lt', 1)) throw comparisonError(t, x, y);
}

function compareByHandler(
  t: Thread,
  x: LuaValue,
  y: LuaValue,
  event: string,
  isNegated: number,
): boolean {
  if (typeName(x) !== typeName(y)) return false;
  const handler = metamethod(t, x, event);
  if (handler === undefined || handler !== metamethod(t, y, event)) return false;
  callHandler(t, handler, [x, y], RESULT.condition, isNegated);
  return true;
}

/** Both have to have the same one. */
function equalityHandler(x: LuaTable, y: LuaTable): LuaValue {
  const handler = x.metatable?.get('__eq');
  if (handler === undefined || x.metatable === y.metatable) return handler;
  return y.metatable?.get('__eq') === handler ? handler : undefined;
}

function chargeCharacters(t: Thread, count: number): void {
  if (count >= CHARACTERS_PER_STEP) t.machine.steps(Math.floor(count / CHARACTERS_PER_STEP));
}
