/**
 * Calls that a library or the machine has made, within each other: Lua's own are calls of the host, of which it has
 * room for so many. A handler of errors runs where the error was raised, so it has a few more.
 */
import { LuaError } from '../values/error.ts';
import type { LuaValue } from '../values/value.ts';
import { prefixOf, runtimeError } from './errors.ts';
import type { Thread } from './thread.ts';

/** The call that is one too many, and where no handler is called any more. */
const NESTED_MAX = 200;
const HANDLED_MAX = 225;
const OVERFLOW = 'C stack overflow';

export const IN_HANDLING = 'error in error handling';

/** Those under way, with those of the coroutines that wait for this one. */
export function nestedCalls(t: Thread): number {
  return t.boundaries + t.boundariesBelow + 1;
}

/** One more begins. */
export function nest(t: Thread): void {
  const calls = nestedCalls(t) + 1;
  if (calls === NESTED_MAX) throw runtimeError(t, OVERFLOW).raisedWithin({ calls });
  if (calls >= HANDLED_MAX) throw inHandling(calls);
  t.boundaries += 1;
}

/** A coroutine that is resumed counts those below it. */
export function nestCoroutine(t: Thread, to: Thread): void {
  const below = nestedCalls(t);
  // builds before could resume one less
  const most = t.machine.handlesWhereCaught ? NESTED_MAX - 1 : NESTED_MAX;
  if (below >= most) throw runtimeError(t, OVERFLOW);
  to.boundariesBelow = below;
}

/** No handler is asked about it. */
export function inHandling(calls: number): LuaError {
  return new LuaError(IN_HANDLING, 0).raisedWithin({ calls, isUnhandled: true });
}

/** The calls around an error, for the handler that will be called there. */
export function raisedHere(t: Thread, failure: LuaError): void {
  if (failure.raised !== undefined) return;
  const calls = nestedCalls(t);
  if (calls + 1 !== NESTED_MAX) return void failure.raisedWithin({ calls });
  const isAtScript = t.isAtScript && t.machine.runningNative === undefined;
  const overflow = `${isAtScript ? prefixOf(t, t.depth - 1) : ''}${OVERFLOW}`;
  failure.raisedWithin({ calls, overflow });
}

/** How a handler is called for it; undefined: there is no room, or it is not to be asked. */
export function nextHandling({
  raised,
  value,
}: LuaError): { readonly calls: number; readonly error: LuaValue } | undefined {
  if (raised === undefined || raised.isUnhandled) return undefined;
  const calls = raised.calls + 1;
  // what is one too many is an error of its own, and the handler is called for that
  if (calls === NESTED_MAX) return { calls: calls + 1, error: raised.overflow };
  return calls < HANDLED_MAX ? { calls, error: value } : undefined;
}

/** The function that the library's function in the top frame calls next counts as the so many-eth. */
export function handleWithin(t: Thread, calls: number): void {
  const { frame } = t;
  frame.handling = calls - (nestedCalls(t) + 1);
  t.boundaries += frame.handling;
}

/** It is over. */
export function endHandling(t: Thread): void {
  t.boundaries -= t.frame.handling;
  t.frame.handling = 0;
}
