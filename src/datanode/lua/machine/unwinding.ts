/** From an error to who catches it: a library's function that waits for a call, or nobody. */
import { argumentMessage, LuaArgumentError } from '../values/argument-error.ts';
import { LuaError } from '../values/error.ts';
import type { LuaRequest, LuaRun } from '../values/function.ts';
import { formatNumber } from '../values/numbers.ts';
import { positionOf, where } from './errors.ts';
import { RESULT, type Values } from './frame.ts';
import type { HostRequest } from './machine.ts';
import { nameOfCalled } from './names.ts';
import { endHandling, raisedHere } from './nesting.ts';
import { popFrame, type Thread } from './thread.ts';
import { closeUpvalues } from './upvalues.ts';

/** The host takes as long for an error as for so many instructions. */
const ERROR_STEPS = 200;

/**
 * The thread that goes on is the machine's current one; answers what it asks of the host first. Throws what
 * nobody catches; limits, and failures that are none of the script's.
 */
export function unwind(from: Thread, failure: unknown): HostRequest | undefined {
  let t = from;
  let error = located(t, failure);
  for (;;) {
    t.machine.runningNative = undefined;
    t.machine.endCall();
    if (t.depth === 0) {
      t.status = 'dead';
      if (t.resumer === undefined) throw error;
      t = t.resumer;
      t.status = 'running';
    } else if (t.frame.run === undefined) {
      dropFrame(t);
    } else {
      t.machine.makeCurrent(t);
      const outcome = throwInto(t, t.frame.run, error);
      if (!(outcome instanceof LuaError)) return outcome;
      error = outcome;
    }
  }
}

/** The error that is left, or what is asked of the host. */
function throwInto(t: Thread, run: LuaRun, error: LuaError): HostRequest | undefined | LuaError {
  let step: IteratorResult<LuaRequest, Values>;
  closeUpvalues(t, t.frame.base);
  endHandling(t);
  try {
    step = run.throw(error);
  } catch (next) {
    const left = next === error ? error : located(t, next);
    dropFrame(t);
    return left;
  }
  try {
    if (!step.done) return t.machine.serve(t, step.value);
    t.machine.finishNative(t, step.value);
    return undefined;
  } catch (next) {
    return located(t, next);
  }
}

function dropFrame(t: Thread): void {
  const { frame } = t;
  if (frame.result !== RESULT.registers && frame.result !== RESULT.end) t.boundaries -= 1;
  popFrame(t);
}

/** With the position in front of its message, and no level any more. */
function located(t: Thread, failure: unknown): LuaError {
  if (!(failure instanceof LuaError)) throw failure;
  t.machine.steps(ERROR_STEPS);
  raisedHere(t, failure);
  return inWords(t, failure).raisedWithin(failure.raised);
}

function inWords(t: Thread, failure: LuaError): LuaError {
  const { level, value } = worded(t, failure);
  const position = positionOf(t);
  const isText = typeof value === 'string' || typeof value === 'number';
  if (level === 0 || !isText) return new LuaError(value, 0, failure.position ?? position);
  // A library's function without a frame is level 0 itself.
  const below = t.machine.runningNative === undefined ? level : level - 1;
  const text = typeof value === 'number' ? formatNumber(value) : value;
  return new LuaError(`${where(t, below)}${text}`, 0, position);
}

/** With the name by which the function was called; an object before a colon is no argument. */
function worded(t: Thread, failure: LuaError): LuaError {
  if (!(failure instanceof LuaArgumentError)) return failure;
  const called = nameOfCalled(t, t.machine.runningNative === undefined);
  const { reason } = failure;
  const argument = failure.argument - (called?.kind === 'method' ? 1 : 0);
  const message =
    called?.kind === 'method' && argument === 0
      ? `calling '${called.name}' on bad self (${reason})`
      : argumentMessage(argument, called?.name ?? '?', reason);
  return new LuaError(message, failure.level);
}
