/** Words of XDELEX, XACKDEL, XADD and XTRIM: what becomes of what is pending of deleted entries. */
import type { PendingFate } from '../../encoding/streams/stream-references.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import { argument } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';

const fates: readonly string[] = ['keepref', 'delref', 'acked'] satisfies PendingFate[];

/** `option`: in lower case. */
export function isFateWord(option: string): option is PendingFate {
  return fates.includes(option);
}

/** The number of IDs that are to stand behind it, which do. */
export function countOfIds(args: readonly Buffer[], at: number): number {
  const count = parseInteger(argument(args, at));
  if (count === undefined || count < 1) {
    throw new ArgumentError('ERR Number of IDs must be a positive integer');
  }
  if (count >= args.length - at) {
    throw new ArgumentError('ERR The `numids` parameter must match the number of arguments');
  }
  return Number(count);
}
