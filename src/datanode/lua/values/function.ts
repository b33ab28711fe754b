/** Functions: those that a script defines, and those of the libraries, which are written here. */
import type { LuaTable } from './table.ts';
import type { LuaUserdata } from './userdata.ts';
import type { LuaValue } from './value.ts';

export type LuaFunction = Closure | NativeFunction;

/** A function of a script, with the variables around it; `machine/` makes and runs them. */
export interface Closure {
  readonly kind: 'closure';
}

/** A function of a library: values in, values out. */
export interface NativeFunction {
  readonly kind: 'native';
  /** As error messages name it: `insert`. */
  readonly name: string;
  /**
   * Throws LuaError. One that calls functions of the script, or waits for the host, is a generator: it
   * yields what it asks for, and is continued with the results.
   */
  readonly run: (args: readonly LuaValue[], meter: Meter) => readonly LuaValue[] | LuaRun;
}

export type LuaRun = Generator<LuaRequest, readonly LuaValue[], readonly LuaValue[]>;

/** An error of what was asked for is thrown at the `yield`: who catches it is a `pcall`. */
export type LuaRequest =
  | { readonly kind: 'call'; readonly callee: LuaValue; readonly args: readonly LuaValue[] }
  /** Handed to whoever runs the machine, who answers with values. */
  | { readonly kind: 'host'; readonly request: unknown };

/**
 * What a script may still do. It counts alike on every replica: neither clocks nor the collector are asked.
 * Each charge throws ScriptLimitError, which no `pcall` catches, when there is not enough left.
 */
export interface Meter {
  /** Work beyond one instruction: of characters, items, comparisons. */
  steps(count: number): void;
  /** Bytes that are made, whether or not they are kept. */
  bytes(count: number): void;
}

export function native(name: string, run: NativeFunction['run']): NativeFunction {
  return { kind: 'native', name, run };
}

/** A table of functions by name, as a library puts it into the globals. */
export type Library = Readonly<
  Record<string, NativeFunction | number | string | LuaTable | LuaUserdata>
>;
