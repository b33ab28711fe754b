/** Code that brings the value of an expression where it is wanted. */
import {
  concatJumps,
  emit,
  emitJump,
  emitNil,
  emitWide,
  label,
  NO_JUMP,
  needsValue,
  patchList,
  patchToHere,
} from './emit.ts';
import { type Expression, hasJumps, isMulti } from './expression.ts';
import type { FunctionState } from './function-state.ts';
import { aOf, B_MAX, CONSTANT, OP, withA, withB, withC } from './opcodes.ts';

const ALL_RESULTS = -1;

/** How many results a call or `...` is to give; −1: all. */
export function setResults(fs: FunctionState, e: Expression, count: number): void {
  if (e.kind === 'call') {
    fs.code[e.info] = withC(fs.code[e.info]!, count + 1);
  } else if (e.kind === 'varArgs') {
    fs.code[e.info] = withA(withB(fs.code[e.info]!, count + 1), fs.freeRegister);
    fs.reserve(1);
  }
}

export function setAllResults(fs: FunctionState, e: Expression): void {
  setResults(fs, e, ALL_RESULTS);
}

export function setOneResult(fs: FunctionState, e: Expression): void {
  if (e.kind === 'call') {
    e.kind = 'fixed';
    e.info = aOf(fs.code[e.info]!);
  } else if (e.kind === 'varArgs') {
    fs.code[e.info] = withB(fs.code[e.info]!, 2);
    e.kind = 'relocatable';
  }
}

/** No variable any more, but its value. */
export function discharge(fs: FunctionState, e: Expression): void {
  if (e.kind === 'local') {
    e.kind = 'fixed';
  } else if (e.kind === 'upvalue') {
    relocatable(e, emit(fs, OP.getUpvalue, 0, e.info, 0));
  } else if (e.kind === 'global') {
    relocatable(e, emitWide(fs, OP.getGlobal, 0, e.info));
  } else if (e.kind === 'indexed') {
    fs.release(e.aux);
    fs.release(e.info);
    relocatable(e, emit(fs, OP.getTable, 0, e.info, e.aux));
  } else if (isMulti(e)) {
    setOneResult(fs, e);
  }
}

function relocatable(e: Expression, instruction: number): void {
  e.info = instruction;
  e.kind = 'relocatable';
}

/** Into the next free register. */
export function toNextRegister(fs: FunctionState, e: Expression): void {
  discharge(fs, e);
  release(fs, e);
  fs.reserve(1);
  toRegister(fs, e, fs.freeRegister - 1);
}

/** Into some register: the one that it is in, if it may stay there. */
export function toAnyRegister(fs: FunctionState, e: Expression): number {
  discharge(fs, e);
  if (e.kind === 'fixed') {
    if (!hasJumps(e)) return e.info;
    if (e.info >= fs.activeCount) {
      toRegister(fs, e, e.info);
      return e.info;
    }
  }
  toNextRegister(fs, e);
  return e.info;
}

export function toValue(fs: FunctionState, e: Expression): void {
  if (hasJumps(e)) toAnyRegister(fs, e);
  else discharge(fs, e);
}

/** As an operand: a constant if it can be one, else a register. */
export function toOperand(fs: FunctionState, e: Expression): number {
  toValue(fs, e);
  const index = constantOf(fs, e);
  if (index !== undefined && index < CONSTANT) {
    e.kind = 'constant';
    e.info = index;
    return index | CONSTANT;
  }
  return toAnyRegister(fs, e);
}

function constantOf(fs: FunctionState, e: Expression): number | undefined {
  if (e.kind === 'constant') return e.info;
  if (fs.constants.length >= CONSTANT) return undefined;
  if (e.kind === 'number') return fs.constant(e.number);
  if (e.kind === 'nil') return fs.constant(undefined);
  if (e.kind === 'true' || e.kind === 'false') return fs.constant(e.kind === 'true');
  return undefined;
}

/** Gives its register back, if it is in one. */
export function release(fs: FunctionState, e: Expression): void {
  if (e.kind === 'fixed') fs.release(e.info);
}

export function toRegister(fs: FunctionState, e: Expression, register: number): void {
  dischargeTo(fs, e, register);
  if (e.kind === 'jump') e.whenTrue = concatJumps(fs, e.whenTrue, e.info);
  if (hasJumps(e)) settleJumps(fs, e, register);
  e.whenTrue = NO_JUMP;
  e.whenFalse = NO_JUMP;
  e.info = register;
  e.kind = 'fixed';
}

