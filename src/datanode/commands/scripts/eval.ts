/** EVAL and EVALSHA: the script is found, and run. */
import { limits } from '../../../common/limits.ts';
import { hasScript, keepScript, scriptBody } from '../../encoding/scripts/kept-scripts.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { error, type Reply } from '../../resp/reply.ts';
import { isAsLaterRedis } from '../rows/apply-versions.ts';
import type { RunContext, RunResult } from '../rows/command.ts';
import { type Compiling, compileScript, knownScript, type Script } from './compiled.ts';
import type { Ground, Resolve } from './inner-command.ts';
import { runScript } from './run-script.ts';
import type { ScriptCall } from './script-args.ts';
import { NO_SCRIPT, WRITES } from './script-errors.ts';

type Run<Of extends View> = (view: Of, call: ScriptCall, context: RunContext) => RunResult;

/** A script that may write is kept, so that EVALSHA finds it; where there is no room it only runs. */
export function evalOf(resolve: Resolve): Run<WriteView> {
  return (view, call, context) => {
    const compiled = compileScript(call.script);
    if (!compiled.ok) return error(compiled.message);
    if (isEntryFull(view)) return ENTRY_FULL;
    keepScript(view, compiled.script.sha, call.script, 'evaluated');
    return runScript({ resolve, view, store: view, context }, compiled.script, call);
  };
}

export function evalReadOnlyOf(resolve: Resolve): Run<View> {
  return (view, call, context) => {
    const compiled = compileScript(call.script);
    if (!compiled.ok) return error(compiled.message);
    return runReadOnly({ resolve, view, context }, compiled.script, call);
  };
}

export function evalShaOf(resolve: Resolve): Run<WriteView> {
  return (view, call, context) => {
    const found = keptScript(view, call.script);
    if (found === undefined) return NO_SCRIPT;
    if (!found.ok) return error(found.message);
    if (isEntryFull(view)) return ENTRY_FULL;
    return runScript({ resolve, view, store: view, context }, found.script, call);
  };
}

export function evalShaReadOnlyOf(resolve: Resolve): Run<View> {
  return (view, call, context) => {
    const found = keptScript(view, call.script);
    if (found === undefined) return NO_SCRIPT;
    if (!found.ok) return error(found.message);
    return runReadOnly({ resolve, view, context }, found.script, call);
  };
}

function runReadOnly(ground: Ground, script: Script, call: ScriptCall): RunResult {
  if (script.flags.saysItWrites && isAsLaterRedis(ground.context)) return WRITES;
  return runScript(ground, script, call);
}

/** Each replica holds what an entry puts, and the script might put as much again. */
export function isEntryFull({ entryPutBytes = 0 }: WriteView): boolean {
  return entryPutBytes > limits.scriptEntryPutBytesMax;
}

export const ENTRY_FULL: Reply = error(
  `ERR the commands before the script in its entry of the log, those of its transaction or pipeline, have ` +
    `put more than ${limits.scriptEntryPutBytesMax} bytes: nothing happened, send it again later`,
);

/** Whether it is kept is the partition's to say, whatever this process remembers. */
function keptScript(view: View, name: Buffer): Compiling | undefined {
  if (name.length !== SHA_DIGITS) return undefined;
  const sha = name.toString('latin1').toLowerCase();
  if (!hasScript(view, sha)) return undefined;
  const known = knownScript(sha);
  if (known !== undefined) return { ok: true, script: known };
  const body = scriptBody(view, sha);
  return body && compileScript(body, sha);
}

const SHA_DIGITS = 40;
