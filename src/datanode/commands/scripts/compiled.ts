/**
 * Scripts as the machine runs them. What was compiled is remembered by its SHA-1, as long as the bodies of all
 * of them are not too long: it is of the process, whatever partitions keep.
 */
import { createHash } from 'node:crypto';
import { limits } from '../../../common/limits.ts';
import { compile } from '../../lua/syntax/compile.ts';
import type { Proto } from '../../lua/syntax/proto.ts';
import { LuaSyntaxError } from '../../lua/syntax/syntax-error.ts';
import { guarded, MachineDefect } from './machine-defect.ts';
import { Remembered } from './remembered.ts';
import { lineOf, textOf } from './script-errors.ts';
import { parseShebang, type ScriptFlags } from './shebang.ts';

export interface Script {
  /** In lower case. */
  readonly sha: string;
  readonly proto: Proto;
  readonly flags: ScriptFlags;
}

export type Compiling =
  | { readonly ok: true; readonly script: Script }
  /** An error's text. */
  | { readonly ok: false; readonly message: string };

const NOT_COMPILED_HERE =
  'ERR the script met a defect of kvorum and cannot be compiled here: please report the script';
const remembered = new Remembered<Script>(limits.scriptsCompiledBytes);

export function shaOf(body: Buffer): string {
  return createHash('sha1').update(body).digest('hex');
}

/** What of them this process remembers: how many, and bytes of their bodies. */
export function rememberedScripts(): { readonly count: number; readonly bytes: number } {
  return { count: remembered.count, bytes: remembered.bytes };
}

/** One that was compiled lately. */
export function knownScript(sha: string): Script | undefined {
  return remembered.get(sha);
}

export function compileScript(body: Buffer, sha = shaOf(body)): Compiling {
  const known = knownScript(sha);
  if (known !== undefined) return { ok: true, script: known };
  const shebang = parseShebang(body);
  if (!shebang.ok) return shebang;
  try {
    const proto = guarded(() => compile(shebang.source));
    const script = { sha, proto, flags: shebang.flags };
    remembered.add(sha, script, body.length);
    return { ok: true, script };
  } catch (failure) {
    if (failure instanceof MachineDefect) return { ok: false, message: NOT_COMPILED_HERE };
    if (!(failure instanceof LuaSyntaxError)) throw failure;
    return { ok: false, message: notCompiled(failure.message) };
  }
}

function notCompiled(message: string): string {
  return `ERR Error compiling script (new function): ${lineOf(textOf(message))}`;
}
