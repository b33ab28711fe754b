/** A load that is a program of its own: says when it is warm, then what it has measured. */

import { run } from '../tools/children.ts';
import type { Accounting, Usage } from './accounting.ts';

interface Told {
  readonly seconds: number;
}

interface Result {
  /** Of the program while it measured. */
  readonly cpuSeconds: number;
}

const TIMEOUT_MS = 120_000;

/**
 * Runs `script` with `told` as JSON; it prints `begin` when it begins to measure, then its result as
 * JSON. `who` names it in the error that is thrown when it ends without one.
 */
export async function runLoad<R extends Result>(
  script: string,
  told: Told,
  accounting: Accounting,
  { begin, who }: { readonly begin: string; readonly who: string },
): Promise<{ readonly result: R; readonly usage: Usage }> {
  let close: ReturnType<Accounting['open']> | undefined;
  let measured: { readonly result: R; readonly usage: Usage } | undefined;
  const outcome = await run(process.execPath, [script, JSON.stringify(told)], {
    timeoutMs: TIMEOUT_MS + told.seconds * 1_000,
    onOutput(stdout) {
      const [first, answer] = stdout.split('\n');
      if (first === begin) close ??= accounting.open();
      if (!answer || !stdout.endsWith('\n') || close === undefined) return;
      const result = JSON.parse(answer) as R;
      measured = { result, usage: close(result.cpuSeconds) };
    },
  });
  if (measured === undefined) {
    throw new Error(`${who} ended with ${outcome.code}: ${outcome.stderr.trim()}`);
  }
  return measured;
}
