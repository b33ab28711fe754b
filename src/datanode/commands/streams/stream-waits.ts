/**
 * XREAD and XREADGROUP that wait: what for, by arguments that their rows have taken. Readers take nothing
 * (partition/waiting/stream-readers.ts); consumers of a group do (partition/waiting/waiters.ts).
 */
import { textBytes } from '../rows/args.ts';
import type { BlockingForm, ReadingForm } from '../rows/command.ts';
import { readOptions } from './stream-read-args.ts';

type Line = readonly Buffer[];

const NEW_ENTRIES = '>';

/** XREAD [COUNT count] BLOCK milliseconds STREAMS key [key ...] id [id ...] */
export function streamReading(args: Line): ReadingForm | undefined {
  const { blockMs, keys, ids } = readOptions(args, 'xread');
  if (blockMs === undefined) return undefined;
  const before = beforeKeys(args, keys);
  return {
    ...{ keys, ids, timeoutMs: blockMs },
    of: (others, behind) => [...before, ...others, ...behind],
  };
}

/**
 * XREADGROUP GROUP group consumer [COUNT count] BLOCK milliseconds [CLAIM min-idle-time] [NOACK]
 * STREAMS key [key ...] id [id ...].
 * Who asks for what was given before is answered at once, with nothing if need be.
 */
export function groupReading(args: Line): BlockingForm | undefined {
  const { blockMs, group, claimIdleMs, keys, ids } = readOptions(args, 'xreadgroup');
  if (blockMs === undefined || group === undefined || !ids.every(isNew)) return undefined;
  const before = beforeKeys(args, keys);
  const newest = ids[0]!;
  return {
    ...{ keys, type: 'stream', timeoutMs: blockMs, group: group.name },
    ...(claimIdleMs !== undefined && { claimIdleMs }),
    only: (key) => [...before, key, newest],
  };
}

function beforeKeys(args: Line, { length }: Line): Line {
  return args.slice(0, args.length - 2 * length);
}

function isNew(id: Buffer): boolean {
  return textBytes(id).toString('latin1') === NEW_ENTRIES;
}
