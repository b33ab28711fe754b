/** `for`: with numbers, and with a function that gives what comes next. */
import { aOf, cOf, offsetOf } from '../syntax/opcodes.ts';
import { toNumber } from './arithmetic.ts';
import { callFromWithin, isCallable } from './calls.ts';
import { runtimeError, typeError } from './errors.ts';
import { RESULT } from './frame.ts';
import { ensureStack, type Thread } from './thread.ts';

export function opForPrepare(t: Thread, i: number): void {
  const { stack } = t;
  const at = t.base + aOf(i);
  const index = toNumber(t, stack[at]);
  const limit = toNumber(t, stack[at + 1]);
  const step = toNumber(t, stack[at + 2]);
  if (index === undefined) throw runtimeError(t, "'for' initial value must be a number");
  if (limit === undefined) throw runtimeError(t, "'for' limit must be a number");
  if (step === undefined) throw runtimeError(t, "'for' step must be a number");
  stack[at] = index - step;
  stack[at + 1] = limit;
  stack[at + 2] = step;
  t.pc += offsetOf(i);
}

export function opForLoop(t: Thread, i: number): void {
  const { stack } = t;
  const at = t.base + aOf(i);
  const step = stack[at + 2] as number;
  const index = (stack[at] as number) + step;
  const limit = stack[at + 1] as number;
  if (step > 0 ? index <= limit : limit <= index) {
    t.pc += offsetOf(i);
    stack[at] = index;
    stack[at + 3] = index;
  }
}

export function opForCall(t: Thread, i: number): void {
  const { stack } = t;
  const at = t.base + aOf(i);
  ensureStack(t, at + 6);
  for (let n = 0; n < 3; n++) stack[at + 3 + n] = stack[at + n];
  if (!isCallable(t, stack[at])) throw typeError(t, stack[at], 'call', aOf(i) + 3);
  callFromWithin(t, at + 3, 2, cOf(i), RESULT.iteration, 0);
}

/** The first result is the next control value; nil ends the loop, and leaves out the jump back. */
export function opForTest(t: Thread, i: number): void {
  const at = t.base + aOf(i);
  const control = t.stack[at + 3];
  if (control === undefined) t.pc += 1;
  else t.stack[at + 2] = control;
}
