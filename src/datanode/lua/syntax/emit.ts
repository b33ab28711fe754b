/** Instructions and jumps. Jumps that wait for one target are a list through their offsets. */
import type { FunctionState } from './function-state.ts';
import {
  aOf,
  bOf,
  cOf,
  encodeABC,
  encodeABx,
  NO_REGISTER,
  OFFSET_MAX,
  OP,
  offsetOf,
  opOf,
  withA,
  withB,
  withOffset,
} from './opcodes.ts';

/** No jump, and the end of a list of jumps. */
export const NO_JUMP = -1;

export function emit(fs: FunctionState, op: number, a: number, b: number, c: number): number {
  settlePending(fs);
  return fs.append(encodeABC(op, a, b, c), fs.lexer.lastLine);
}

export function emitWide(fs: FunctionState, op: number, a: number, bx: number): number {
  settlePending(fs);
  return fs.append(encodeABx(op, a, bx), fs.lexer.lastLine);
}

/** `count` registers are nil; one instruction serves those right before as well. */
export function emitNil(fs: FunctionState, from: number, count: number): void {
  const at = fs.pc - 1;
  const last = fs.code[at];
  if (last !== undefined && fs.pc > fs.lastTarget && opOf(last) === OP.loadNil) {
    const end = bOf(last);
    if (aOf(last) <= from && from <= end + 1) {
      if (from + count - 1 > end) fs.code[at] = withB(last, from + count - 1);
      return;
    }
  }
  emit(fs, OP.loadNil, from, from + count - 1, 0);
}

/** A jump to what is not yet known, with those that wait to come here. */
export function emitJump(fs: FunctionState): number {
  const waiting = fs.pendingJumps;
  fs.pendingJumps = NO_JUMP;
  const jump = emitWide(fs, OP.jump, 0, NO_JUMP + OFFSET_MAX);
  return concatJumps(fs, jump, waiting);
}

/** A place that something jumps to: what is before it is not to be changed any more. */
export function label(fs: FunctionState): number {
  fs.lastTarget = fs.pc;
  return fs.pc;
}

/** The two lists as one. */
export function concatJumps(fs: FunctionState, first: number, second: number): number {
  if (second === NO_JUMP) return first;
  if (first === NO_JUMP) return second;
  setTarget(fs, fs.lastJumps.get(first) ?? first, second);
  fs.lastJumps.set(first, fs.lastJumps.get(second) ?? second);
  return first;
}

/** All of a list go to `target`. */
export function patchJumps(fs: FunctionState, list: number, target: number): void {
  if (target === fs.pc) patchToHere(fs, list);
  else patchList(fs, list, target, NO_REGISTER, target);
}

export function patchToHere(fs: FunctionState, list: number): void {
  label(fs);
  fs.pendingJumps = concatJumps(fs, fs.pendingJumps, list);
}

/**
 * Those whose test leaves a value go to `withValue`, with it in the register; the others to `without`, where
 * the value is made.
 */
export function patchList(
  fs: FunctionState,
  list: number,
  withValue: number,
  register: number,
  without: number,
): void {
  for (let at = list; at !== NO_JUMP; ) {
    const next = targetOf(fs, at);
    setTarget(fs, at, leaveValue(fs, at, register) ? withValue : without);
    at = next;
  }
}

/** Where the test of a jump is: before it, or the jump itself. */
export function testOf(fs: FunctionState, jump: number): number {
  const before = jump - 1;
  return before >= 0 && isTest(opOf(fs.code[before]!)) ? before : jump;
}

/** Whether one of them leaves no value behind. */
export function needsValue(fs: FunctionState, list: number): boolean {
  for (let at = list; at !== NO_JUMP; at = targetOf(fs, at)) {
    if (opOf(fs.code[testOf(fs, at)]!) !== OP.testSet) return true;
  }
  return false;
}

/** None of them is to leave a value. */
export function dropValues(fs: FunctionState, list: number): void {
  for (let at = list; at !== NO_JUMP; at = targetOf(fs, at)) leaveValue(fs, at, NO_REGISTER);
}

function leaveValue(fs: FunctionState, jump: number, register: number): boolean {
  const at = testOf(fs, jump);
  const i = fs.code[at]!;
  if (opOf(i) !== OP.testSet) return false;
  if (register !== NO_REGISTER && register !== bOf(i)) fs.code[at] = withA(i, register);
  else fs.code[at] = encodeABC(OP.test, bOf(i), 0, cOf(i)) | 0;
  return true;
}

function settlePending(fs: FunctionState): void {
  const list = fs.pendingJumps;
  fs.pendingJumps = NO_JUMP;
  patchList(fs, list, fs.pc, NO_REGISTER, fs.pc);
}

function targetOf(fs: FunctionState, jump: number): number {
  const offset = offsetOf(fs.code[jump]!);
  return offset === NO_JUMP ? NO_JUMP : jump + 1 + offset;
}

function setTarget(fs: FunctionState, jump: number, target: number): void {
  const offset = target - (jump + 1);
  if (Math.abs(offset) > OFFSET_MAX) fs.lexer.failHere('control structure too long');
  fs.code[jump] = withOffset(fs.code[jump]!, offset);
}

function isTest(op: number): boolean {
  return (op >= OP.equal && op <= OP.testSet) || op === OP.forTest;
}
