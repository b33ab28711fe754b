/**
 * Hundreds of rounds of one thing. Each has a limit of its own that tells what works from what
 * hangs, however busy the machine is, and a long run says from time to time how far it is.
 */
import { within } from '../cluster/cluster.ts';

/** A round takes seconds; the longest seen took 42, on two cores with a load of 80. */
const ROUND_MS = 300_000;
/** What stands around the rounds of a test: a cluster's start and end, recordings. */
const AROUND_MS = 1_200_000;
const TELL_MS = 30_000;

export interface Rounds {
  /** Of what; begins each line. */
  readonly what: string;
  readonly count: number;
  readonly roundMs?: number;
}

/** Runs `round` so many times, one after the other; rejects when one fails or is over its limit. */
export async function inRounds(
  { what, count, roundMs = ROUND_MS }: Rounds,
  round: (at: number) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  let told = began;
  for (let at = 0; at < count; at++) {
    const place = `${what}: round ${at + 1} of ${count}`;
    await within(roundMs, round(at), () => `${place} does not end`);
    const now = performance.now();
    if (now - told < TELL_MS || at + 1 === count) continue;
    told = now;
    process.stdout.write(`${place}, ${timeLeft(now - began, at + 1, count)}\n`);
  }
}

/** For a test of so many rounds: each may take what a round may, so their own limits speak first. */
export function limitOf(count: number, roundMs = ROUND_MS): number {
  return AROUND_MS + count * (roundMs + 1_000);
}

function timeLeft(tookMs: number, done: number, count: number): string {
  const eachMs = tookMs / done;
  const minutes = Math.ceil((eachMs * (count - done)) / 60_000);
  return `${(eachMs / 1_000).toFixed(1)} s each, ${minutes} min left`;
}
