/** Reads expressions; what binds how strongly is in the table at the end. */
import {
  accept,
  type Compiler,
  enterLevel,
  expectMatch,
  expectName,
  leaveLevel,
  stringConstant,
} from './compiler.ts';
import { tableConstructor } from './constructors.ts';
import { emit } from './emit.ts';
import { type Expression, expression, isMulti } from './expression.ts';
import { functionBody } from './functions.ts';
import { OP } from './opcodes.ts';
import {
  type BinaryOperator,
  beginInfix,
  endInfix,
  prefix,
  type UnaryOperator,
} from './operators.ts';
import { variable } from './scopes.ts';
import { sign, TOKEN, type Token } from './tokens.ts';
import {
  discharge,
  emitSelf,
  indexed,
  setAllResults,
  toAnyRegister,
  toNextRegister,
  toValue,
} from './values.ts';

export function readExpression(c: Compiler): Expression {
  return operation(c, 0)[0];
}

/** Several, with commas between; all but the last are in registers. How many, and the last. */
export function expressionList(c: Compiler): [count: number, last: Expression] {
  let count = 1;
  let e = readExpression(c);
  while (accept(c, sign(','))) {
    toNextRegister(c.fs, e);
    e = readExpression(c);
    count += 1;
  }
  return [count, e];
}

/** Operators that bind more strongly than `limit`, and the operator that stands behind. */
function operation(c: Compiler, limit: number): [Expression, BinaryOperator | undefined] {
  enterLevel(c);
  const unary = UNARY.get(c.lexer.token);
  let e: Expression;
  if (unary !== undefined) {
    c.lexer.next();
    e = operation(c, UNARY_PRIORITY)[0];
    prefix(c.fs, unary, e);
  } else {
    e = simple(c);
  }
  let operator = BINARY.get(c.lexer.token);
  while (operator !== undefined && PRIORITY[operator][0] > limit) {
    c.lexer.next();
    beginInfix(c.fs, operator, e);
    const [second, next] = operation(c, PRIORITY[operator][1]);
    endInfix(c.fs, operator, e, second);
    operator = next;
  }
  leaveLevel(c);
  return [e, operator];
}

function simple(c: Compiler): Expression {
  const { lexer, fs } = c;
  const constant = literal(c);
  if (constant !== undefined) {
    lexer.next();
    return constant;
  }
  switch (lexer.token) {
    case TOKEN['...']: {
      if (!fs.isVararg) lexer.failHere("cannot use '...' outside a vararg function");
      fs.needsArg = false;
      const e = expression('varArgs', emit(fs, OP.varArgs, 0, 1, 0));
      lexer.next();
      return e;
    }
    case sign('{'):
      return tableConstructor(c, readExpression);
    case TOKEN.function:
      lexer.next();
      return functionBody(c, false, lexer.line);
    default:
      return primary(c);
  }
}

function literal(c: Compiler): Expression | undefined {
  const { token, current } = c.lexer;
  if (token === TOKEN['<number>']) return { ...expression('number'), number: current.number };
  if (token === TOKEN['<string>']) return stringConstant(c, current.text);
  if (token === TOKEN.nil) return expression('nil');
  if (token === TOKEN.true) return expression('true');
  return token === TOKEN.false ? expression('false') : undefined;
}

/** A name or what is in parentheses, and all the fields and calls behind it. */
export function primary(c: Compiler): Expression {
  const { lexer, fs } = c;
  let e = atom(c);
  for (;;) {
    switch (lexer.token) {
      case sign('.'):
        e = readField(c, e);
        break;
      case sign('['):
        toAnyRegister(fs, e);
        indexed(fs, e, bracketedKey(c));
        break;
      case sign(':'): {
        lexer.next();
        emitSelf(fs, e, stringConstant(c, expectName(c)));
        e = callArguments(c, e);
        break;
      }
      case sign('('):
      case sign('{'):
      case TOKEN['<string>']:
        toNextRegister(fs, e);
        e = callArguments(c, e);
        break;
      default:
        return e;
    }
  }
}

