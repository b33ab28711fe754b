/** Numbers, strings that are numbers, and metamethods. */
import { aOf, bOf, cOf } from '../syntax/opcodes.ts';
import { parseNumber } from '../values/numbers.ts';
import { power } from '../values/power.ts';
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import { arithmeticError, typeError } from './errors.ts';
import { RESULT } from './frame.ts';
import { callHandler } from './handlers.ts';
import { metamethod } from './metatables.ts';
import { describedOperand, operand } from './operands.ts';
import type { Thread } from './thread.ts';

type Calculation = (x: number, y: number) => number;

export function opAdd(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') t.stack[t.base + aOf(i)] = x + y;
  else calculate(t, i, '__add', (a, b) => a + b);
}

export function opSubtract(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') t.stack[t.base + aOf(i)] = x - y;
  else calculate(t, i, '__sub', (a, b) => a - b);
}

export function opMultiply(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') t.stack[t.base + aOf(i)] = x * y;
  else calculate(t, i, '__mul', (a, b) => a * b);
}

export function opDivide(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') t.stack[t.base + aOf(i)] = x / y;
  else calculate(t, i, '__div', (a, b) => a / b);
}

export function opModulo(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  if (typeof x === 'number' && typeof y === 'number') t.stack[t.base + aOf(i)] = modulo(x, y);
  else calculate(t, i, '__mod', modulo);
}

/** A whole power is up to some twenty products of twice the digits: 0.3 µs. */
const POWER_STEPS = 16;

export function opPower(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const y = operand(t, cOf(i));
  t.machine.steps(POWER_STEPS);
  if (typeof x === 'number' && typeof y === 'number') t.stack[t.base + aOf(i)] = power(x, y);
  else calculate(t, i, '__pow', power);
}

export function opNegate(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  const number = toNumber(t, x);
  if (number !== undefined) {
    t.stack[t.base + aOf(i)] = -number;
    return;
  }
  const handler = metamethod(t, x, '__unm');
  if (handler === undefined) throw typeError(t, x, 'perform arithmetic on', bOf(i));
  callHandler(t, handler, [x, x], RESULT.value, t.base + aOf(i));
}

export function opLength(t: Thread, i: number): void {
  const x = operand(t, bOf(i));
  if (typeof x === 'string' || x instanceof LuaTable) t.stack[t.base + aOf(i)] = x.length;
  else throw typeError(t, x, 'get length of', bOf(i));
}

/** As 5.1 defines it, infinities and all. */
function modulo(x: number, y: number): number {
  return x - Math.floor(x / y) * y;
}

function calculate(t: Thread, i: number, event: string, how: Calculation): void {
  const x = describedOperand(t, bOf(i));
  const y = describedOperand(t, cOf(i));
  const [a, b] = [toNumber(t, x.value), toNumber(t, y.value)];
  if (a !== undefined && b !== undefined) {
    t.stack[t.base + aOf(i)] = how(a, b);
    return;
  }
  const handler = metamethod(t, x.value, event) ?? metamethod(t, y.value, event);
  if (handler === undefined) throw arithmeticError(t, x, y);
  callHandler(t, handler, [x.value, y.value], RESULT.value, t.base + aOf(i));
}

/** A number, or a string that is one. */
export function toNumber(t: Thread, value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  t.machine.steps(value.length);
  return parseNumber(value);
}
