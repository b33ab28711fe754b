/** What all parts of the parser share: the text, the function that is being read, and how deep it is. */
import { type Expression, expression } from './expression.ts';
import type { FunctionState } from './function-state.ts';
import type { Lexer } from './lexer.ts';
import { TOKEN, type Token, tokenText } from './tokens.ts';

/** So deep may expressions, blocks and functions be within each other: the parser calls itself for each. */
export const LEVELS_MAX = 200;

export interface Compiler {
  readonly lexer: Lexer;
  readonly source: string;
  fs: FunctionState;
  levels: number;
  /** Reads the statements of a block. */
  readonly chunk: (c: Compiler) => void;
}

export function enterLevel(c: Compiler): void {
  c.levels += 1;
  if (c.levels > LEVELS_MAX) c.lexer.fail('chunk has too many syntax levels');
}

export function leaveLevel(c: Compiler): void {
  c.levels -= 1;
}

/** Whether it was there, and then over it. */
export function accept(c: Compiler, token: Token): boolean {
  if (c.lexer.token !== token) return false;
  c.lexer.next();
  return true;
}

export function check(c: Compiler, token: Token): void {
  if (c.lexer.token !== token) failExpected(c, token);
}

export function expect(c: Compiler, token: Token): void {
  check(c, token);
  c.lexer.next();
}

/** What closes what was opened in another line is named with it. */
export function expectMatch(c: Compiler, token: Token, opening: Token, line: number): void {
  if (accept(c, token)) return;
  if (line === c.lexer.line) failExpected(c, token);
  const opened = `(to close '${tokenText(opening)}' at line ${line})`;
  c.lexer.failHere(`'${tokenText(token)}' expected ${opened}`);
}

export function expectName(c: Compiler): string {
  check(c, TOKEN['<name>']);
  const name = c.lexer.current.text;
  c.lexer.next();
  return name;
}

/** The constant of a string. */
export function stringConstant(c: Compiler, text: string): Expression {
  return expression('constant', c.fs.constant(text));
}

function failExpected(c: Compiler, token: Token): never {
  return c.lexer.failHere(`'${tokenText(token)}' expected`);
}
