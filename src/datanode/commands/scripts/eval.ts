/** EVAL and EVALSHA: the script is found, and run. */
import { hasScript, keepScript } from '../../encoding/scripts/kept-scripts.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { error } from '../../resp/reply.ts';
import type { Command, RunContext, RunResult } from '../rows/command.ts';
import { compileScript } from './compiled.ts';
import type { ScriptCall } from './script-args.ts';
import { NO_SCRIPT, notCompiled } from './script-errors.ts';

export type Resolve = (line: readonly Buffer[]) => Command | undefined;

/** Where a script runs. */
export interface Ground {
  readonly resolve: Resolve;
  readonly view: View;
  readonly context: RunContext;
}

const NOT_YET = error('ERR scripts do not run yet');

/** `store`: where the script may be kept, and may write. */
export function runEval(
  _ground: Ground,
  { script: body }: ScriptCall,
  store?: WriteView,
): RunResult {
  const compiled = compileScript(body);
  if (!compiled.ok) return notCompiled(compiled.message);
  if (store !== undefined) keepScript(store, compiled.script.sha, body, 'evaluated');
  return NOT_YET;
}

export function runEvalSha(
  { view }: Ground,
  { script }: ScriptCall,
  _store?: WriteView,
): RunResult {
  return hasScript(view, script.toString('latin1').toLowerCase()) ? NOT_YET : NO_SCRIPT;
}
