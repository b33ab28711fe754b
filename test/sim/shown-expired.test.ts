/** What is judged of keys that have expired, on histories made by hand. */
import { expect, test } from 'vitest';
import { bulk, NULL, OK, type Reply } from '../../src/datanode/resp/reply.ts';
import type { Call } from './call.ts';
import { checkShownExpired } from './checkers/shown-expired.ts';
import type { StaleRead } from './checkers/stale-reads.ts';

const BOUND_MS = 100;

/** Each takes 10 ms; without a reply nobody knows what became of it. */
function call(text: string, atMs: number, reply?: Reply): Call {
  const returnedMs = reply === undefined ? Number.POSITIVE_INFINITY : atMs + 10;
  return { client: 1, words: text.split(' '), invokedMs: atMs, returnedMs, reply };
}

function stale(value: string | null, atMs: number): StaleRead {
  return { by: 'reader', key: 'e0', value, invokedMs: atMs, returnedMs: atMs + 10 };
}

const get = (value: string | null, atMs: number) =>
  call('GET e0', atMs, value === null ? NULL : bulk(value));
const set = call('SET e0 v PX 900', 0, OK);

const wrong: readonly (readonly [string, readonly StaleRead[], readonly Call[]])[] = [
  ['by another leader', [], [set, get(null, 500), get('v', 520)]],
  ['by a leader, after a follower', [stale(null, 500)], [set, get('v', 520)]],
  ['by a follower, after a leader', [stale('v', 650)], [set, get(null, 500)]],
  ['by a follower, after another', [stale(null, 500), stale('v', 650)], [set]],
  [
    'after a write of which nobody knew until it was shown',
    [stale('v', 20), stale(null, 500)],
    [call('SET e0 v PX 900', 0), get('v', 520)],
  ],
  [
    'when another took its place between',
    [stale('w', 500)],
    [set, call('SET e0 w PX 900', 300, OK), get('v', 520)],
  ],
];

test.each(wrong)('a key shows again %s: that is wrong', (_, reads, calls) => {
  expect(() => checkShownExpired(reads, calls, BOUND_MS)).toThrow(/^shown expired: v was over/);
});

const right: readonly (readonly [string, readonly StaleRead[], readonly Call[]])[] = [
  ['at a follower that may be older', [stale('v', 600)], [set, get(null, 500)]],
  ['after a follower that may not have had it yet', [stale(null, 90)], [set, get('v', 200)]],
  ['while the answer that it is gone is on its way', [], [set, get(null, 500), get('v', 505)]],
  ['after it was written by somebody else', [], [set, get(null, 500), get('w', 520)]],
];

test.each(right)('a key shows %s: that is right', (_, reads, calls) => {
  expect(() => checkShownExpired(reads, calls, BOUND_MS)).not.toThrow();
});
