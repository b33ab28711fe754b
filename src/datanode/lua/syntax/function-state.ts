/** A function that is being compiled: its code so far, its registers, variables and constants. */
import type { LuaValue } from '../values/value.ts';
import type { Lexer } from './lexer.ts';
import { BX_MAX } from './opcodes.ts';
import type { LocalVariable, Proto, UpvalueSource } from './proto.ts';

const STACK_MAX = 250;
const NIL_KEY = {};

export interface Block {
  readonly around: Block | undefined;
  breaks: number;
  /** How many local variables are active outside of it. */
  readonly active: number;
  hasUpvalue: boolean;
  readonly isLoop: boolean;
}

export class FunctionState {
  readonly around: FunctionState | undefined;
  readonly lexer: Lexer;
  readonly lineDefined: number;
  readonly code: number[] = [];
  readonly lines: number[] = [];
  readonly constants: LuaValue[] = [];
  readonly protos: Proto[] = [];
  readonly upvalues: UpvalueSource[] = [];
  readonly locals: LocalVariable[] = [];
  /** Of the variables that have been declared: their places in `locals`. The first ones are active. */
  readonly declared: number[] = [];
  activeCount = 0;
  block: Block | undefined;
  freeRegister = 0;
  stackSize = 2;
  /** The last place that something jumps to. */
  lastTarget = -1;
  /** Jumps to the next instruction. */
  pendingJumps = -1;
  /** The last jump of each list of several, by its first: without it, long lists would take quadratic time. */
  readonly lastJumps = new Map<number, number>();
  /** The registers of active local variables, by their name; the innermost is the last. */
  readonly activeByName = new Map<string, number[]>();
  parameterCount = 0;
  isVararg = false;
  needsArg = false;
  private readonly constantPlaces = new Map<unknown, number>();

  constructor(lexer: Lexer, around: FunctionState | undefined, lineDefined: number) {
    this.lexer = lexer;
    this.around = around;
    this.lineDefined = lineDefined;
  }

  get pc(): number {
    return this.code.length;
  }

  /** Appends an instruction whose jumps are settled; `emit.ts` settles them. */
  append(instruction: number, line: number): number {
    this.code.push(instruction | 0);
    this.lines.push(line);
    return this.code.length - 1;
  }

  reserve(count: number): void {
    this.checkStack(count);
    this.freeRegister += count;
  }

  checkStack(count: number): void {
    const size = this.freeRegister + count;
    if (size <= this.stackSize) return;
    if (size >= STACK_MAX) this.lexer.failHere('function or expression too complex');
    this.stackSize = size;
  }

  /** A register above the local variables is given back. */
  release(register: number): void {
    if (register >= this.activeCount && register < 0x100) this.freeRegister -= 1;
  }

  constant(value: LuaValue): number {
    // 0 and -0 are one constant, as in Lua 5.1: whichever came first.
    const key = value === undefined ? NIL_KEY : value;
    const known = this.constantPlaces.get(key);
    if (known !== undefined) return known;
    const place = this.constants.length;
    if (place > BX_MAX) this.lexer.fail('constant table overflow');
    this.constants.push(value);
    this.constantPlaces.set(key, place);
    return place;
  }

  checkLimit(count: number, most: number, what: string): void {
    if (count <= most) return;
    const who = this.lineDefined === 0 ? 'main function' : `function at line ${this.lineDefined}`;
    this.lexer.fail(`${who} has more than ${most} ${what}`);
  }

  toProto(source: string): Proto {
    return {
      code: Int32Array.from(this.code),
      lines: Int32Array.from(this.lines),
      constants: this.constants,
      protos: this.protos,
      upvalues: this.upvalues,
      locals: this.locals,
      parameterCount: this.parameterCount,
      isVararg: this.isVararg,
      needsArg: this.needsArg,
      stackSize: this.stackSize,
      source,
      shownSource: this.lexer.name,
    };
  }
}
