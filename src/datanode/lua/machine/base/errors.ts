/** `error`, `assert`, `pcall`, `xpcall`. */
import { checkInt, optionalText, refuse } from '../../library/arguments.ts';
import { LuaError } from '../../values/error.ts';
import { type Library, type LuaRun, native } from '../../values/function.ts';
import { LuaTable } from '../../values/table.ts';
import { isTruthy, type LuaValue } from '../../values/value.ts';
import { isFunction } from '../calls.ts';
import type { Values } from '../frame.ts';
import type { Machine } from '../machine.ts';
import { IN_HANDLING, nextHandling } from '../nesting.ts';
import type { MachineRun } from '../requests.ts';
import { checkAny } from './arguments.ts';

/** So often an error of the handler of errors is given to the handler. */
const HANDLER_ERRORS_MAX = 221;

const error = native('error', (args, meter) => {
  const level = args[1] === undefined ? 1 : checkInt(args, 2, 'error', meter);
  throw new LuaError(args[0], Math.max(level, 0));
});

const assert = native('assert', (args) => {
  checkAny(args, 1, 'assert');
  if (isTruthy(args[0])) return args;
  const message = optionalText(args, 2, 'assert', 'assertion failed!');
  throw new LuaError(message);
});

const pcall = native('pcall', (args) => {
  // Redis puts a value of its own before the arguments, and calls it when there are none.
  const [callee, ...rest] = args.length === 0 ? [true] : args;
  return protectedCall(callee, rest);
});

function* protectedCall(callee: LuaValue, args: Values): LuaRun {
  try {
    const results = yield { kind: 'call', callee, args };
    return [true, ...results];
  } catch (failure) {
    if (!(failure instanceof LuaError)) throw failure;
    return [false, ...caught(failure.value)];
  }
}

/** As Redis's own `pcall` has it: of a table the field `err`, if it is a string. */
function caught(value: LuaValue): Values {
  if (!(value instanceof LuaTable)) return [value];
  const message = value.get('err');
  const isText = typeof message === 'string' || typeof message === 'number';
  return isText ? [message] : [value, message];
}

const xpcall = native('xpcall', (args, meter) => {
  if (args.length < 2) refuse(2, 'xpcall', 'value expected');
  const isAsBefore = (meter as Machine).handlesWhereCaught;
  return isAsBefore
    ? handledWhereCaught(args[0], args[1])
    : (handledCall(args[0], args[1]) as LuaRun);
});

/**
 * Lua calls the handler where the error was raised, as one call more, and once more for an error of the handler
 * itself, until there is no room even for handlers. Here the calls in between are over, but count.
 */
function* handledCall(callee: LuaValue, handler: LuaValue): MachineRun {
  let failure: LuaError;
  try {
    const results = yield { kind: 'call', callee, args: [] };
    return [true, ...results];
  } catch (thrown) {
    failure = asLuaError(thrown);
  }
  while (isFunction(handler)) {
    const next = nextHandling(failure);
    if (next === undefined) break;
    try {
      const results = yield { kind: 'handle', handler, ...next };
      return [false, results[0]];
    } catch (thrown) {
      failure = asLuaError(thrown);
    }
  }
  return [false, IN_HANDLING];
}

function asLuaError(failure: unknown): LuaError {
  if (!(failure instanceof LuaError)) throw failure;
  return failure;
}

/** As builds did whose entries are of an older version. */
function* handledWhereCaught(callee: LuaValue, handler: LuaValue): LuaRun {
  let raised: LuaValue;
  try {
    const results = yield { kind: 'call', callee, args: [] };
    return [true, ...results];
  } catch (thrown) {
    raised = asLuaError(thrown).value;
  }
  for (let n = 0; n < HANDLER_ERRORS_MAX; n++) {
    try {
      const results = yield { kind: 'call', callee: handler, args: [raised] };
      return [false, results[0]];
    } catch (thrown) {
      raised = asLuaError(thrown).value;
    }
  }
  return [false, IN_HANDLING];
}

export const errors: Library = { error, assert, pcall, xpcall };
