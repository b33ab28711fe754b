/** From the text of a script to what runs. */
import type { Compiler } from './compiler.ts';
import { expect } from './compiler.ts';
import { FunctionState } from './function-state.ts';
import { closeFunction } from './functions.ts';
import { Lexer } from './lexer.ts';
import type { Proto } from './proto.ts';
import { chunk } from './statements.ts';
import { TOKEN } from './tokens.ts';

/** The name under which scripts of clients are compiled: `user_script:1: …` in messages. */
export const USER_SCRIPT = '@user_script';

/**
 * `source` has a character for each byte. Throws LuaSyntaxError. The same text gives the same prototype
 * everywhere: the steps of a script are counted in its instructions.
 */
export function compile(source: string, name = USER_SCRIPT): Proto {
  const lexer = new Lexer(source, name);
  const fs = new FunctionState(lexer, undefined, 0);
  fs.isVararg = true;
  const c: Compiler = { lexer, source: name, fs, levels: 0, chunk };
  lexer.next();
  chunk(c);
  if (lexer.token !== TOKEN['<eof>']) expect(c, TOKEN['<eof>']);
  closeFunction(c);
  return fs.toProto(name);
}