function atom(c: Compiler): Expression {
  const { lexer } = c;
  if (lexer.token === TOKEN['<name>']) return variable(c, expectName(c));
  if (lexer.token !== sign('(')) return lexer.failHere('unexpected symbol');
  const line = lexer.line;
  lexer.next();
  const e = readExpression(c);
  expectMatch(c, sign(')'), sign('('), line);
  discharge(c.fs, e);
  return e;
}

/** `.name` behind an expression. */
export function readField(c: Compiler, e: Expression): Expression {
  toAnyRegister(c.fs, e);
  c.lexer.next();
  indexed(c.fs, e, stringConstant(c, expectName(c)));
  return e;
}

function bracketedKey(c: Compiler): Expression {
  c.lexer.next();
  const key = readExpression(c);
  toValue(c.fs, key);
  if (!accept(c, sign(']'))) c.lexer.failHere("']' expected");
  return key;
}

function callArguments(c: Compiler, callee: Expression): Expression {
  const { fs, lexer } = c;
  const line = lexer.line;
  const last = readArguments(c, line);
  const base = callee.info;
  let count = 0;
  if (!isMulti(last)) {
    if (last.kind !== 'void') toNextRegister(fs, last);
    count = fs.freeRegister - (base + 1) + 1;
  }
  const call = expression('call', emit(fs, OP.call, base, count, 2));
  fs.lines[call.info] = line;
  fs.freeRegister = base + 1;
  return call;
}

function readArguments(c: Compiler, line: number): Expression {
  const { lexer } = c;
  if (lexer.token === sign('{')) return tableConstructor(c, readExpression);
  if (lexer.token === TOKEN['<string>']) {
    const e = stringConstant(c, lexer.current.text);
    lexer.next();
    return e;
  }
  if (lexer.token !== sign('(')) return lexer.failHere('function arguments expected');
  if (line !== lexer.lastLine) {
    lexer.failHere('ambiguous syntax (function call x new statement)');
  }
  lexer.next();
  if (accept(c, sign(')'))) return expression('void');
  const [, last] = expressionList(c);
  if (isMulti(last)) setAllResults(c.fs, last);
  expectMatch(c, sign(')'), sign('('), line);
  return last;
}

const UNARY_PRIORITY = 8;
const UNARY: ReadonlyMap<Token, UnaryOperator> = new Map<Token, UnaryOperator>([
  [TOKEN.not, 'not'],
  [sign('-'), 'negate'],
  [sign('#'), 'length'],
]);

const BINARY: ReadonlyMap<Token, BinaryOperator> = new Map<Token, BinaryOperator>([
  [sign('+'), 'add'],
  [sign('-'), 'subtract'],
  [sign('*'), 'multiply'],
  [sign('/'), 'divide'],
  [sign('%'), 'modulo'],
  [sign('^'), 'power'],
  [TOKEN['..'], '..'],
  [TOKEN['~='], '~='],
  [TOKEN['=='], '=='],
  [sign('<'), '<'],
  [TOKEN['<='], '<='],
  [sign('>'), '>'],
  [TOKEN['>='], '>='],
  [TOKEN.and, 'and'],
  [TOKEN.or, 'or'],
]);

/** Left and right: where the right one is less, it is right associative. */
const PRIORITY: Readonly<Record<BinaryOperator, readonly [left: number, right: number]>> = {
  add: [6, 6],
  subtract: [6, 6],
  multiply: [7, 7],
  divide: [7, 7],
  modulo: [7, 7],
  power: [10, 9],
  '..': [5, 4],
  '~=': [3, 3],
  '==': [3, 3],
  '<': [3, 3],
  '<=': [3, 3],
  '>': [3, 3],
  '>=': [3, 3],
  and: [2, 2],
  or: [1, 1],
};
