/**
 * What clients kept of what they were answered (CLIENT TRACKING), while they had not been told that it is
 * over: at the moment at which one drops a value, or the run is over, that was the current one at some
 * moment since as long before as is promised. While the client's node stands still nobody can tell it:
 * then the moment at which it stopped counts, and so it does for a little longer, until it is told.
 */
import type { Call } from '../call.ts';
import { callsByKey } from './calls-by-key.ts';
import { Violation } from './checker.ts';
import { faultOfRead } from './stale-reads.ts';

/** A value that a client had, until it dropped it. */
export interface Kept {
  readonly by: string;
  readonly node: string;
  readonly key: string;
  /** Null: that there was none. */
  readonly value: string | null;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Why it was dropped. */
  readonly end: string;
}

/** When a node's process did not run; `toMs` is infinite for whoever was connected to one that ended. */
export interface Standstill {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Within this a node that goes on has told its clients to forget all. */
const GOES_ON_MS = 700;
/** Within this a reply arrives of a node that has stopped since. */
const ON_THE_WAY_MS = 50;

/** `boundMs` on the clock of the history. Throws Violation. */
export function checkCaches(
  kept: readonly Kept[],
  history: readonly Call[],
  standstills: ReadonlyMap<string, readonly Standstill[]>,
  boundMs: number,
): void {
  const calls = callsByKey(history);
  for (const one of kept) {
    const { by, node, key, value, sinceMs, untilMs, end } = one;
    const atMs = Math.max(sinceMs, judgedAt(one, standstills.get(node) ?? []));
    const read = { by, key, value, invokedMs: atMs, returnedMs: atMs };
    const fault = faultOfRead(read, calls.get(key) ?? [], boundMs);
    if (fault === undefined) continue;
    const times = `${sinceMs.toFixed(1)}–${untilMs.toFixed(1)}`;
    const text = `${times} ${by} kept ${key}: ${value}, until ${end}: ${fault}`;
    throw new Violation('caches', text);
  }
}

/** When its node could tell it last. */
function judgedAt({ sinceMs, untilMs }: Kept, standstills: readonly Standstill[]): number {
  let atMs = untilMs;
  for (const { fromMs, toMs } of standstills.toReversed()) {
    // who connects to one that was started anew keeps nothing so soon
    const concerns = toMs < Number.POSITIVE_INFINITY || fromMs > sinceMs - ON_THE_WAY_MS;
    if (concerns && fromMs <= atMs && atMs <= toMs + GOES_ON_MS) atMs = fromMs;
  }
  return atMs;
}

/** When nothing has changed for as long as is promised no cache holds what is not there. */
export function checkQuietCaches(
  kept: readonly Kept[],
  left: ReadonlyMap<string, string | null>,
): void {
  for (const { by, key, value, sinceMs } of kept) {
    const now = left.get(key);
    if (now === undefined || now === value) continue;
    const text = `${by} keeps ${key}: ${value} since ${sinceMs.toFixed(1)}, and it is ${now}`;
    throw new Violation('caches', text);
  }
}
