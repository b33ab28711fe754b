/** Libraries as the machine runs them: what was compiled is remembered by the SHA-1 of the code. */
import { limits } from '../../../common/limits.ts';
import { compile } from '../../lua/syntax/compile.ts';
import type { Proto } from '../../lua/syntax/proto.ts';
import { LuaSyntaxError } from '../../lua/syntax/syntax-error.ts';
import { guarded, MachineDefect } from '../scripts/machine-defect.ts';
import { Remembered } from '../scripts/remembered.ts';
import { lineOf, textOf } from '../scripts/script-errors.ts';

export type CompiledLibrary =
  | { readonly ok: true; readonly proto: Proto }
  /** An error's text. */
  | { readonly ok: false; readonly message: string };

/** The name under which libraries are compiled: `user_function:1: …` in messages. */
const USER_FUNCTION = '@user_function';
const NOT_COMPILED_HERE =
  'ERR the library met a defect of kvorum and cannot be compiled here: please report the library';

/** Of the process, whatever partitions keep. */
const remembered = new Remembered<Proto>(limits.librariesCompiledBytes);

/** One that was compiled lately. */
export function knownLibrary(sha: string): Proto | undefined {
  return remembered.get(sha);
}

/** `source` as `parseMetadata` gives it, `sha` of the whole code. */
export function compileLibrary(source: string, sha: string): CompiledLibrary {
  const known = knownLibrary(sha);
  if (known !== undefined) return { ok: true, proto: known };
  try {
    const proto = guarded(() => compile(source, USER_FUNCTION));
    remembered.add(sha, proto, source.length);
    return { ok: true, proto };
  } catch (failure) {
    if (failure instanceof MachineDefect) return { ok: false, message: NOT_COMPILED_HERE };
    if (!(failure instanceof LuaSyntaxError)) throw failure;
    const why = lineOf(textOf(failure.message));
    return { ok: false, message: `ERR Error compiling function: ${why}` };
  }
}
