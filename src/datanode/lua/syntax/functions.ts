/** Functions: their parameters, and where the closure of one is made. */
import { accept, type Compiler, expect, expectMatch, expectName } from './compiler.ts';
import { emit, emitWide } from './emit.ts';
import { type Expression, expression } from './expression.ts';
import { FunctionState } from './function-state.ts';
import { OP } from './opcodes.ts';
import { activateLocals, declareLocal, removeLocals } from './scopes.ts';
import { sign, TOKEN } from './tokens.ts';

export function openFunction(c: Compiler, line: number): void {
  c.fs = new FunctionState(c.lexer, c.fs, line);
}

/** Back in the function around it, to which its code is handed. */
export function closeFunction(c: Compiler): void {
  const { fs } = c;
  removeLocals(fs, 0);
  emit(fs, OP.return, 0, 1, 0);
}

/** The part of a function behind its name. */
export function functionBody(c: Compiler, isMethod: boolean, line: number): Expression {
  const outer = c.fs;
  openFunction(c, line);
  expect(c, sign('('));
  if (isMethod) {
    declareLocal(c, 'self');
    activateLocals(c.fs, 1);
  }
  parameters(c);
  expect(c, sign(')'));
  c.chunk(c);
  expectMatch(c, TOKEN.end, TOKEN.function, line);
  closeFunction(c);
  const proto = c.fs.toProto(c.source);
  c.fs = outer;
  outer.protos.push(proto);
  return expression('relocatable', emitWide(outer, OP.closure, 0, outer.protos.length - 1));
}

function parameters(c: Compiler): void {
  const { fs } = c;
  let count = 0;
  if (c.lexer.token !== sign(')')) {
    do {
      if (c.lexer.token === TOKEN['<name>']) {
        declareLocal(c, expectName(c));
        count += 1;
      } else if (accept(c, TOKEN['...'])) {
        declareLocal(c, 'arg');
        count += 1;
        fs.isVararg = true;
        fs.needsArg = true;
      } else {
        c.lexer.failHere("<name> or '...' expected");
      }
    } while (!fs.isVararg && accept(c, sign(',')));
  }
  activateLocals(fs, count);
  fs.parameterCount = fs.activeCount - (fs.isVararg ? 1 : 0);
  fs.reserve(fs.activeCount);
}
