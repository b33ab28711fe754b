/** Calls and returns. A call of the script is a frame of its thread: nothing here calls itself. */
import { aOf, bOf, cOf } from '../syntax/opcodes.ts';
import { LuaError } from '../values/error.ts';
import type { LuaRun, NativeFunction } from '../values/function.ts';
import { LuaTable } from '../values/table.ts';
import type { LuaValue } from '../values/value.ts';
import { LuaClosure } from './closure.ts';
import { runtimeError, typeError, UNNAMED } from './errors.ts';
import { ALL, type Frame, RESULT, type Values } from './frame.ts';
import { metamethod } from './metatables.ts';
import { nest, raisedHere } from './nesting.ts';
import { deliver } from './results.ts';
import { ensureStack, popFrame, pushFrame, type Thread } from './thread.ts';
import { closeUpvalues } from './upvalues.ts';

/** Lua's own limit of calls within each other; of those that a library or the machine has made see nesting.ts. */
const CALLS_MAX = 20_000;
/** So many values are moved by one step. */
const VALUES_PER_STEP = 16;

/** The function in a register with `count` arguments behind it. */
export function call(
  t: Thread,
  callee: number,
  count: number,
  wanted: number,
  result: number,
  target: number,
): void {
  const f = t.stack[callee];
  if (f instanceof LuaClosure) enter(t, f, callee, count, wanted, result, target);
  else if (isNative(f)) callNative(t, f, callee, count, wanted, result, target);
  else call(t, callee, insertHandler(t, callee, count, UNNAMED), wanted, result, target);
}

/** A call that no instruction has made: of a metamethod, or for a library. */
export function callFromWithin(
  t: Thread,
  callee: number,
  count: number,
  wanted: number,
  result: number,
  target: number,
): void {
  nest(t);
  const depth = t.depth;
  try {
    call(t, callee, count, wanted, result, target);
  } catch (failure) {
    // One that has not begun is not ended by the unwinding of frames.
    if (t.depth === depth) {
      if (failure instanceof LuaError) raisedHere(t, failure);
      t.boundaries -= 1;
    }
    throw failure;
  }
}

export function isNative(f: LuaValue): f is NativeFunction {
  return typeof f === 'object' && (f as { readonly kind?: string }).kind === 'native';
}

export function isCallable(t: Thread, f: LuaValue): boolean {
  return isFunction(f) || isFunction(metamethod(t, f, '__call'));
}

export function isFunction(f: LuaValue): boolean {
  return f instanceof LuaClosure || isNative(f);
}

export function opCall(t: Thread, i: number): void {
  const callee = t.base + aOf(i);
  const b = bOf(i);
  const count = b === 0 ? t.top - callee - 1 : b - 1;
  const f = t.stack[callee];
  const wanted = cOf(i) - 1;
  if (f instanceof LuaClosure) {
    enter(t, f, callee, count, wanted, RESULT.registers, 0);
  } else if (isNative(f)) {
    callNative(t, f, callee, count, wanted, RESULT.registers, 0);
  } else {
    const more = insertHandler(t, callee, count, aOf(i));
    call(t, callee, more, wanted, RESULT.registers, 0);
  }
}

/** The function that runs is over: its frame is the called one's. */
export function opTailCall(t: Thread, i: number): void {
  const callee = t.base + aOf(i);
  const b = bOf(i);
  let count = b === 0 ? t.top - callee - 1 : b - 1;
  const { stack, frame } = t;
  if (!isFunction(stack[callee])) {
    count = insertHandler(t, callee, count, aOf(i));
  }
  const f = stack[callee];
  if (!(f instanceof LuaClosure)) return call(t, callee, count, ALL, RESULT.registers, 0);
  if (t.open.length > 0) closeUpvalues(t, frame.base);
  for (let n = 0; n <= count; n++) stack[frame.callee + n] = stack[callee + n];
  const tailCalls = frame.tailCalls + 1;
  t.depth -= 1;
  enter(t, f, frame.callee, count, frame.wanted, frame.result, frame.target);
  t.frame.tailCalls = tailCalls;
}

export function opReturn(t: Thread, i: number): void {
  const first = t.base + aOf(i);
  const b = bOf(i);
  leave(t, first, b === 0 ? t.top - first : b - 1);
}

