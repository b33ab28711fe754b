/** Calls by the key that each is about, its first argument, in the order of the history. */
import type { Call } from '../call.ts';

export function callsByKey(history: readonly Call[]): ReadonlyMap<string, readonly Call[]> {
  const calls = new Map<string, Call[]>();
  for (const call of history) {
    const key = call.words[1]!;
    const same = calls.get(key) ?? [];
    calls.set(key, same);
    same.push(call);
  }
  return calls;
}
