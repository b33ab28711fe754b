/**
 * HSCAN, SSCAN and ZSCAN: walks over the elements of one collection.
 *
 * A cursor is a position, not a handle: the first 53 bits of the member's hash, below which every
 * element has been given. Elements are stored in order of that hash, so no node keeps anything for
 * it. An element present throughout is always given: the walk never passes a position before all
 * elements there are given. As in Redis, a collection small enough for a compact encoding is given
 * whole, whatever the cursor.
 */
import { limits } from '../../../common/limits.ts';
import {
  type Members,
  POSITION_END,
  positionOf,
  rangeFrom,
} from '../../encoding/collections/member-walk.ts';
import { decodeMember } from '../../encoding/records/element-key.ts';
import { keyAfter } from '../../encoding/records/key.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { KeyValue } from '../../engine/engine.ts';
import { array, bulk, EMPTY_ARRAY, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  argument,
  countArgument,
  SYNTAX_ERROR,
  syntaxError,
  textBytes,
  word,
} from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { type Glob, matchesGlob, patternArgument } from '../texts/glob.ts';

const COUNT = 10;
const CURSOR_MAX = 2n ** 64n - 1n;
const CURSOR_CHARACTERS_MAX = 64;

interface ScanOptions {
  readonly count: number;
  /** Undefined: every member matches. */
  readonly glob: Glob | undefined;
  readonly noValues: boolean;
}

export interface MemberScan {
  readonly key: Buffer;
  /** Below POSITION_END, or there when nothing is left to give. */
  readonly position: number;
  readonly options: ScanOptions | ArgumentError;
}

export const SCAN_OF_NOTHING = array([bulk('0'), EMPTY_ARRAY]);

/** SSCAN key cursor [MATCH pattern] [COUNT count], and ZSCAN likewise */
export function parseMemberScan(args: readonly Buffer[]): MemberScan {
  return parseScan(args, false);
}

/** HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES] */
export function parseFieldScan(args: readonly Buffer[]): MemberScan {
  return parseScan(args, true);
}

function parseScan(args: readonly Buffer[], ofFields: boolean): MemberScan {
  const key = argument(args, 1);
  const position = parseCursor(argument(args, 2));
  return { key, position, options: late(() => parseOptions(args, ofFields)) };
}

function parseCursor(arg: Buffer): number {
  const cursor = textBytes(arg);
  const text = cursor.toString('latin1');
  const isNumber = cursor.length <= CURSOR_CHARACTERS_MAX && /^(?:|[+-]?\d+)$/.test(text);
  const number = isNumber ? BigInt(text) : undefined;
  if (number === undefined || number > CURSOR_MAX || number < -CURSOR_MAX) {
    throw new ArgumentError('ERR invalid cursor');
  }
  return number < 0n ? POSITION_END : Math.min(Number(number), POSITION_END);
}

function parseOptions(args: readonly Buffer[], ofFields: boolean): ScanOptions {
  let count = COUNT;
  let noValues = false;
  let glob: Glob | undefined;
  for (let at = 3; at < args.length; at += 2) {
    const option = word(argument(args, at));
    if (ofFields && option === 'novalues') {
      noValues = true;
      at--;
      continue;
    }
    if (at + 1 >= args.length) throw syntaxError();
    const value = argument(args, at + 1);
    if (option === 'count') count = countArgument(value);
    else if (option === 'match') glob = patternArgument(value);
    else throw syntaxError();
    if (count < 1) throw new ArgumentError(SYNTAX_ERROR);
  }
  return { count: Math.min(count, limits.scanCountMax), glob, noValues };
}

/** `whole`: gives all of it at once. `give`: what of an element the reply has. */
export function* scanMembers(
  { range, isLive }: Members,
  { position, options }: MemberScan,
  whole: boolean,
  give: (element: KeyValue) => readonly Reply[],
): Slices<Reply> {
  if (options instanceof ArgumentError) return lateReply(options);
  if (!whole && position >= POSITION_END) return SCAN_OF_NOTHING;
  const { glob } = options;
  const count = whole ? Number.POSITIVE_INFINITY : options.count;
  const given = new ReplyPile('array', 'a smaller COUNT');
  let rest = whole ? range : rangeFrom(range, position);
  let read = 0;
  /** A page ends early where elements are long. */
  let bytes = 0;
  let last = -1;
  for (;;) {
    const limit = Math.max(1, count - read + 1);
    const pairs = yield Number.isFinite(limit) ? { ...rest, limit } : rest;
    if (pairs.length === 0) return array([bulk('0'), given.reply()]);
    for (const pair of pairs) {
      const here = positionOf(pair[0]);
      const full = read >= count || bytes > limits.batchReplyBytes;
      if (full && here !== last) return array([bulk(String(here)), given.reply()]);
      const isWanted = glob === undefined || matchesGlob(glob, decodeMember(pair[0]));
      if (isWanted && isLive(pair)) {
        for (const reply of give(pair)) given.add(reply);
        bytes += pair[0].length + pair[1].length;
      }
      read++;
      last = here;
    }
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}
