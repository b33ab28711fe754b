/** What ZADD, ZINCRBY and GEOADD do: members with scores, and the options under which they are taken. */
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { memberKeyOf, openZset, putScore, scoreAt } from '../../encoding/zsets/zset.ts';
import { error, integer, NULL, type Reply } from '../../resp/reply.ts';
import { argument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { ArgumentError, type RunContext, type RunResult } from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { doubleArgument, scoreReply } from '../texts/score-args.ts';
import { savedZset } from './zset-save.ts';

export interface ScoredMember {
  readonly member: Buffer;
  readonly score: number;
}

/** What ZADD is asked for beside its members. */
export interface AddOptions {
  readonly nx: boolean;
  readonly xx: boolean;
  readonly gt: boolean;
  readonly lt: boolean;
  readonly ch: boolean;
  readonly incr: boolean;
}

export interface AddRequest {
  readonly key: Buffer;
  readonly options: AddOptions;
  readonly members: readonly ScoredMember[] | LateMembers;
}

/** So many members that reading their scores is a part of the run, in steps. */
interface LateMembers {
  readonly count: number;
  /** That of a number from 0 on. Throws ArgumentError. */
  readonly read: (number: number) => ScoredMember;
}

/** More members are read late. */
const MEMBERS_AT_ONCE_MAX = 1_024;
const NINE = 0x39;

const NOT_A_NUMBER = error('ERR resulting score is not a number (NaN)');
const NO_OPTIONS: AddOptions = {
  nx: false,
  xx: false,
  gt: false,
  lt: false,
  ch: false,
  incr: false,
};
const INCREMENT: AddOptions = { ...NO_OPTIONS, incr: true };

/** ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...] */
export function parseAdd(args: readonly Buffer[], always = NO_OPTIONS): AddRequest {
  let options = always;
  let at = 2;
  for (; at < args.length; at++) {
    const option = optionOf(argument(args, at));
    if (option === undefined) break;
    options = { ...options, [option]: true };
  }
  const count = args.length - at;
  if (count === 0 || count % 2 !== 0) throw syntaxError();
  if (options !== NO_OPTIONS) refuseContradictions(options, count / 2);
  const members = membersOf(count / 2, (number) => {
    const scoreAt = at + 2 * number;
    return { score: doubleArgument(argument(args, scoreAt)), member: argument(args, scoreAt + 1) };
  });
  return { key: argument(args, 1), options, members };
}

/** Most scores begin with a digit, and are no word. */
function optionOf(arg: Buffer): keyof AddOptions | undefined {
  if (arg.length === 0 || arg[0]! <= NINE) return undefined;
  const option = word(arg);
  return Object.hasOwn(NO_OPTIONS, option) ? (option as keyof AddOptions) : undefined;
}

/** `count` members as `read` reads them: now where they are few, so that no entry is made in vain. */
export function membersOf(count: number, read: LateMembers['read']): AddRequest['members'] {
  if (count > MEMBERS_AT_ONCE_MAX) return { count, read };
  const members: ScoredMember[] = [];
  for (let number = 0; number < count; number++) members.push(read(number));
  return members;
}

function refuseContradictions({ nx, xx, gt, lt, incr }: AddOptions, members: number): void {
  if (nx && xx) {
    throw new ArgumentError('ERR XX and NX options at the same time are not compatible');
  }
  if ((gt && nx) || (lt && nx) || (gt && lt)) {
    throw new ArgumentError('ERR GT, LT, and/or NX options at the same time are not compatible');
  }
  if (incr && members > 1) {
    throw new ArgumentError('ERR INCR option supports a single increment-element pair');
  }
}

/** ZINCRBY key increment member */
export function parseIncrBy(args: readonly Buffer[]): AddRequest {
  return parseAdd(args, INCREMENT);
}

export function runAdd(view: WriteView, request: AddRequest, { nowMs }: RunContext): RunResult {
  const { members } = request;
  if ('read' in members) return readAndAdd(view, request, members, nowMs);
  return addMembers(view, request, members, nowMs);
}

/** As in Redis, one score that is none refuses all before the key is looked at. */
function* readAndAdd(
  view: WriteView,
  request: AddRequest,
  { count, read }: LateMembers,
  nowMs: number,
): Slices<Reply> {
  const members: ScoredMember[] = [];
  for (let number = 0; number < count; number++) {
    if (isGlanceDue(number)) yield GLANCE;
    const member = late(() => read(number));
    if (member instanceof ArgumentError) return lateReply(member);
    members.push(member);
  }
  const result = addMembers(view, request, members, nowMs);
  return 'kind' in result ? result : yield* result;
}

function addMembers(
  view: WriteView,
  { key, options }: AddRequest,
  members: readonly ScoredMember[],
  nowMs: number,
): RunResult {
  const zset = openZset(view, key, nowMs);
  if (zset === 'wrong-type') return WRONG_TYPE;
  let added = 0;
  let changed = 0;
  let last: number | undefined;
  // only an increment, of one member, makes what is no number
  const add = ({ member, score }: ScoredMember) => {
    const key = memberKeyOf(zset.place, member);
    const before = scoreAt(view, key);
    last = scoreToGive(options, score, before);
    if (last === undefined || Number.isNaN(last) || last === before) return;
    putScore(view, zset, member, last, before, key);
    if (before === undefined) added++;
    else changed++;
  };
  return inSteps(members, add, () => {
    if (Number.isNaN(last)) return NOT_A_NUMBER;
    const increased = last === undefined ? NULL : scoreReply(last);
    const reply = options.incr ? increased : integer(options.ch ? added + changed : added);
    const event = options.incr ? 'zincr' : 'zadd';
    return added + changed > 0 ? savedZset(view, zset, { event, reply }) : reply;
  });
}

/** Undefined when the options keep the member as it is (or out). */
function scoreToGive(
  { nx, xx, gt, lt, incr }: AddOptions,
  score: number,
  before: number | undefined,
): number | undefined {
  if (before === undefined) return xx ? undefined : score;
  if (nx) return undefined;
  const after = incr ? before + score : score;
  if ((gt && after <= before) || (lt && after >= before)) return undefined;
  return after;
}
