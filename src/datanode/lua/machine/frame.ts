/** One call that is not over: of a function of the script, or of a library's that waits for something. */
import type { LuaRun } from '../values/function.ts';
import type { LuaValue } from '../values/value.ts';
import type { LuaClosure } from './closure.ts';

/** What becomes of the results of a call. */
export const RESULT = {
  /** They take the place of the function and its arguments. */
  registers: 0,
  /** The first one goes into the register `target`. */
  value: 1,
  /** The first one decides a comparison; `target` 1: the other way round. */
  condition: 2,
  none: 3,
  /** The first one is in the register `target`, and the concatenation goes on from there. */
  concatenation: 4,
  /** A step of `for in`: as `registers`, but of a call that the machine has made. */
  iteration: 5,
  /** They are the answer that the library's function below waits for. */
  native: 6,
  /** The coroutine is over. */
  end: 7,
} as const;

/** All results of a call, however many. */
export const ALL = -1;

export class Frame {
  closure: LuaClosure | undefined;
  run: LuaRun | undefined;
  /** Where the function is; its arguments are behind. */
  callee = 0;
  /** The first register. */
  base = 0;
  /** How many arguments there are beyond the named ones, before `base`. */
  extra = 0;
  /** The next instruction, while others run. */
  pc = 0;
  wanted = 0;
  result = 0;
  target = 0;
  /** How many calls have ended in this one (`return f()`): they are gone, but levels count them. */
  tailCalls = 0;
  /** Of a library's function: so many calls count as under way that are not, while a handler of errors runs. */
  handling = 0;
}

/** What a frame's call is for: given on to whoever takes the results. */
export interface Return {
  readonly wanted: number;
  readonly result: number;
  readonly target: number;
}

export type Values = readonly LuaValue[];
