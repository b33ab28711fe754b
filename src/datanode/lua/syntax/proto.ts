/** What a function of a script is before it runs: nothing changes it, so that all runs share it. */
import type { LuaValue } from '../values/value.ts';

export interface Proto {
  readonly code: Int32Array;
  /** Of each instruction. */
  readonly lines: Int32Array;
  readonly constants: readonly LuaValue[];
  readonly protos: readonly Proto[];
  readonly upvalues: readonly UpvalueSource[];
  readonly locals: readonly LocalVariable[];
  readonly parameterCount: number;
  readonly isVararg: boolean;
  /** It takes its varargs in a table `arg`, as functions do that do not name `...`. */
  readonly needsArg: boolean;
  readonly stackSize: number;
  /** The chunk's name as it was given to `compile`. */
  readonly source: string;
  /** As messages show it. */
  readonly shownSource: string;
}

/** Where a closure finds a variable of around it when it is made. */
export interface UpvalueSource {
  readonly name: string;
  /** In a register of the function that makes it, or among what that one has itself from around it. */
  readonly isLocal: boolean;
  readonly index: number;
}

/** For error messages: which variable a register is, and from which instruction to which. */
export interface LocalVariable {
  readonly name: string;
  start: number;
  end: number;
}
