/** Code for operators. Comparisons, `and`, `or` and `not` are jumps until their value is wanted. */
import { concatJumps, dropValues, emit, emitJump, patchToHere, testOf } from './emit.ts';
import { type Expression, hasJumps } from './expression.ts';
import type { FunctionState } from './function-state.ts';
import { aOf, bOf, NO_REGISTER, OP, opOf, withA, withB } from './opcodes.ts';
import {
  discharge,
  dischargeToAnyRegister,
  release,
  toAnyRegister,
  toNextRegister,
  toOperand,
  toValue,
} from './values.ts';

export type UnaryOperator = 'negate' | 'not' | 'length';
export type Arithmetic = 'add' | 'subtract' | 'multiply' | 'divide' | 'modulo' | 'power';
export type Comparison = '==' | '~=' | '<' | '<=' | '>' | '>=';
export type BinaryOperator = Arithmetic | Comparison | '..' | 'and' | 'or';

const NO_JUMP = -1;

const COMPARISONS: Readonly<Record<Comparison, readonly [op: number, wanted: number]>> = {
  '==': [OP.equal, 1],
  '~=': [OP.equal, 0],
  '<': [OP.lessThan, 1],
  '<=': [OP.lessOrEqual, 1],
  '>': [OP.lessThan, 0],
  '>=': [OP.lessOrEqual, 0],
};

export function prefix(fs: FunctionState, operator: UnaryOperator, e: Expression): void {
  if (operator === 'not') return negate(fs, e);
  if (operator === 'negate' && isNumeral(e)) {
    e.number = -e.number;
    return;
  }
  if (operator === 'length') toAnyRegister(fs, e);
  else toOperandRegister(fs, e);
  const operand = e.info;
  release(fs, e);
  emitInto(fs, e, OP[operator], operand, 0);
}

/** Lua takes a constant into a register before it negates it. */
function toOperandRegister(fs: FunctionState, e: Expression): void {
  toAnyRegister(fs, e);
}

/** What is done before the second operand is read. */
export function beginInfix(fs: FunctionState, operator: BinaryOperator, e: Expression): void {
  if (operator === 'and') {
    goIfTrue(fs, e);
  } else if (operator === 'or') {
    goIfFalse(fs, e);
  } else if (operator === '..') {
    toNextRegister(fs, e);
  } else if (operator in COMPARISONS || !isNumeral(e)) {
    toOperand(fs, e);
  }
}

export function endInfix(
  fs: FunctionState,
  operator: BinaryOperator,
  first: Expression,
  second: Expression,
): void {
  switch (operator) {
    case 'and':
      discharge(fs, second);
      second.whenFalse = concatJumps(fs, second.whenFalse, first.whenFalse);
      Object.assign(first, second);
      break;
    case 'or':
      discharge(fs, second);
      second.whenTrue = concatJumps(fs, second.whenTrue, first.whenTrue);
      Object.assign(first, second);
      break;
    case '..':
      endConcatenation(fs, first, second);
      break;
    default:
      if (isComparison(operator)) endComparison(fs, operator, first, second);
      else endArithmetic(fs, operator, first, second);
  }
}

function isComparison(operator: string): operator is Comparison {
  return operator in COMPARISONS;
}

/** `a .. b .. c` is one instruction. */
function endConcatenation(fs: FunctionState, first: Expression, second: Expression): void {
  toValue(fs, second);
  const last = fs.code[second.info];
  if (second.kind === 'relocatable' && opOf(last!) === OP.concatenate) {
    release(fs, first);
    fs.code[second.info] = withB(last!, first.info);
    first.kind = 'relocatable';
    first.info = second.info;
    return;
  }
  toNextRegister(fs, second);
  endArithmetic(fs, 'concatenate', first, second);
}

function endArithmetic(
  fs: FunctionState,
  operator: Arithmetic | 'concatenate',
  first: Expression,
  second: Expression,
): void {
  if (operator !== 'concatenate' && fold(operator, first, second)) return;
  const c = toOperand(fs, second);
  const b = toOperand(fs, first);
  releaseBoth(fs, first, second, b, c);
  emitInto(fs, first, OP[operator], b, c);
}