function leave(t: Thread, first: number, count: number): void {
  const { frame, stack } = t;
  if (t.open.length > 0) closeUpvalues(t, frame.base);
  if (frame.result !== RESULT.registers) {
    const values = stack.slice(first, first + count);
    popFrame(t);
    return deliver(t, frame.callee, frame.wanted, frame.result, frame.target, values);
  }
  const { callee, wanted } = frame;
  popFrame(t);
  if (wanted === ALL) {
    for (let n = 0; n < count; n++) stack[callee + n] = stack[first + n];
    t.top = callee + count;
  } else {
    for (let n = 0; n < wanted; n++) stack[callee + n] = n < count ? stack[first + n] : undefined;
  }
}

function enter(
  t: Thread,
  f: LuaClosure,
  callee: number,
  count: number,
  wanted: number,
  result: number,
  target: number,
): void {
  if (t.depth >= CALLS_MAX) throw runtimeError(t, 'stack overflow');
  const { proto } = f;
  const { stack } = t;
  let base = callee + 1;
  let extra = 0;
  if (proto.isVararg) {
    extra = Math.max(count - proto.parameterCount, 0);
    base += Math.max(count, proto.parameterCount);
  }
  ensureStack(t, base + proto.stackSize);
  for (let n = count; n < proto.parameterCount; n++) stack[callee + 1 + n] = undefined;
  if (proto.isVararg) takeExtra(t, f, callee, base, extra);
  const frame = pushFrame(t);
  frame.closure = f;
  frame.run = undefined;
  frame.callee = callee;
  frame.base = base;
  frame.extra = extra;
  frame.wanted = wanted;
  frame.result = result;
  frame.target = target;
  frame.tailCalls = 0;
  t.base = base;
  t.pc = 0;
  t.code = proto.code;
  t.constants = proto.constants;
}

/** The named arguments go to the registers; the others stay where `...` finds them. */
function takeExtra(t: Thread, f: LuaClosure, callee: number, base: number, extra: number): void {
  const { stack } = t;
  const { parameterCount, needsArg } = f.proto;
  for (let n = 0; n < parameterCount; n++) {
    stack[base + n] = stack[callee + 1 + n];
    stack[callee + 1 + n] = undefined;
  }
  if (f.proto.needsArg) {
    t.machine.bytes(ARG_BYTES + extra * SLOT_BYTES);
    const arg = new LuaTable();
    const first = callee + 1 + parameterCount;
    for (let n = 0; n < extra; n++) arg.set(n + 1, stack[first + n]);
    arg.set('n', extra);
    stack[base + parameterCount] = arg;
  } else if (!needsArg) {
    stack[base + parameterCount] = undefined;
  }
}

const ARG_BYTES = 160;
const SLOT_BYTES = 16;

function callNative(
  t: Thread,
  f: NativeFunction,
  callee: number,
  count: number,
  wanted: number,
  result: number,
  target: number,
): void {
  const { machine } = t;
  if (count >= VALUES_PER_STEP) machine.steps(Math.floor(count / VALUES_PER_STEP));
  const args = t.stack.slice(callee + 1, callee + 1 + count);
  machine.runningNative = f;
  machine.beginCall();
  const outcome = f.run(args, machine);
  machine.endCall();
  machine.runningNative = undefined;
  if (isRun(outcome)) pushNative(t, outcome, callee, wanted, result, target);
  else deliver(t, callee, wanted, result, target, outcome);
}

function isRun(outcome: Values | LuaRun): outcome is LuaRun {
  return !Array.isArray(outcome);
}

function pushNative(
  t: Thread,
  run: LuaRun,
  callee: number,
  wanted: number,
  result: number,
  target: number,
): void {
  if (t.depth >= CALLS_MAX) throw runtimeError(t, 'stack overflow');
  const frame: Frame = pushFrame(t);
  frame.closure = undefined;
  frame.run = run;
  frame.callee = callee;
  frame.base = callee + 1;
  frame.wanted = wanted;
  frame.result = result;
  frame.target = target;
  frame.tailCalls = 0;
  frame.handling = 0;
  t.machine.answer([]);
}

/** `__call`: the value itself becomes the first argument. Answers how many there are now. */
function insertHandler(t: Thread, callee: number, count: number, register: number): number {
  const { stack } = t;
  const handler = metamethod(t, stack[callee], '__call');
  if (!isFunction(handler)) {
    throw typeError(t, stack[callee], 'call', register);
  }
  ensureStack(t, callee + count + 2);
  for (let at = callee + count; at >= callee; at--) stack[at + 1] = stack[at];
  stack[callee] = handler;
  return count + 1;
}
