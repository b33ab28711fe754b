/** Errors with the position of what runs, as Lua 5.1 words them. */
import { LuaError, type Position } from '../values/error.ts';
import { parseNumber } from '../values/numbers.ts';
import { type LuaValue, typeName } from '../values/value.ts';
import type { Frame } from './frame.ts';
import { nameOfRegister } from './names.ts';
import type { Thread } from './thread.ts';

/** No register: a constant, or a value that was come upon otherwise. */
export const UNNAMED = -1;

/** An error of the machine: it happened where the script is, or nowhere, if a library's function runs. */
export function runtimeError(t: Thread, message: string): LuaError {
  return new LuaError(t.isAtScript ? `${prefixOf(t, t.depth - 1)}${message}` : message, 0);
}

/** What was tried with a value of the wrong type, and which variable it is. */
export function typeError(t: Thread, value: LuaValue, what: string, register: number): LuaError {
  const type = typeName(value);
  const name = t.isAtScript && register >= 0 ? nameOfRegister(t, register) : undefined;
  const who =
    name === undefined ? `a ${type} value` : `${name.kind} '${name.name}' (a ${type} value)`;
  return runtimeError(t, `attempt to ${what} ${who}`);
}

/** The second operand is to blame, if the first one can be a number. */
export function arithmeticError(t: Thread, x: Operand, y: Operand): LuaError {
  const blamed = isNumeric(x.value) ? y : x;
  return typeError(t, blamed.value, 'perform arithmetic on', blamed.register);
}

export interface Operand {
  readonly value: LuaValue;
  readonly register: number;
}

function isNumeric(value: LuaValue): boolean {
  if (typeof value === 'number') return true;
  return typeof value === 'string' && parseNumber(value) !== undefined;
}

export function comparisonError(t: Thread, x: LuaValue, y: LuaValue): LuaError {
  const [first, second] = [typeName(x), typeName(y)];
  // Lua tells types apart by their third letter.
  const isOne = first[2] === second[2];
  return runtimeError(
    t,
    isOne ? `attempt to compare two ${first} values` : `attempt to compare ${first} with ${second}`,
  );
}

/** Where a function is, so many calls below the top: `user_script:3: `, or nothing. */
export function where(t: Thread, level: number): string {
  let left = level;
  t.machine.steps(Math.min(level, t.depth));
  for (let at = t.depth - 1; at >= 0; at--) {
    if (left === 0) return prefixOf(t, at);
    left -= 1 + t.frames[at]!.tailCalls;
    if (left < 0) return '';
  }
  return '';
}

/** Of the script's innermost function that runs. */
export function positionOf(t: Thread): Position | undefined {
  for (let at = t.depth - 1; at >= 0; at--) {
    const { closure } = t.frames[at]!;
    if (closure === undefined) continue;
    return { source: closure.proto.source, line: lineOf(t, t.frames[at]!) };
  }
  return undefined;
}

export function prefixOf(t: Thread, at: number): string {
  const frame = t.frames[at]!;
  if (frame.closure === undefined) return '';
  return `${frame.closure.proto.shownSource}:${lineOf(t, frame)}: `;
}

function lineOf(t: Thread, frame: Frame): number {
  const pc = frame === t.frame ? t.pc : frame.pc;
  return frame.closure!.proto.lines[pc - 1] ?? 0;
}
