/** What ends a script, or the part of it within a `pcall`. */
import type { LuaValue } from './value.ts';

/** Where the message is to say that it happened: nowhere (0); in who called the library; in who called that. */
export type Level = number;

/** Of the line that ran when an error was raised; `source` is a chunk's name as it was given to `compile`. */
export interface Position {
  readonly source: string;
  readonly line: number;
}

/** What the calls around an error mean to a handler of it. */
export interface Raised {
  /** That a library or the machine had made, when it was raised. */
  readonly calls: number;
  /** What the handler is told instead, where its own call is one too many. */
  readonly overflow?: string;
  /** No handler is called. */
  readonly isUnhandled?: boolean;
}

/** Raised by `error`, by an operation on the wrong type, by a library; any value may be raised. */
export class LuaError extends Error {
  override readonly name = 'LuaError';
  readonly value: LuaValue;
  /** The machine puts `user_script:3: ` in front of a string, and takes the level away. */
  readonly level: Level;
  /** Of errors that leave the machine. */
  readonly position: Position | undefined;
  raised: Raised | undefined;

  constructor(value: LuaValue, level: Level = 1, position?: Position) {
    super(typeof value === 'string' ? value : 'an error that is no string');
    this.value = value;
    this.level = level;
    this.position = position;
  }

  raisedWithin(raised: Raised | undefined): this {
    this.raised = raised;
    return this;
  }
}

/** A script that would run too long or make too much: no `pcall` catches it. */
export class ScriptLimitError extends Error {
  override readonly name = 'ScriptLimitError';
}
