/** An argument that a function of a library does not take. */
import { LuaError } from './error.ts';

/**
 * It says the function's own name; Lua says how the function was called, and does not count the object of
 * a method call. Only the machine knows that: it makes the message anew where it differs.
 */
export class LuaArgumentError extends LuaError {
  /** 1: the first. */
  readonly argument: number;
  readonly reason: string;

  constructor(argument: number, name: string, reason: string) {
    super(argumentMessage(argument, name, reason));
    this.argument = argument;
    this.reason = reason;
  }
}

export function argumentMessage(argument: number, name: string, reason: string): string {
  return `bad argument #${argument} to '${name}' (${reason})`;
}
