/**
 * What once was shown as expired never shows again, whoever shows it (decision 14): a leader, one
 * under its lease, or a follower, whose state is older, but no older than its bound. A value is set
 * once. Whoever shows another, or none, from a state that has it, says that it is over; from then on
 * no state that has what was committed by that time shows it.
 */
import type { Call } from '../call.ts';
import { textOf } from '../call.ts';
import { Violation } from './checker.ts';
import type { StaleRead } from './stale-reads.ts';

/** One look at a key, by anybody. */
interface Show {
  readonly by: string;
  readonly key: string;
  /** Null: there is none, or it has expired. */
  readonly value: string | null;
  /** The state that was shown has all that was committed, and told to anybody, by then. */
  readonly hasUntilMs: number;
  readonly invokedMs: number;
  readonly returnedMs: number;
}

/** Keys with deadlines. */
export function isExpiring(key: string): boolean {
  return /^e\d$/.test(key);
}

/** Reads at followers may be `boundMs` old on the clock of the history. Throws Violation. */
export function checkShownExpired(
  staleReads: readonly StaleRead[],
  history: readonly Call[],
  boundMs: number,
): void {
  const byKey = new Map<string, Show[]>();
  for (const show of [...showsOf(history), ...staleShows(staleReads, boundMs)]) {
    if (!isExpiring(show.key)) continue;
    const same = byKey.get(show.key) ?? [];
    byKey.set(show.key, same);
    same.push(show);
  }
  for (const [key, shows] of byKey) {
    shows.sort((a, b) => a.returnedMs - b.returnedMs);
    for (const [value, setMs] of firstSeen(key, history, shows)) judge(value, setMs, shows);
  }
}

function showsOf(history: readonly Call[]): Show[] {
  return history.flatMap(({ client, words, invokedMs, returnedMs, reply }) => {
    if (words[0] !== 'GET' || (reply?.kind !== 'bulk' && reply?.kind !== 'null')) return [];
    const value = reply.kind === 'bulk' ? textOf(reply) : null;
    const times = { hasUntilMs: invokedMs, invokedMs, returnedMs };
    return [{ by: `client${client}`, key: words[1]!, value, ...times }];
  });
}

function staleShows(reads: readonly StaleRead[], boundMs: number): Show[] {
  return reads.map((read) => ({ ...read, hasUntilMs: read.invokedMs - boundMs }));
}

/** By when each value was there, by a write that was acknowledged or by somebody who showed it. */
function firstSeen(
  key: string,
  history: readonly Call[],
  shows: readonly Show[],
): Map<string, number> {
  const seen = new Map<string, number>();
  const note = (value: string, atMs: number) =>
    seen.set(value, Math.min(atMs, seen.get(value) ?? Number.POSITIVE_INFINITY));
  for (const { words, returnedMs } of history) {
    if (words[0] === 'SET' && words[1] === key) note(words[2]!, returnedMs);
  }
  for (const { value, returnedMs } of shows) if (value !== null) note(value, returnedMs);
  return seen;
}

/** `shows` of one key, in the order in which they were answered. */
function judge(value: string, setMs: number, shows: readonly Show[]): void {
  const over = shows.find((show) => show.value !== value && show.hasUntilMs > setMs);
  if (over === undefined) return;
  const again = shows.find((show) => show.value === value && show.hasUntilMs > over.returnedMs);
  if (again === undefined) return;
  throw new Violation(
    'shown expired',
    `${value} was over, and shows again:\n${describe(over)}\n${describe(again)}`,
  );
}

function describe({ by, key, value, invokedMs, returnedMs }: Show): string {
  return `  ${invokedMs.toFixed(1)}–${returnedMs.toFixed(1)} ${by} GET ${key}: ${value}`;
}
