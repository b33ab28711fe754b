/** Some fields of hashes: HRANDFIELD and HSCAN. */

import { pickOne } from '../../encoding/collections/member-walk.ts';
import { fieldsOf, type Hash, readHash } from '../../encoding/hashes/hash.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import type { View } from '../../encoding/txn/view.ts';
import { EMPTY_ARRAY, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  type MemberScan,
  parseFieldScan,
  SCAN_OF_NOTHING,
  scanMembers,
} from '../members/member-scan.ts';
import { pickCount, randomCount } from '../members/random-members.ts';
import { argument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';
import { nameReply, valueReply } from './hash.ts';

interface RandomFields {
  readonly key: Buffer;
  /** Undefined: one field, not an array of one. */
  readonly count: number | undefined;
  readonly withValues: boolean;
}

/** HRANDFIELD key [count [WITHVALUES]] */
function parseRandomField(args: readonly Buffer[]): RandomFields {
  const key = argument(args, 1);
  if (args.length === 2) return { key, count: undefined, withValues: false };
  const count = randomCount(argument(args, 2));
  if (args.length === 3) return { key, count, withValues: false };
  if (args.length > 4 || word(argument(args, 3)) !== 'withvalues') throw syntaxError();
  return { key, count: randomCount(argument(args, 2), true), withValues: true };
}

function runRandomField(view: View, request: RandomFields, context: RunContext): RunResult {
  const hash = readHash(view, request.key, context.nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  if (hash === undefined) return request.count === undefined ? NULL : EMPTY_ARRAY;
  return randomFields(hash, request, context);
}

function* randomFields(
  hash: Hash,
  { count, withValues }: RandomFields,
  { random }: RunContext,
): Slices<Reply> {
  const fields = yield* fieldsOf(hash);
  if (count === undefined) {
    const field = yield* pickOne(fields, random);
    return field === undefined ? NULL : nameReply(field);
  }
  const picked = yield* pickCount(fields, count, random);
  const pile = new ReplyPile(withValues ? 'pairs' : 'array', 'a smaller count');
  yield* eachItem(picked, (field) =>
    pile.add(nameReply(field), withValues ? valueReply(field) : undefined),
  );
  return pile.reply();
}

function runScan(view: View, request: MemberScan, { nowMs }: RunContext): RunResult {
  const hash = readHash(view, request.key, nowMs);
  if (hash === 'wrong-type') return WRONG_TYPE;
  return hash === undefined ? SCAN_OF_NOTHING : scanFields(hash, request);
}

function* scanFields(hash: Hash, request: MemberScan): Slices<Reply> {
  const fields = yield* fieldsOf(hash);
  const whole = hash.encoding !== 'hashtable';
  const { options } = request;
  const noValues = !(options instanceof ArgumentError) && options.noValues;
  return yield* scanMembers(fields, request, whole, (field) =>
    noValues ? [nameReply(field)] : [nameReply(field), valueReply(field)],
  );
}

const column = {
  flags: ['readonly'],
  categories: ['hash'],
  group: 'hash',
  keys: FIRST_KEY,
} as const;

export const hashWalkCommands: readonly Command[] = [
  read({
    ...column,
    name: 'hrandfield',
    arity: -2,
    since: '6.2.0',
    summary: 'Returns one or more random fields from a hash.',
    parse: parseRandomField,
    run: runRandomField,
  }),
  read({
    ...column,
    name: 'hscan',
    arity: -3,
    since: '2.8.0',
    summary: 'Iterates over fields and values of a hash.',
    parse: parseFieldScan,
    run: runScan,
  }),
];
