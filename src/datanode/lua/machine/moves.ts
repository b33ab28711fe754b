/** What only moves values, tests them or makes tables. */
import { aOf, bOf, bxOf, cOf, LIST_BATCH, offsetOf } from '../syntax/opcodes.ts';
import { LuaTable } from '../values/table.ts';
import { isTruthy } from '../values/value.ts';
import { operand } from './operands.ts';
import { ensureStack, type Thread } from './thread.ts';
import { closeUpvalues } from './upvalues.ts';

const TABLE_BYTES = 128;
const VALUES_PER_STEP = 16;

export function opMove(t: Thread, i: number): void {
  t.stack[t.base + aOf(i)] = t.stack[t.base + bOf(i)];
}

export function opLoadConstant(t: Thread, i: number): void {
  t.stack[t.base + aOf(i)] = t.constants[bxOf(i)];
}

export function opLoadBoolean(t: Thread, i: number): void {
  t.stack[t.base + aOf(i)] = bOf(i) !== 0;
  if (cOf(i) !== 0) t.pc += 1;
}

export function opLoadNil(t: Thread, i: number): void {
  for (let r = aOf(i); r <= bOf(i); r++) t.stack[t.base + r] = undefined;
}

export function opGetUpvalue(t: Thread, i: number): void {
  const variable = t.frame.closure!.upvalues[bOf(i)]!;
  t.stack[t.base + aOf(i)] = variable.registers[variable.index];
}

export function opSetUpvalue(t: Thread, i: number): void {
  const variable = t.frame.closure!.upvalues[bOf(i)]!;
  variable.registers[variable.index] = t.stack[t.base + aOf(i)];
}

export function opNewTable(t: Thread, i: number): void {
  t.machine.bytes(TABLE_BYTES);
  t.stack[t.base + aOf(i)] = new LuaTable();
}

export function opNot(t: Thread, i: number): void {
  t.stack[t.base + aOf(i)] = !isTruthy(operand(t, bOf(i)));
}

export function opJump(t: Thread, i: number): void {
  t.pc += offsetOf(i);
}

export function opTest(t: Thread, i: number): void {
  const isHeld = isTruthy(t.stack[t.base + aOf(i)]) === (cOf(i) !== 0);
  if (isHeld) t.pc += offsetOf(t.code[t.pc]!);
  t.pc += 1;
}

export function opTestSet(t: Thread, i: number): void {
  const value = t.stack[t.base + bOf(i)];
  if (isTruthy(value) === (cOf(i) !== 0)) {
    t.stack[t.base + aOf(i)] = value;
    t.pc += offsetOf(t.code[t.pc]!);
  }
  t.pc += 1;
}

export function opSetList(t: Thread, i: number): void {
  const { stack } = t;
  const at = t.base + aOf(i);
  const table = stack[at] as LuaTable;
  const count = bOf(i) === 0 ? t.top - at - 1 : bOf(i);
  let batch = cOf(i);
  if (batch === 0) {
    batch = t.code[t.pc]!;
    t.pc += 1;
  }
  chargeMoved(t, count);
  const values = stack.slice(at + 1, at + 1 + count);
  t.machine.bytes(table.setItems((batch - 1) * LIST_BATCH, values));
}

export function opClose(t: Thread, i: number): void {
  closeUpvalues(t, t.base + aOf(i));
}

/** `...`: the arguments beyond the named ones. */
export function opVarArgs(t: Thread, i: number): void {
  const { stack, frame } = t;
  const at = t.base + aOf(i);
  const wanted = bOf(i) - 1;
  const count = wanted < 0 ? frame.extra : wanted;
  if (wanted < 0) {
    ensureStack(t, at + count);
    t.top = at + count;
  }
  chargeMoved(t, count);
  const first = t.base - frame.extra;
  for (let n = 0; n < count; n++) {
    stack[at + n] = n < frame.extra ? stack[first + n] : undefined;
  }
}

function chargeMoved(t: Thread, count: number): void {
  if (count >= VALUES_PER_STEP) t.machine.steps(Math.floor(count / VALUES_PER_STEP));
}