function endComparison(
  fs: FunctionState,
  operator: Comparison,
  first: Expression,
  second: Expression,
): void {
  let b = toOperand(fs, first);
  let c = toOperand(fs, second);
  release(fs, second);
  release(fs, first);
  let [op, wanted] = COMPARISONS[operator];
  if (wanted === 0 && op !== OP.equal) {
    [b, c] = [c, b];
    wanted = 1;
  }
  emit(fs, op, wanted, b, c);
  first.info = emitJump(fs);
  first.kind = 'jump';
}

/** The upper register first: registers are a stack. */
function releaseBoth(
  fs: FunctionState,
  first: Expression,
  second: Expression,
  b: number,
  c: number,
): void {
  const inOrder = b > c ? [first, second] : [second, first];
  for (const e of inOrder) release(fs, e);
}

function emitInto(fs: FunctionState, e: Expression, op: number, b: number, c: number): void {
  e.info = emit(fs, op, 0, b, c);
  e.kind = 'relocatable';
}

function isNumeral(e: Expression): boolean {
  return e.kind === 'number' && !hasJumps(e);
}

function fold(operator: Arithmetic, first: Expression, second: Expression): boolean {
  if (!isNumeral(first) || !isNumeral(second)) return false;
  const result = folded(operator, first.number, second.number);
  if (result === undefined || Number.isNaN(result)) return false;
  first.number = result;
  return true;
}

/** Only what every host comes to alike and is worth the while: the machine does the rest. */
function folded(operator: Arithmetic, x: number, y: number): number | undefined {
  switch (operator) {
    case 'add':
      return x + y;
    case 'subtract':
      return x - y;
    case 'multiply':
      return x * y;
    case 'divide':
      return y === 0 ? undefined : x / y;
    default:
      return undefined;
  }
}

/** On where it is true; jumps away where it is false. */
export function goIfTrue(fs: FunctionState, e: Expression): void {
  discharge(fs, e);
  let jump = NO_JUMP;
  if (e.kind === 'jump') {
    invert(fs, e);
    jump = e.info;
  } else if (!isAlwaysTrue(e)) {
    jump = jumpOn(fs, e, 0);
  }
  e.whenFalse = concatJumps(fs, e.whenFalse, jump);
  patchToHere(fs, e.whenTrue);
  e.whenTrue = NO_JUMP;
}

function goIfFalse(fs: FunctionState, e: Expression): void {
  discharge(fs, e);
  let jump = NO_JUMP;
  if (e.kind === 'jump') jump = e.info;
  else if (e.kind !== 'nil' && e.kind !== 'false') jump = jumpOn(fs, e, 1);
  e.whenTrue = concatJumps(fs, e.whenTrue, jump);
  patchToHere(fs, e.whenFalse);
  e.whenFalse = NO_JUMP;
}

function isAlwaysTrue(e: Expression): boolean {
  return e.kind === 'constant' || e.kind === 'number' || e.kind === 'true';
}

function invert(fs: FunctionState, e: Expression): void {
  const at = testOf(fs, e.info);
  const i = fs.code[at]!;
  fs.code[at] = withA(i, aOf(i) === 0 ? 1 : 0);
}

function jumpOn(fs: FunctionState, e: Expression, condition: number): number {
  if (e.kind === 'relocatable') {
    const i = fs.code[e.info]!;
    if (opOf(i) === OP.not) {
      fs.code.pop();
      fs.lines.pop();
      return conditionalJump(fs, OP.test, bOf(i), 0, condition === 0 ? 1 : 0);
    }
  }
  dischargeToAnyRegister(fs, e);
  release(fs, e);
  return conditionalJump(fs, OP.testSet, NO_REGISTER, e.info, condition);
}

function conditionalJump(fs: FunctionState, op: number, a: number, b: number, c: number): number {
  emit(fs, op, a, b, c);
  return emitJump(fs);
}

function negate(fs: FunctionState, e: Expression): void {
  discharge(fs, e);
  if (e.kind === 'nil' || e.kind === 'false') {
    e.kind = 'true';
  } else if (isAlwaysTrue(e)) {
    e.kind = 'false';
  } else if (e.kind === 'jump') {
    invert(fs, e);
  } else {
    dischargeToAnyRegister(fs, e);
    release(fs, e);
    emitInto(fs, e, OP.not, e.info, 0);
  }
  [e.whenTrue, e.whenFalse] = [e.whenFalse, e.whenTrue];
  dropValues(fs, e.whenFalse);
  dropValues(fs, e.whenTrue);
}
