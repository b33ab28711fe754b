/** What ends a script, or the part of it within a `pcall`. */
import type { LuaValue } from './value.ts';

/** Where the message is to say that it happened: nowhere; in who called the library; in who called that. */
export type Level = 0 | 1 | 2;

/** Raised by `error`, by an operation on the wrong type, by a library; any value may be raised. */
export class LuaError extends Error {
  override readonly name = 'LuaError';
  readonly value: LuaValue;
  /** The machine puts `user_script:3: ` in front of a string, and takes the level away. */
  readonly level: Level;

  constructor(value: LuaValue, level: Level = 1) {
    super(typeof value === 'string' ? value : 'an error that is no string');
    this.value = value;
    this.level = level;
  }
}

/** A script that would run too long or make too much: no `pcall` catches it. */
export class ScriptLimitError extends Error {
  override readonly name = 'ScriptLimitError';
}
