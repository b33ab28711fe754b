/** Sets: members one by one, all of them, some of them. */

import { SteadyList } from '../../../common/steady-list.ts';
import type { Collection } from '../../encoding/collections/collection.ts';
import { eachSlice, pickOne } from '../../encoding/collections/member-walk.ts';
import { removeKey } from '../../encoding/keyspace/keyspace.ts';
import {
  addMember,
  decodeMember,
  encodingOfMembers,
  encodingOfSet,
  expectMembers,
  hasMember,
  membersOf,
  openSet,
  readSet,
  removeMember,
  reopenSet,
  saveSet,
} from '../../encoding/sets/set.ts';
import { removePicked } from '../../encoding/sets/set-removal.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import type { KeyValue } from '../../engine/engine.ts';
import { array, bulk, EMPTY_ARRAY, integer, NULL, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  type MemberScan,
  parseMemberScan,
  SCAN_OF_NOTHING,
  scanMembers,
} from '../members/member-scan.ts';
import { pickCount, pickDistinctFor, randomCount } from '../members/random-members.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { tellChange } from '../rows/key-events.ts';

interface KeyMembers {
  readonly key: Buffer;
  readonly members: readonly Buffer[];
}

interface KeyCount {
  readonly key: Buffer;
  /** Undefined: one member, not an array of one. */
  readonly count: number | undefined;
}

interface Move {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly member: Buffer;
}

const NO = integer(0);
const YES = integer(1);
const EMPTY_SET: Reply = { kind: 'set', items: [] };
/** SPOP with a count of which at most one in so many remains makes a new set of these. */
const POP_MOVES_REMAINING = 5;

/** SADD key member [member ...] */
function runAdd(view: WriteView, { key, members }: KeyMembers, { nowMs }: RunContext): RunResult {
  const set = openSet(view, key, nowMs);
  if (set === 'wrong-type') return WRONG_TYPE;
  expectMembers(set, members[0]!, members.length);
  let added = 0;
  const add = (member: Buffer) => {
    if (addMember(view, set, member)) added++;
  };
  return inSteps(members, add, () => {
    saveSet(view, set);
    if (added > 0) view.notify?.('set', 'sadd', key);
    return integer(added);
  });
}

