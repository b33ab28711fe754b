/**
 * Walks: all keys of a namespace, or the elements of one collection, as async iterables. Keys go by
 * partition and slot, so the cursor of SCAN tells where a walk is, is good at every node, for ever,
 * and says how much is left.
 */
import { Readable } from 'node:stream';
import { SLOT_COUNT } from '../common/hash.ts';
import type { CallOptions, Key } from './command-types.ts';
import type { TableContent } from './table.ts';

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

/** Sends a command of the walk, options of the call last. */
type Send = (name: string, ...args: readonly unknown[]) => Promise<unknown>;

interface Found {
  readonly cursor: string;
  readonly found: readonly string[];
}

const HASHES = 2 ** 32;

/** `content`: of the table of partitions, asked for at each step; undefined while it is not known. */
export async function* keySteps(
  send: Send,
  options: ScanOptions,
  content: () => TableContent | undefined,
): AsyncGenerator<ScanStep, void, undefined> {
  for await (const { cursor, found } of stepsOf(send, ['scan'], options)) {
    const progress = cursor === '0' ? 1 : Math.min(1, Number(cursor) / placesOf(content()));
    yield { keys: found, cursor, progress };
  }
}

/** The elements of one collection as an object stream; `name` is HSCAN or one of its like. */
export function elementStream(send: Send, name: string, key: Key, options: ScanOptions): Readable {
  return streamOf(stepsOf(send, [name, key], options), ({ found }) => found);
}

/** An object stream of the keys of such steps. */
export function keyStream(steps: AsyncIterable<ScanStep>): Readable {
  return streamOf(steps, ({ keys }) => keys);
}

async function* stepsOf(
  send: Send,
  [name, ...key]: readonly [string, ...Key[]],
  options: ScanOptions,
): AsyncGenerator<Found, void, undefined> {
  let cursor = options.cursor ?? '0';
  do {
    const reply = await send(name, ...key, cursor, ...scanArguments(options));
    const [next, found] = reply as readonly [cursor: string, found: readonly string[]];
    cursor = next;
    yield { cursor, found };
  } while (cursor !== '0');
}

/** How many places for keys there are, in order of the cursor; as with slots while that is not known. */
function placesOf(content: TableContent | undefined): number {
  if (content?.hash !== 'murmur3') return SLOT_COUNT * HASHES;
  const partitions = content.partitions.length;
  return partitions * SLOT_COUNT * Math.ceil(HASHES / partitions);
}

function scanArguments({ match, count, type, cursor: _, ...options }: ScanOptions): unknown[] {
  return [
    ...(match === undefined ? [] : ['MATCH', match]),
    ...(count === undefined ? [] : ['COUNT', count]),
    ...(type === undefined ? [] : ['TYPE', type]),
    options,
  ];
}

/** Of the arrays that steps have found, empty ones left out. */
function streamOf<Step>(
  steps: AsyncIterable<Step>,
  foundIn: (step: Step) => readonly string[],
): Readable {
  async function* arrays() {
    for await (const step of steps) {
      const found = foundIn(step);
      if (found.length > 0) yield found;
    }
  }
  return Readable.from(arrays(), { objectMode: true, highWaterMark: 1 });
}
