/** `{1, 2, name = 3, [key] = 4}`. */
import {
  accept,
  type Compiler,
  expect,
  expectMatch,
  expectName,
  stringConstant,
} from './compiler.ts';
import { emit } from './emit.ts';
import { type Expression, expression, isMulti } from './expression.ts';
import { LIST_BATCH, OP } from './opcodes.ts';
import { sign, TOKEN } from './tokens.ts';
import { emitSetList, setAllResults, toNextRegister, toOperand, toValue } from './values.ts';

interface Constructor {
  /** The last item, which is not stored yet; `void`: there is none. */
  item: Expression;
  readonly table: Expression;
  itemCount: number;
  /** How many wait in registers. */
  waiting: number;
}

const ITEMS_MAX = 2 ** 31 - 3;

export function tableConstructor(
  c: Compiler,
  readExpression: (c: Compiler) => Expression,
): Expression {
  const { fs, lexer } = c;
  const line = lexer.line;
  const table = expression('relocatable', emit(fs, OP.newTable, 0, 0, 0));
  const built: Constructor = { item: expression('void'), table, itemCount: 0, waiting: 0 };
  toNextRegister(fs, table);
  expect(c, sign('{'));
  do {
    if (lexer.token === sign('}')) break;
    closeItem(c, built);
    field(c, built, readExpression);
  } while (accept(c, sign(',')) || accept(c, sign(';')));
  expectMatch(c, sign('}'), sign('{'), line);
  storeLast(c, built);
  return table;
}

function field(c: Compiler, built: Constructor, readExpression: (c: Compiler) => Expression): void {
  const { lexer } = c;
  if (lexer.token === sign('[')) {
    pair(c, built, readExpression);
  } else if (lexer.token === TOKEN['<name>'] && lexer.peek() === sign('=')) {
    pair(c, built, readExpression);
  } else {
    built.item = readExpression(c);
    built.itemCount += 1;
    c.fs.checkLimit(built.itemCount, ITEMS_MAX, 'items in a constructor');
    built.waiting += 1;
  }
}

function pair(c: Compiler, built: Constructor, readExpression: (c: Compiler) => Expression): void {
  const { fs } = c;
  const free = fs.freeRegister;
  let key: Expression;
  if (accept(c, sign('['))) {
    key = readExpression(c);
    toValue(fs, key);
    expect(c, sign(']'));
  } else {
    key = stringConstant(c, expectName(c));
  }
  expect(c, sign('='));
  const operand = toOperand(fs, key);
  const value = readExpression(c);
  emit(fs, OP.setTable, built.table.info, operand, toOperand(fs, value));
  fs.freeRegister = free;
}

function closeItem(c: Compiler, built: Constructor): void {
  if (built.item.kind === 'void') return;
  toNextRegister(c.fs, built.item);
  built.item = expression('void');
  if (built.waiting === LIST_BATCH) {
    emitSetList(c.fs, built.table.info, batchOf(built), built.waiting);
    built.waiting = 0;
  }
}

function storeLast(c: Compiler, built: Constructor): void {
  if (built.waiting === 0) return;
  const base = built.table.info;
  if (isMulti(built.item)) {
    setAllResults(c.fs, built.item);
    emitSetList(c.fs, base, batchOf(built), -1);
    return;
  }
  if (built.item.kind !== 'void') toNextRegister(c.fs, built.item);
  emitSetList(c.fs, base, batchOf(built), built.waiting);
}

function batchOf(built: Constructor): number {
  return Math.floor((built.itemCount - 1) / LIST_BATCH) + 1;
}