/** SREM key member [member ...] */
function runRemove(
  view: WriteView,
  { key, members }: KeyMembers,
  { nowMs }: RunContext,
): RunResult {
  const found = readSet(view, key, nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (found === undefined) return NO;
  const set = reopenSet(found);
  let removed = 0;
  const remove = (member: Buffer) => {
    if (removeMember(view, set, member)) removed++;
  };
  return inSteps(members, remove, () => {
    saveSet(view, set);
    if (removed > 0) tellChange(view, 'set', 'srem', set.collection);
    return integer(removed);
  });
}

/** SISMEMBER key member, SMISMEMBER key member [member ...] */
function areMembers(replyOf: (answers: readonly Reply[]) => Reply) {
  return (view: View, { key, members }: KeyMembers, { nowMs }: RunContext): RunResult => {
    const set = readSet(view, key, nowMs);
    if (set === 'wrong-type') return WRONG_TYPE;
    const answers: Reply[] = [];
    const answer = (member: Buffer) => {
      answers.push(set !== undefined && hasMember(view, set, member) ? YES : NO);
    };
    return inSteps(members, answer, () => replyOf(answers));
  };
}

/** SCARD key */
function runCard(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const set = readSet(view, key, nowMs);
  return set === 'wrong-type' ? WRONG_TYPE : integer(set?.size ?? 0);
}

/** SMOVE source destination member */
function runMove(view: WriteView, { from, to, member }: Move, { nowMs }: RunContext): Reply {
  const source = readSet(view, from, nowMs);
  if (source === undefined) return NO;
  const target = readSet(view, to, nowMs);
  if (source === 'wrong-type' || target === 'wrong-type') return WRONG_TYPE;
  if (!hasMember(view, source, member)) return NO;
  if (from.equals(to)) return YES;
  const left = reopenSet(source);
  removeMember(view, left, member);
  saveSet(view, left);
  tellChange(view, 'set', 'srem', left.collection);
  const grown = openSet(view, to, nowMs);
  if (grown === 'wrong-type') return WRONG_TYPE;
  const added = addMember(view, grown, member);
  saveSet(view, grown);
  if (added) view.notify?.('set', 'sadd', to);
  return YES;
}

/** SMEMBERS key */
function runMembers(view: View, key: Buffer, { nowMs }: RunContext): RunResult {
  const set = readSet(view, key, nowMs);
  if (set === 'wrong-type') return WRONG_TYPE;
  return set === undefined ? EMPTY_SET : allMembers(set);
}

function* allMembers(set: Collection): Slices<Reply> {
  const pile = new ReplyPile('set', 'SSCAN');
  yield* eachSlice(membersOf(set).range, (pairs) => {
    for (const pair of pairs) pile.add(memberReply(pair));
  });
  return pile.reply();
}

/** SRANDMEMBER key [count] */
function parseRandomMember(args: readonly Buffer[]): KeyCount {
  if (args.length > 3) throw syntaxError();
  return { key: argument(args, 1), count: args[2] && randomCount(args[2]) };
}

function runRandomMember(view: View, { key, count }: KeyCount, context: RunContext): RunResult {
  const set = readSet(view, key, context.nowMs);
  if (set === 'wrong-type') return WRONG_TYPE;
  if (set === undefined) return count === undefined ? NULL : EMPTY_ARRAY;
  return randomMembers(set, count, context);
}

function* randomMembers(
  set: Collection,
  count: number | undefined,
  { random }: RunContext,
): Slices<Reply> {
  if (count === undefined) return memberReply((yield* pickOne(membersOf(set), random))!);
  const picked = yield* pickCount(membersOf(set), count, random);
  return yield* pileMembers('array', picked);
}

/** SPOP key [count] */
function parsePop(args: readonly Buffer[]): KeyCount {
  if (args.length > 3) throw syntaxError();
  const outOfRange = 'ERR value is out of range, must be positive';
  const count = args[2] && countArgument(args[2], outOfRange);
  if (count !== undefined && count < 0) throw new ArgumentError(outOfRange);
  return { key: argument(args, 1), count };
}

function runPop(view: WriteView, { key, count }: KeyCount, context: RunContext): RunResult {
  const found = readSet(view, key, context.nowMs);
  if (found === 'wrong-type') return WRONG_TYPE;
  if (found === undefined) return count === undefined ? NULL : EMPTY_SET;
  if (count === undefined) return popOne(view, found, context);
  return count === 0 ? EMPTY_SET : popCount(view, found, count, context);
}

function* popOne(view: WriteView, found: Collection, { random }: RunContext): Slices<Reply> {
  const member = decodeMember((yield* pickOne(membersOf(found), random))![0]);
  const set = reopenSet(found);
  removeMember(view, set, member);
  saveSet(view, set);
  tellChange(view, 'set', 'spop', set.collection);
  return bulk(member);
}

function* popCount(
  view: WriteView,
  found: Collection,
  count: number,
  { random }: RunContext,
): Slices<Reply> {
  const popped = yield* pickDistinctFor(membersOf(found), count, random);
  const reply = yield* pileMembers('set', popped);
  const remaining = found.size - popped.length;
  if (remaining === 0) {
    removeKey(view, found.found);
    tellChange(view, 'set', 'spop', { found: found.found, size: 0 });
    return reply;
  }
  const set = yield* removePicked(view, found, popped);
  // Redis moves the few that remain into a new set, whose encoding may be another
  if (remaining * POP_MOVES_REMAINING <= count && encodingOfSet(found) === 'hashtable') {
    set.encoding = encodingOfMembers(yield* remainingMembers(set.collection));
  }
  saveSet(view, set);
  view.notify?.('set', 'spop', found.found.key);
  return reply;
}

function* pileMembers(shape: 'array' | 'set', elements: Iterable<KeyValue>): Slices<Reply> {
  const pile = new ReplyPile(shape, 'a smaller count');
  yield* eachItem(elements, (element) => pile.add(memberReply(element)));
  return pile.reply();
}

function* remainingMembers(found: Collection): Slices<SteadyList<Buffer>> {
  const members = new SteadyList<Buffer>();
  yield* eachSlice(membersOf(found).range, (pairs) => {
    for (const [key] of pairs) members.push(decodeMember(key));
  });
  return members;
}

/** SSCAN key cursor [MATCH pattern] [COUNT count] */
function runScan(view: View, request: MemberScan, { nowMs }: RunContext): RunResult {
  const set = readSet(view, request.key, nowMs);
  if (set === 'wrong-type') return WRONG_TYPE;
  if (set === undefined) return SCAN_OF_NOTHING;
  const whole = encodingOfSet(set) !== 'hashtable';
  return scanMembers(membersOf(set), request, whole, (pair) => [memberReply(pair)]);
}

function memberReply([key]: KeyValue): Reply {
  return bulk(decodeMember(key));
}

function parseKey(args: readonly Buffer[]): Buffer {
  return argument(args, 1);
}

function parseMembers(args: readonly Buffer[]): KeyMembers {
  return { key: argument(args, 1), members: args.slice(2) };
}

const column = { categories: ['set'], group: 'set', keys: FIRST_KEY, since: '1.0.0' };
const isMemberRow = { ...column, flags: ['readonly', 'fast'], parse: parseMembers } as const;

export const setCommands: readonly Command[] = [
  write({
    ...column,
    name: 'sadd',
    arity: -3,
    flags: ['write', 'denyoom', 'fast'],
    summary: 'Adds one or more members to a set; creates the set when there is none.',
    parse: parseMembers,
    run: runAdd,
  }),
  write({
    ...column,
    name: 'srem',
    arity: -3,
    flags: ['write', 'fast'],
    summary: 'Removes one or more members from a set; the set too when none remains.',
    parse: parseMembers,
    run: runRemove,
  }),
  read({
    ...isMemberRow,
    name: 'sismember',
    arity: 3,
    summary: 'Determines whether a member belongs to a set.',
    run: areMembers((answers) => answers[0]!),
  }),
  read({
    ...isMemberRow,
    name: 'smismember',
    arity: -3,
    since: '6.2.0',
    summary: 'Determines whether several members belong to a set.',
    run: areMembers(array),
  }),
  read({
    ...column,
    name: 'scard',
    arity: 2,
    flags: ['readonly', 'fast'],
    summary: 'Returns the number of members in a set.',
    singlePoint: true,
    parse: parseKey,
    run: runCard,
  }),
  write({
    ...column,
    name: 'smove',
    arity: 4,
    flags: ['write', 'fast'],
    keys: { first: 1, last: 2, step: 1 },
    summary: 'Moves a member from one set to another.',
    parse: (args) => ({
      from: argument(args, 1),
      to: argument(args, 2),
      member: argument(args, 3),
    }),
    run: runMove,
  }),
  read({
    ...column,
    name: 'smembers',
    arity: 2,
    flags: ['readonly'],
    summary: 'Returns all members of a set.',
    parse: parseKey,
    run: runMembers,
  }),
  read({
    ...column,
    name: 'srandmember',
    arity: -2,
    flags: ['readonly'],
    summary: 'Returns one or more random members of a set.',
    parse: parseRandomMember,
    run: runRandomMember,
  }),
  write({
    ...column,
    name: 'spop',
    arity: -2,
    flags: ['write', 'fast'],
    summary: 'Returns one or more random members of a set and removes them.',
    parse: parsePop,
    run: runPop,
  }),
  read({
    ...column,
    name: 'sscan',
    arity: -3,
    flags: ['readonly'],
    since: '2.8.0',
    summary: 'Iterates over members of a set.',
    parse: parseMemberScan,
    run: runScan,
  }),
];
