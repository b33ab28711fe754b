/**
 * ZanRedisDB's walks over one collection, to both sides: a cursor is the last field or member of the
 * page before, or any other: what lies behind it in the order of bytes comes next. So a page reads
 * all of a collection. A larger one is walked in the order in which it is stored, unless the client
 * begins at a member of its own: then cursors are marked, and say the same for as long as they last.
 */
import { crc32 } from '../../../common/checksum.ts';
import { limits } from '../../../common/limits.ts';
import {
  type MemberPage,
  type PageRequest,
  pageByHash,
  pageByMember,
} from '../../encoding/collections/member-page.ts';
import type { Members } from '../../encoding/collections/member-walk.ts';
import { decodeField, fieldsOf, readHash } from '../../encoding/hashes/hash.ts';
import { decodeMember, elementRange } from '../../encoding/records/element-key.ts';
import type { ValueType } from '../../encoding/records/header.ts';
import { tags } from '../../encoding/records/tags.ts';
import { membersOf, readSet } from '../../encoding/sets/set.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View } from '../../encoding/txn/view.ts';
import { readZset } from '../../encoding/zsets/zset.ts';
import type { KeyValue } from '../../engine/engine.ts';
import { formatDouble } from '../../resp/encode-reply.ts';
import { array, bulk, EMPTY_ARRAY, type Reply } from '../../resp/reply.ts';
import { argument, WRONG_TYPE } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';
import { matchesGlob } from '../texts/glob.ts';
import { type PageOptions, pageOptions } from './zan-page.ts';
import { typeArgument } from './zan-types.ts';

/** A page is selected, and ordered, in one step. */
const COUNT_MAX = 1_024;
/** Up to this size a walk from the beginning goes by member. */
const BY_MEMBER_MAX = 4_096;
const NOTHING = Buffer.alloc(0);
const END = array([bulk(NOTHING), EMPTY_ARRAY]);

interface ElementScan extends PageOptions {
  readonly type: ValueType;
  readonly key: Buffer;
  readonly cursor: Cursor;
}

interface Cursor {
  readonly order: 'member' | 'hash' | 'any';
  readonly after: Buffer | undefined;
}

/** ZAN.ELEMENTS type key cursor [REV] [MATCH pattern] [COUNT count] */
function parseScan(args: readonly Buffer[]): ElementScan {
  const type = typeArgument(args, 1);
  if (type === 'string' || type === 'list') {
    throw new ArgumentError('ERR elements are scanned of the types HASH, SET and ZSET');
  }
  const options = pageOptions(args, COUNT_MAX);
  const cursor = decodeCursor(argument(args, 3));
  return { type, key: argument(args, 2), cursor, ...options };
}

/** No text, and so no member that a client is likely to have. */
const MARK = Buffer.from('\0stored order\0');
const MARK_BYTES = MARK.length + 4;

function decodeCursor(cursor: Buffer): Cursor {
  if (cursor.length === 0) return { order: 'any', after: undefined };
  const after = cursor.subarray(MARK_BYTES);
  if (!encodeCursor('hash', after).equals(cursor)) return { order: 'member', after: cursor };
  return { order: 'hash', after };
}

function encodeCursor(order: 'member' | 'hash', member: Buffer): Buffer {
  if (order === 'member') return member;
  const check = Buffer.allocUnsafe(4);
  check.writeUInt32BE(crc32(member, crc32(MARK)));
  return Buffer.concat([MARK, check, member]);
}

type Give = (element: KeyValue) => readonly Reply[];

const giveField: Give = (pair) => [bulk(decodeMember(pair[0])), bulk(decodeField(pair).value)];
const giveMember: Give = ([key]) => [bulk(decodeMember(key))];
/** A member's record has its score behind the flags. */
const giveScored: Give = ([key, value]) => [
  bulk(decodeMember(key)),
  bulk(formatDouble(value.readDoubleBE(1))),
];

function runScan(view: View, request: ElementScan, { nowMs }: RunContext): RunResult {
  const { key, type } = request;
  if (type === 'hash') {
    const hash = readHash(view, key, nowMs);
    if (hash === 'wrong-type') return WRONG_TYPE;
    return hash === undefined ? END : scan(view, fieldsOf(hash), request, giveField);
  }
  const read = type === 'set' ? readSet : readZset;
  const collection = read(view, key, nowMs);
  if (collection === 'wrong-type') return WRONG_TYPE;
  if (collection === undefined) return END;
  if (type === 'set') return scan(view, membersOf(collection), request, giveMember);
  const { place, size } = collection;
  const scored = { range: elementRange(tags.zsetMember, place), size, isLive: () => true };
  return scan(view, scored, request, giveScored);
}

function* scan(
  view: View,
  found: Members | Slices<Members>,
  { cursor, reverse, count, glob }: ElementScan,
  give: Give,
): Slices<Reply> {
  const members = 'range' in found ? found : yield* found;
  const page: PageRequest = {
    after: cursor.after,
    reverse,
    count,
    bytesMax: limits.batchReplyBytes,
    isWanted: (member) => glob === undefined || matchesGlob(glob, member),
  };
  const small = members.size <= BY_MEMBER_MAX;
  const order = cursor.order === 'any' ? (small ? 'member' : 'hash') : cursor.order;
  const { elements, next }: MemberPage =
    order === 'member'
      ? yield* pageByMember(view, members, page)
      : yield* pageByHash(members, page);
  const nextCursor = next === undefined ? NOTHING : encodeCursor(order, next);
  return array([bulk(nextCursor), array(elements.flatMap(give))]);
}

export const zanElementCommands: readonly Command[] = [
  read({
    name: 'zan.elements',
    arity: -4,
    flags: ['readonly'],
    keys: { first: 2, last: 2, step: 1 },
    categories: ['keyspace'],
    group: 'generic',
    since: '7.0.0',
    summary: 'Iterates over the elements of a hash, set or sorted set, in either direction.',
    parse: parseScan,
    run: runScan,
  }),
];