function settleJumps(fs: FunctionState, e: Expression, register: number): void {
  let loadsFalse = NO_JUMP;
  let loadsTrue = NO_JUMP;
  if (needsValue(fs, e.whenTrue) || needsValue(fs, e.whenFalse)) {
    const around = e.kind === 'jump' ? NO_JUMP : emitJump(fs);
    loadsFalse = emitBoolean(fs, register, 0, 1);
    loadsTrue = emitBoolean(fs, register, 1, 0);
    patchToHere(fs, around);
  }
  const end = label(fs);
  patchList(fs, e.whenFalse, end, register, loadsFalse);
  patchList(fs, e.whenTrue, end, register, loadsTrue);
}

function emitBoolean(fs: FunctionState, register: number, value: number, skip: number): number {
  label(fs);
  return emit(fs, OP.loadBoolean, register, value, skip);
}

function dischargeTo(fs: FunctionState, e: Expression, register: number): void {
  discharge(fs, e);
  switch (e.kind) {
    case 'nil':
      emitNil(fs, register, 1);
      break;
    case 'true':
    case 'false':
      emit(fs, OP.loadBoolean, register, e.kind === 'true' ? 1 : 0, 0);
      break;
    case 'constant':
      emitWide(fs, OP.loadConstant, register, e.info);
      break;
    case 'number':
      emitWide(fs, OP.loadConstant, register, fs.constant(e.number));
      break;
    case 'relocatable':
      fs.code[e.info] = withA(fs.code[e.info]!, register);
      break;
    case 'fixed':
      if (register !== e.info) emit(fs, OP.move, register, e.info, 0);
      break;
    default:
      return;
  }
  e.info = register;
  e.kind = 'fixed';
}

/** Into a register, if it is not in one, and without a name for it. */
export function dischargeToAnyRegister(fs: FunctionState, e: Expression): void {
  if (e.kind === 'fixed') return;
  fs.reserve(1);
  dischargeTo(fs, e, fs.freeRegister - 1);
}

/** Assigns the value of `e` to a variable. */
export function store(fs: FunctionState, variable: Expression, e: Expression): void {
  if (variable.kind === 'local') {
    release(fs, e);
    toRegister(fs, e, variable.info);
    return;
  }
  if (variable.kind === 'upvalue') {
    emit(fs, OP.setUpvalue, toAnyRegister(fs, e), variable.info, 0);
  } else if (variable.kind === 'global') {
    emitWide(fs, OP.setGlobal, toAnyRegister(fs, e), variable.info);
  } else {
    emit(fs, OP.setTable, variable.info, variable.aux, toOperand(fs, e));
  }
  release(fs, e);
}

/** `e:key` as a function and its first argument, in two registers. */
export function emitSelf(fs: FunctionState, e: Expression, key: Expression): void {
  toAnyRegister(fs, e);
  release(fs, e);
  const at = fs.freeRegister;
  fs.reserve(2);
  emit(fs, OP.self, at, e.info, toOperand(fs, key));
  release(fs, key);
  e.info = at;
  e.kind = 'fixed';
}

/** `table[key]`, where the table is in a register. */
export function indexed(fs: FunctionState, table: Expression, key: Expression): void {
  table.aux = toOperand(fs, key);
  table.kind = 'indexed';
}

/** Stores the last `count` registers into the table in `base`; −1: all results of the last one. */
export function emitSetList(fs: FunctionState, base: number, batch: number, count: number): void {
  const b = count === ALL_RESULTS ? 0 : count;
  if (batch <= B_MAX) {
    emit(fs, OP.setList, base, b, batch);
  } else {
    emit(fs, OP.setList, base, b, 0);
    fs.append(batch, fs.lexer.lastLine);
  }
  fs.freeRegister = base + 1;
}

/** So many variables get so many values: nil where there are too few. */
export function adjustAssignment(
  fs: FunctionState,
  variables: number,
  values: number,
  last: Expression,
): void {
  const missing = variables - values;
  if (isMulti(last)) {
    const results = Math.max(missing + 1, 0);
    setResults(fs, last, results);
    if (results > 1) fs.reserve(results - 1);
    return;
  }
  if (last.kind !== 'void') toNextRegister(fs, last);
  if (missing > 0) {
    const first = fs.freeRegister;
    fs.reserve(missing);
    emitNil(fs, first, missing);
  }
}
