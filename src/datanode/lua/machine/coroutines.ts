/** From one coroutine to another. */
import { LuaError } from '../values/error.ts';
import { call } from './calls.ts';
import { ALL, RESULT, type Values } from './frame.ts';
import { nestCoroutine } from './nesting.ts';
import { ensureStack, type Thread } from './thread.ts';

/** The function is in the first register of one that has not begun. */
export function resume(t: Thread, to: Thread, args: Values): void {
  if (to.status !== 'suspended') throw new LuaError(`cannot resume ${whyNot(to)} coroutine`, 0);
  nestCoroutine(t, to);
  to.resumer = t;
  t.status = 'normal';
  if (to.depth > 0) return t.machine.switchTo(to, args);
  to.status = 'running';
  ensureStack(to, args.length + 1);
  for (let n = 0; n < args.length; n++) to.stack[1 + n] = args[n];
  t.machine.makeCurrent(to);
  call(to, 0, args.length, ALL, RESULT.end, 0);
}

function whyNot(t: Thread): string {
  return t.status === 'dead' ? 'dead' : 'running';
}

/** Back to who has resumed this one. */
export function yieldValues(t: Thread, values: Values): void {
  if (t.boundaries > 0 || t.resumer === undefined) {
    throw new LuaError('attempt to yield across metamethod/C-call boundary', 0);
  }
  t.status = 'suspended';
  t.machine.switchTo(t.resumer, values);
}
