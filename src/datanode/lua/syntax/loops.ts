/** `while`, `repeat`, `for` and what leaves them. */
import { accept, type Compiler, expect, expectMatch, expectName } from './compiler.ts';
import {
  concatJumps,
  emit,
  emitJump,
  emitWide,
  label,
  NO_JUMP,
  patchJumps,
  patchToHere,
} from './emit.ts';
import { expressionList, readExpression } from './expressions.ts';
import { OFFSET_MAX, OP } from './opcodes.ts';
import { goIfTrue } from './operators.ts';
import { activateLocals, declareLocal, enterBlock, leaveBlock } from './scopes.ts';
import { sign, TOKEN } from './tokens.ts';
import { adjustAssignment, toNextRegister } from './values.ts';

export function block(c: Compiler): void {
  enterBlock(c.fs, false);
  c.chunk(c);
  leaveBlock(c.fs);
}

/** The jumps that leave when it does not hold. */
export function condition(c: Compiler): number {
  const e = readExpression(c);
  if (e.kind === 'nil') e.kind = 'false';
  goIfTrue(c.fs, e);
  return e.whenFalse;
}

export function breakStatement(c: Compiler): void {
  const { fs } = c;
  c.lexer.next();
  let around = fs.block;
  let hasUpvalue = false;
  while (around !== undefined && !around.isLoop) {
    hasUpvalue ||= around.hasUpvalue;
    around = around.around;
  }
  if (around === undefined) return c.lexer.failHere('no loop to break');
  if (hasUpvalue) emit(fs, OP.close, around.active, 0, 0);
  around.breaks = concatJumps(fs, around.breaks, emitJump(fs));
}

export function whileStatement(c: Compiler, line: number): void {
  const { fs } = c;
  c.lexer.next();
  const start = label(fs);
  const leaves = condition(c);
  enterBlock(fs, true);
  expect(c, TOKEN.do);
  block(c);
  patchJumps(fs, emitJump(fs), start);
  expectMatch(c, TOKEN.end, TOKEN.while, line);
  leaveBlock(fs);
  patchToHere(fs, leaves);
}

export function repeatStatement(c: Compiler, line: number): void {
  const { fs } = c;
  const start = label(fs);
  enterBlock(fs, true);
  const body = enterBlock(fs, false);
  c.lexer.next();
  c.chunk(c);
  expectMatch(c, TOKEN.until, TOKEN.repeat, line);
  const again = condition(c);
  if (!body.hasUpvalue) {
    leaveBlock(fs);
    patchJumps(fs, again, start);
  } else {
    breakStatementWithin(c);
    patchToHere(fs, again);
    leaveBlock(fs);
    patchJumps(fs, emitJump(fs), start);
  }
  leaveBlock(fs);
}

/** The condition sees the body's variables, so they are let go of on both ways out of it. */
function breakStatementWithin(c: Compiler): void {
  const { fs } = c;
  const loop = fs.block!.around!;
  emit(fs, OP.close, loop.active, 0, 0);
  loop.breaks = concatJumps(fs, loop.breaks, emitJump(fs));
}

export function forStatement(c: Compiler, line: number): void {
  const { fs, lexer } = c;
  enterBlock(fs, true);
  lexer.next();
  const name = expectName(c);
  if (lexer.token === sign('=')) numericFor(c, name, line);
  else if (lexer.token === sign(',') || lexer.token === TOKEN.in) genericFor(c, name);
  else lexer.failHere("'=' or 'in' expected");
  expectMatch(c, TOKEN.end, TOKEN.for, line);
  leaveBlock(fs);
}

function numericFor(c: Compiler, name: string, line: number): void {
  const { fs } = c;
  const base = fs.freeRegister;
  for (const hidden of ['(for index)', '(for limit)', '(for step)']) declareLocal(c, hidden);
  declareLocal(c, name);
  expect(c, sign('='));
  toNextRegister(fs, readExpression(c));
  expect(c, sign(','));
  toNextRegister(fs, readExpression(c));
  if (accept(c, sign(','))) {
    toNextRegister(fs, readExpression(c));
  } else {
    emitWide(fs, OP.loadConstant, fs.freeRegister, fs.constant(1));
    fs.reserve(1);
  }
  forBody(c, base, line, 1, true);
}

function genericFor(c: Compiler, first: string): void {
  const { fs } = c;
  const base = fs.freeRegister;
  for (const hidden of ['(for generator)', '(for state)', '(for control)']) declareLocal(c, hidden);
  declareLocal(c, first);
  let count = 1;
  while (accept(c, sign(','))) {
    declareLocal(c, expectName(c));
    count += 1;
  }
  expect(c, TOKEN.in);
  const line = c.lexer.line;
  const [values, last] = expressionList(c);
  adjustAssignment(fs, 3, values, last);
  fs.checkStack(3);
  forBody(c, base, line, count, false);
}

function forBody(c: Compiler, base: number, line: number, count: number, isNumeric: boolean): void {
  const { fs } = c;
  activateLocals(fs, 3);
  expect(c, TOKEN.do);
  const prepare = isNumeric
    ? emitWide(fs, OP.forPrepare, base, NO_JUMP + OFFSET_MAX)
    : emitJump(fs);
  enterBlock(fs, false);
  activateLocals(fs, count);
  fs.reserve(count);
  c.chunk(c);
  leaveBlock(fs);
  patchToHere(fs, prepare);
  if (isNumeric) {
    const end = emitWide(fs, OP.forLoop, base, NO_JUMP + OFFSET_MAX);
    fs.lines[end] = line;
    patchJumps(fs, end, prepare + 1);
    return;
  }
  fs.lines[emit(fs, OP.forCall, base, 0, count)] = line;
  fs.lines[emit(fs, OP.forTest, base, 0, count)] = line;
  patchJumps(fs, emitJump(fs), prepare + 1);
}
