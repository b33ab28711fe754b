/** Calls of metamethods: their arguments go behind the registers of the function that runs. */
import type { LuaValue } from '../values/value.ts';
import { callFromWithin } from './calls.ts';
import { ensureStack, type Thread } from './thread.ts';

export function callHandler(
  t: Thread,
  handler: LuaValue,
  args: readonly LuaValue[],
  result: number,
  target: number,
): void {
  const callee = t.base + t.frame.closure!.proto.stackSize;
  ensureStack(t, callee + args.length + 1);
  t.stack[callee] = handler;
  for (let n = 0; n < args.length; n++) t.stack[callee + 1 + n] = args[n];
  callFromWithin(t, callee, args.length, 1, result, target);
}
