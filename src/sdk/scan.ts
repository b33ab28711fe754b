/**
 * Walks: all keys of a namespace, or the elements of one collection, as async iterables. Keys go by
 * partition and slot, so the cursor of SCAN tells where a walk is, is good at every node, for ever,
 * and says how much is left.
 */
import { Readable } from 'node:stream';
import { SLOT_COUNT } from '../common/hash.ts';
import type { CallOptions } from './command-types.ts';

export interface ScanOptions extends CallOptions {
  /** Only keys (fields, members) of this glob pattern. */
  readonly match?: string | undefined;
  /** About how many are looked at per step; the server's default is 10. */
  readonly count?: number | undefined;
  /** Of keys only: of this type (`string`, `list`, `hash`, `set`, `zset`). */
  readonly type?: string | undefined;
  /** Where an earlier walk was: its `cursor`. Default `0`, the beginning. */
  readonly cursor?: string | undefined;
}

/** One step of a walk over keys; it may be empty. */
export interface ScanStep {
  readonly keys: readonly string[];
  /** Goes on behind this step, also in another process; `0`: this was the last step. */
  readonly cursor: string;
  /** Part of the keys' places that lies behind, from 0 to 1. */
  readonly progress: number;
}

/** Sends one step; resolves with the next cursor and what was found. */
type Step = (
  args: readonly unknown[],
) => Promise<readonly [cursor: string, found: readonly string[]]>;

const HASHES = 2 ** 32;

/** How many places there are: in namespaces with slots, and those of murmur3 with so many partitions. */
export function scanPlaces(hash: 'slots' | 'murmur3', partitions: number): number {
  if (hash === 'slots') return SLOT_COUNT * HASHES;
  return partitions * SLOT_COUNT * Math.ceil(HASHES / partitions);
}

/** `places`: asked at each step; undefined while the partitions are not known. */
export async function* scanSteps(
  step: Step,
  options: ScanOptions,
  places: () => number | undefined,
): AsyncGenerator<ScanStep, void, undefined> {
  let cursor = options.cursor ?? '0';
  do {
    const [next, keys] = await step([cursor, ...scanArguments(options)]);
    cursor = next;
    const all = places() ?? SLOT_COUNT * HASHES;
    const progress = cursor === '0' ? 1 : Math.min(1, Number(cursor) / all);
    yield { keys, cursor, progress };
  } while (cursor !== '0');
}

function scanArguments({ match, count, type, cursor: _, ...options }: ScanOptions): unknown[] {
  return [
    ...(match === undefined ? [] : ['MATCH', match]),
    ...(count === undefined ? [] : ['COUNT', count]),
    ...(type === undefined ? [] : ['TYPE', type]),
    options,
  ];
}

/** An object stream of the arrays that steps have found, empty ones left out. */
export function scanStream(steps: AsyncIterable<ScanStep>): Readable {
  async function* found() {
    for await (const { keys } of steps) if (keys.length > 0) yield keys;
  }
  return Readable.from(found(), { objectMode: true, highWaterMark: 1 });
}
