/** Reads statements; loops are in `loops.ts`, assignments in `assignments.ts`. */
import { assignmentOrCall } from './assignments.ts';
import {
  accept,
  type Compiler,
  enterLevel,
  expect,
  expectMatch,
  expectName,
  leaveLevel,
} from './compiler.ts';
import { concatJumps, emit, emitJump, NO_JUMP, patchToHere } from './emit.ts';
import { type Expression, expression, isMulti } from './expression.ts';
import { expressionList, readField } from './expressions.ts';
import { functionBody } from './functions.ts';
import {
  block,
  breakStatement,
  condition,
  forStatement,
  repeatStatement,
  whileStatement,
} from './loops.ts';
import { OP } from './opcodes.ts';
import { activateLocals, declareLocal, variable } from './scopes.ts';
import { sign, TOKEN, type Token } from './tokens.ts';
import { adjustAssignment, setAllResults, store, toAnyRegister, toNextRegister } from './values.ts';

const ALL_RESULTS = -1;

const ENDS: ReadonlySet<Token> = new Set([
  TOKEN.else,
  TOKEN.elseif,
  TOKEN.end,
  TOKEN['<eof>'],
  TOKEN.until,
]);

/** Statements up to what ends their block. */
export function chunk(c: Compiler): void {
  enterLevel(c);
  let isLast = false;
  while (!isLast && !ENDS.has(c.lexer.token)) {
    isLast = statement(c);
    accept(c, sign(';'));
    c.fs.freeRegister = c.fs.activeCount;
  }
  leaveLevel(c);
}

/** Whether nothing may follow it. */
function statement(c: Compiler): boolean {
  const read = STATEMENTS.get(c.lexer.token);
  if (read === undefined) {
    assignmentOrCall(c);
    return false;
  }
  const { token, line } = c.lexer;
  read(c, line);
  return token === TOKEN.return || token === TOKEN.break;
}

const STATEMENTS: ReadonlyMap<Token, (c: Compiler, line: number) => void> = new Map([
  [TOKEN.if, ifStatement],
  [TOKEN.while, whileStatement],
  [TOKEN.do, doStatement],
  [TOKEN.for, forStatement],
  [TOKEN.repeat, repeatStatement],
  [TOKEN.function, functionStatement],
  [TOKEN.local, localStatement],
  [TOKEN.return, returnStatement],
  [TOKEN.break, breakStatement],
]);

function ifStatement(c: Compiler, line: number): void {
  const { fs } = c;
  let leaves = NO_JUMP;
  let otherwise = thenBlock(c);
  while (c.lexer.token === TOKEN.elseif) {
    leaves = concatJumps(fs, leaves, emitJump(fs));
    patchToHere(fs, otherwise);
    otherwise = thenBlock(c);
  }
  if (c.lexer.token === TOKEN.else) {
    leaves = concatJumps(fs, leaves, emitJump(fs));
    patchToHere(fs, otherwise);
    c.lexer.next();
    block(c);
  } else {
    leaves = concatJumps(fs, leaves, otherwise);
  }
  patchToHere(fs, leaves);
  expectMatch(c, TOKEN.end, TOKEN.if, line);
}

/** The jumps that leave when the condition does not hold. */
function thenBlock(c: Compiler): number {
  c.lexer.next();
  const otherwise = condition(c);
  expect(c, TOKEN.then);
  block(c);
  return otherwise;
}

function doStatement(c: Compiler, line: number): void {
  c.lexer.next();
  block(c);
  expectMatch(c, TOKEN.end, TOKEN.do, line);
}

function functionStatement(c: Compiler, line: number): void {
  const { lexer, fs } = c;
  lexer.next();
  let name: Expression = variable(c, expectName(c));
  while (lexer.token === sign('.')) name = readField(c, name);
  const isMethod = lexer.token === sign(':');
  if (isMethod) name = readField(c, name);
  const body = functionBody(c, isMethod, line);
  store(fs, name, body);
  fs.lines[fs.pc - 1] = line;
}

function localStatement(c: Compiler): void {
  c.lexer.next();
  if (accept(c, TOKEN.function)) localFunction(c);
  else localVariables(c);
}

function localFunction(c: Compiler): void {
  const { fs } = c;
  declareLocal(c, expectName(c));
  const register = expression('local', fs.freeRegister);
  fs.reserve(1);
  activateLocals(fs, 1);
  const body = functionBody(c, false, c.lexer.line);
  store(fs, register, body);
  fs.locals[fs.declared[fs.activeCount - 1]!]!.start = fs.pc;
}

function localVariables(c: Compiler): void {
  let count = 0;
  do {
    declareLocal(c, expectName(c));
    count += 1;
  } while (accept(c, sign(',')));
  let [values, last]: [number, Expression] = [0, expression('void')];
  if (accept(c, sign('='))) [values, last] = expressionList(c);
  adjustAssignment(c.fs, count, values, last);
  activateLocals(c.fs, count);
}

function returnStatement(c: Compiler): void {
  const { fs, lexer } = c;
  lexer.next();
  if (ENDS.has(lexer.token) || lexer.token === sign(';')) {
    emit(fs, OP.return, 0, 1, 0);
    return;
  }
  const [count, last] = expressionList(c);
  if (isMulti(last)) {
    setAllResults(fs, last);
    if (last.kind === 'call' && count === 1) tailCall(c, last);
    emit(fs, OP.return, fs.activeCount, ALL_RESULTS + 1, 0);
  } else if (count === 1) {
    emit(fs, OP.return, toAnyRegister(fs, last), 2, 0);
  } else {
    toNextRegister(fs, last);
    emit(fs, OP.return, fs.activeCount, count + 1, 0);
  }
}

function tailCall(c: Compiler, call: Expression): void {
  const i = c.fs.code[call.info]!;
  c.fs.code[call.info] = (i & ~0x3f) | OP.tailCall;
}
