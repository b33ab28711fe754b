/** Commands over several partitions: how their keys are dealt out and their answers merged. */
import { unreachable } from '../../common/assert.ts';
import type { PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type {
  CountedPairs,
  FanOut,
  KeyPositions,
  ReadCommand,
  WriteCommand,
} from '../commands/rows/command.ts';
import { isSettled, plainRefusal } from '../commands/rows/settled.ts';
import { saysDone } from '../commands/sessions/kept-reply.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { decodeReply, decodeRows } from '../resp/decode-reply.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import { array, error, integer, NULL, OK, type Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import { replyTooLarge } from '../resp/reply-pile.ts';
import type { Fate } from './lane.ts';
import { rowsInKeyOrder } from './rows-by-key.ts';

/** What one partition is asked. */
export interface Part {
  readonly partition: PartitionId;
  readonly line: CommandLine;
  /** Place among the request's keys of each key in `line`; empty for keyless commands. */
  readonly keyAt: readonly number[];
}

export interface PartAnswer {
  readonly part: Part;
  readonly reply: Reply;
  readonly fate: Fate;
}

/**
 * Deals `args` out by `partitionOf(key)`; every key takes the arguments of its step along, and what stands
 * behind all keys goes to all.
 */
export function splitByKeys(
  args: CommandLine,
  positions: KeyPositions,
  partitionOf: (key: Buffer) => PartitionId,
): Part[] {
  const parts = new Map<PartitionId, { line: Buffer[]; keyAt: number[] }>();
  const end = positions.last < 0 ? args.length + positions.last : positions.last;
  let key = 0;
  for (let at = positions.first; at <= end && at < args.length; at += positions.step) {
    const partition = partitionOf(args[at]!);
    let part = parts.get(partition);
    if (part === undefined) {
      part = { line: args.slice(0, positions.first), keyAt: [] };
      parts.set(partition, part);
    }
    part.line.push(...args.slice(at, at + positions.step));
    part.keyAt.push(key++);
  }
  const rest = args.slice(end + 1);
  return [...parts].map(([partition, { line, keyAt }]) => {
    return { partition, line: [...line, ...rest], keyAt };
  });
}

/** The same of pairs whose number stands before them; what is behind them goes with each part. */
export function splitPairs(
  args: CommandLine,
  { at, count }: CountedPairs,
  partitionOf: (key: Buffer) => PartitionId,
): Part[] {
  const end = at + 2 * count;
  const positions = { first: at, last: end - 1, step: 2 };
  return splitByKeys(args, positions, partitionOf).map(({ line, ...part }) => {
    const number = Buffer.from(String(part.keyAt.length));
    const pairs = line.slice(at);
    return { ...part, line: [...line.slice(0, at - 1), number, ...pairs, ...args.slice(end)] };
  });
}

/** What is to be known of a command whose parts were asked. */
type Merged = Pick<ReadCommand | WriteCommand, 'kind' | 'keys' | 'fanOut'>;

/** One reply of all parts'; an error of any part is the reply, naming what a write has done. */
export function mergeReplies(
  command: Merged,
  answers: readonly PartAnswer[],
  draw: () => number,
): Reply {
  const merge = command.fanOut?.merge ?? 'any';
  if (answers.reduce((sum, { reply }) => sum + replyBytes(reply), 0) > limits.replyBytesMax) {
    return replyTooLarge(merge === 'concat' ? 'SCAN' : 'fewer keys').reply;
  }
  if (merge === 'one') return answers[0]?.reply ?? NULL;
  const plain = settled(
    answers.map((answer) => ({ ...answer, reply: decoded(answer.reply, merge) })),
    merge,
  );
  // of OK nothing is lost
  const isOkEnough = merge === 'ok' || merge === 'settled';
  const failed = plain.filter(
    ({ reply }) => reply.kind === 'error' && !(isOkEnough && saysDone(reply)),
  );
  if (failed.length > 0) return failure(command, plain, failed);
  const replies = plain.map(({ reply }) => reply);
  switch (merge) {
    case 'sum':
      return integer(replies.reduce((sum, reply) => sum + integerOf(reply), 0));
    case 'keyOrder':
      return inKeyOrder(plain);
    case 'rows':
      return rowsInKeyOrder(plain);
    case 'concat':
      return concatenated(replies);
    case 'ok':
    case 'settled':
      return replies.find(({ kind }) => kind !== 'error') ?? OK;
    case 'any': {
      const found = replies.filter((reply) => reply.kind !== 'null');
      return found[Math.floor(draw() * found.length)] ?? NULL;
    }
    case 'every':
      return inAll(replies);
    case 'scan':
      return replies[0] ?? array([{ kind: 'bulk', bytes: Buffer.from('0') }, array([])]);
    default:
      return unreachable(merge);
  }
}

/** Where it was done before, and is done by now in others, it is no failure. */
function settled(answers: readonly PartAnswer[], merge: FanOut['merge']): readonly PartAnswer[] {
  if (merge !== 'settled') return answers;
  const done = answers.find(({ reply }) => reply.kind !== 'error');
  if (done === undefined) {
    const others = answers.filter(({ reply }) => !isSettled(reply));
    const left = others.length > 0 ? others : answers;
    return left.map((answer) => ({ ...answer, reply: plainRefusal(answer.reply) }));
  }
  return answers.map((answer) =>
    isSettled(answer.reply) ? { ...answer, reply: done.reply } : answer,
  );
}

/** As data, but for arrays that are joined as the bytes they are, and what is in rows. */
function decoded(reply: Reply, merge: FanOut['merge']): Reply {
  if (merge === 'concat' && arrayOf(reply) !== undefined) return reply;
  if (reply.kind === 'encoded') {
    return merge === 'rows' ? decodeRows(reply.bytes) : decodeReply(reply.bytes);
  }
  return reply.kind === 'packed' ? decodeReply(encodeReply(reply, 3)) : reply;
}

interface Items {
  readonly count: number;
  readonly chunks: readonly Buffer[];
}

const LF = 0x0a;

/** The items of an array that is encoded, without the line that counts them. */
function arrayOf(reply: Reply): Items | undefined {
  if (reply.kind === 'packed') return { count: reply.units, chunks: reply.resp2 };
  if (reply.kind !== 'encoded') return undefined;
  const { bytes } = reply;
  const from = bytes.indexOf(LF) + 1;
  const count = /^\*(\d{1,10})\r\n$/.exec(bytes.toString('latin1', 0, Math.min(from, 16)))?.[1];
  return count === undefined ? undefined : { count: Number(count), chunks: [bytes.subarray(from)] };
}

/** Arrays of bulks, which are the same in both protocols. */
function concatenated(replies: readonly Reply[]): Reply {
  if (replies.every((reply) => arrayOf(reply) === undefined)) {
    return array(replies.flatMap(itemsOf));
  }
  const parts = replies.map(
    (reply) => arrayOf(reply) ?? arrayOf({ kind: 'encoded', bytes: encodeReply(reply, 3) })!,
  );
  const units = parts.reduce((sum, { count }) => sum + count, 0);
  const chunks = parts.flatMap((part) => part.chunks);
  return { kind: 'packed', shape: 'array', units, resp2: chunks, resp3: chunks };
}

function integerOf(reply: Reply): number {
  return reply.kind === 'integer' ? Number(reply.value) : 0;
}

function itemsOf(reply: Reply): readonly Reply[] {
  return reply.kind === 'array' || reply.kind === 'set' ? reply.items : [];
}

/** SCRIPT EXISTS: what one partition has not is not there for who asks any of them. */
function inAll(replies: readonly Reply[]): Reply {
  const [first = [], ...others] = replies.map((reply) => itemsOf(reply).map(integerOf));
  const least = (item: number, at: number) => Math.min(item, ...others.map((of) => of[at] ?? 0));
  return array(first.map((item, at) => integer(least(item, at))));
}

function inKeyOrder(answers: readonly PartAnswer[]): Reply {
  const items: Reply[] = [];
  for (const { part, reply } of answers) {
    itemsOf(reply).forEach((item, at) => {
      items[part.keyAt[at]!] = item;
    });
  }
  return array(items);
}

/** Names shown of one kind of keys, and characters of each. */
const NAMES_MAX = 16;
const NAME_CHARACTERS_MAX = 64;

/** Nothing happened, and clients send the whole command again; also on the port of ZanRedisDB's. */
const TRY_AGAIN = /^(?:CLUSTERDOWN|TRYAGAIN|LOADING|MOVED|ERR_CLUSTER_CHANGED)\b/;

/** Of pairs behind their number, in each part. */
const COUNTED_PAIRS: KeyPositions = { first: 2, last: -1, step: 2 };

function failure(
  { kind, fanOut, keys: places }: Merged,
  answers: readonly PartAnswer[],
  failed: readonly PartAnswer[],
): Reply {
  const keys = fanOut?.pairs === undefined ? places : COUNTED_PAIRS;
  const done = answers.filter(({ reply }) => reply.kind !== 'error' || saysDone(reply));
  const unknown = failed.filter(({ fate }) => fate === 'unknown');
  const refused = failed.filter(({ fate, reply }) => fate !== 'unknown' && !saysDone(reply));
  // what is refused for good is so again, however often the others are tried
  const lasting = refused.filter(({ reply }) => !saysTryAgain(reply));
  const worst = [...unknown, ...lasting, ...refused, ...failed][0]!;
  const isWhole = unknown.length === 0 && (done.length === 0 || refused.length === 0);
  // reads change nothing; of all keys at once there are none to be named
  const isNobodys = keys.first === 0 && unknown.length > 0;
  if (kind === 'read' || isWhole || isNobodys) return worst.reply;
  // not UNKNOWNOUTCOME, which ends a connection: the keys of all three kinds are to be heard of; nor
  // a word that means "nothing happened": clients would send what is done once more
  return error(
    `${IN_PART}the command is not atomic over partitions and was carried out in part: ` +
      `done for ${names(done, keys)}; not done for ${names(refused, keys)}; ` +
      `unknown for ${names(unknown, keys)}`,
  );
}

function saysTryAgain(reply: Reply): boolean {
  return reply.kind === 'error' && TRY_AGAIN.test(reply.text);
}

const IN_PART = 'PARTIALOUTCOME ';

/** Some of a write took effect, or may have, and not all of it: it must not be sent again unseen. */
export function saysInPart(reply: Reply): boolean {
  return reply.kind === 'error' && reply.text.startsWith(IN_PART);
}

function names(answers: readonly PartAnswer[], { first, step }: KeyPositions): string {
  if (first === 0 && answers.length > 0) {
    return `partition ${answers.map(({ part }) => part.partition).join(' ')}`;
  }
  const keys = answers.flatMap(({ part }) =>
    part.keyAt.map((_, at) => part.line[first + at * step]!),
  );
  if (keys.length === 0) return 'none';
  const shown = keys.slice(0, NAMES_MAX).map((key) => {
    const text = key.toString('utf8');
    return `'${text.length > NAME_CHARACTERS_MAX ? `${text.slice(0, NAME_CHARACTERS_MAX)}…` : text}'`;
  });
  const more = keys.length - shown.length;
  return shown.join(' ') + (more > 0 ? ` and ${more} more` : '');
}
