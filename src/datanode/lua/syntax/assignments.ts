/** `a, b.c = 1, f()`, and calls, which begin alike. */
import { accept, type Compiler, expect, LEVELS_MAX } from './compiler.ts';
import { emit } from './emit.ts';
import { type Expression, expression } from './expression.ts';
import { expressionList, primary } from './expressions.ts';
import { OP, withC } from './opcodes.ts';
import { sign } from './tokens.ts';
import { adjustAssignment, setOneResult, store } from './values.ts';

export function assignmentOrCall(c: Compiler): void {
  const { fs } = c;
  const first = primary(c);
  if (first.kind === 'call') {
    fs.code[first.info] = withC(fs.code[first.info]!, 1);
    return;
  }
  const targets = [checkTarget(c, first)];
  while (accept(c, sign(','))) {
    const target = primary(c);
    if (target.kind === 'local') keepFromConflict(c, targets, target);
    fs.checkLimit(targets.length, LEVELS_MAX - c.levels, 'variables in assignment');
    targets.push(checkTarget(c, target));
  }
  assign(c, targets);
}

function checkTarget(c: Compiler, target: Expression): Expression {
  const isVariable = ['local', 'upvalue', 'global', 'indexed'].includes(target.kind);
  if (!isVariable) c.lexer.failHere('syntax error');
  return target;
}

/** Targets get their values from the last to the first. */
function assign(c: Compiler, targets: Expression[]): void {
  const { fs } = c;
  expect(c, sign('='));
  const [count, last] = expressionList(c);
  if (count === targets.length) {
    setOneResult(fs, last);
    store(fs, targets.pop()!, last);
  } else {
    adjustAssignment(fs, targets.length, count, last);
    if (count > targets.length) fs.freeRegister -= count - targets.length;
  }
  while (targets.length > 0) {
    store(fs, targets.pop()!, expression('fixed', fs.freeRegister - 1));
  }
}

/** `a[i], i = …`: the local variable is changed before it is used, so a copy of it is used. */
function keepFromConflict(c: Compiler, targets: readonly Expression[], local: Expression): void {
  const { fs } = c;
  const copy = fs.freeRegister;
  let isUsed = false;
  for (const target of targets) {
    if (target.kind !== 'indexed') continue;
    if (target.info === local.info) {
      target.info = copy;
      isUsed = true;
    }
    if (target.aux === local.info) {
      target.aux = copy;
      isUsed = true;
    }
  }
  if (!isUsed) return;
  emit(fs, OP.move, copy, local.info, 0);
  fs.reserve(1);
}
