/** Pending entries that change hands: XCLAIM, XAUTOCLAIM. */

import { limits } from '../../../common/limits.ts';
import { eachPair } from '../../encoding/collections/member-walk.ts';
import {
  compareIds,
  MAX_STREAM_ID,
  MIN_STREAM_ID,
  type StreamId,
} from '../../encoding/records/stream-id.ts';
import { decodeIdAtEnd } from '../../encoding/records/stream-key.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import { oneMore } from '../../encoding/streams/stream-count.ts';
import { Deliveries, type OpenConsumer } from '../../encoding/streams/stream-deliveries.ts';
import { readEntry } from '../../encoding/streams/stream-entries.ts';
import type { EntryFields } from '../../encoding/streams/stream-entry.ts';
import { canConsume, rangeOfPending, readGroup } from '../../encoding/streams/stream-groups.ts';
import { decodePending, type PendingState } from '../../encoding/streams/stream-pending.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { array, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import {
  argument,
  countArgument,
  integerArgument,
  shownText,
  syntaxError,
  WRONG_TYPE,
  word,
} from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { idArgument, intervalStart } from './stream-args.ts';
import { NO_CONSUMER_LEFT, noKeyOrGroup } from './stream-errors.ts';
import { entryReply, idReply } from './stream-replies.ts';
import { fromStreams, streamColumn } from './stream-rows.ts';

interface Claimant {
  readonly key: Buffer;
  readonly group: Buffer;
  readonly consumer: Buffer;
}

interface Claim {
  readonly minIdleMs: number;
  readonly ids: readonly StreamId[];
  readonly force: boolean;
  readonly justId: boolean;
  /** When it is to have been delivered; undefined: now. */
  readonly delivered: { readonly value: number; readonly isIdle: boolean } | undefined;
  readonly retryCount: number | undefined;
  readonly lastId: StreamId;
}

function claimant(args: readonly Buffer[]): Claimant {
  return { key: argument(args, 1), group: argument(args, 2), consumer: argument(args, 3) };
}

/**
 * XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds]
 * [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]
 */
function parseClaim(args: readonly Buffer[]) {
  return { ...claimant(args), claim: late(() => claimArguments(args)) };
}

function claimArguments(args: readonly Buffer[]): Claim {
  const minIdleMs = idleArgument(argument(args, 4), 'XCLAIM');
  const ids: StreamId[] = [];
  let at = 5;
  for (; at < args.length; at++) {
    const id = late(() => idArgument(args[at]!));
    if (id instanceof ArgumentError) break;
    ids.push(id);
  }
  return { minIdleMs, ids, ...claimOptions(args, at) };
}

function claimOptions(args: readonly Buffer[], from: number) {
  let [force, justId, lastId] = [false, false, MIN_STREAM_ID];
  let delivered: Claim['delivered'];
  let retryCount: number | undefined;
  for (let at = from; at < args.length; at++) {
    const option = word(args[at]!);
    const hasMore = at + 1 < args.length;
    if (option === 'force') force = true;
    else if (option === 'justid') justId = true;
    else if ((option === 'idle' || option === 'time') && hasMore) {
      const value = claimNumber(args[++at]!, option.toUpperCase());
      delivered = { value, isIdle: option === 'idle' };
    } else if (option === 'retrycount' && hasMore) {
      retryCount = claimNumber(args[++at]!, 'RETRYCOUNT');
    } else if (option === 'lastid' && hasMore) lastId = idArgument(args[++at]!);
    else throw new ArgumentError(`ERR Unrecognized XCLAIM option '${shownText(args[at]!)}'`);
  }
  return { force, justId, lastId, delivered, retryCount };
}

function claimNumber(arg: Buffer, option: string): number {
  return countArgument(arg, `ERR Invalid ${option} option argument for XCLAIM`);
}

function idleArgument(arg: Buffer, command: string): number {
  return Math.max(0, countArgument(arg, `ERR Invalid min-idle-time argument for ${command}`));
}

function runClaim(
  view: WriteView,
  request: ReturnType<typeof parseClaim>,
  { nowMs }: RunContext,
): RunResult {
  const stream = readStream(view, request.key, nowMs);
  if (stream === 'wrong-type') return WRONG_TYPE;
  const group = stream && readGroup(view, stream, request.group);
  if (group === undefined) return noKeyOrGroup(request.key, request.group);
  const { claim } = request;
  if (claim instanceof ArgumentError) return lateReply(claim);
  if (!canConsume(view, stream!.place, group, request.consumer)) return NO_CONSUMER_LEFT;
  return claimAll(view, new Deliveries(view, stream as Stream, group), request, claim, nowMs);
}

function* claimAll(
  view: WriteView,
  deliveries: Deliveries,
  claimant: Claimant,
  claim: Claim,
  nowMs: number,
): Slices<Reply> {
  const { group } = deliveries;
  if (compareIds(claim.lastId, group.lastId) > 0) group.lastId = claim.lastId;
  const claiming = new Claiming(view, deliveries, claimant, nowMs, claim.justId);
  const deliveredMs = deliveredMsOf(claim, nowMs);
  let met = 0;
  for (const id of claim.ids) {
    if (isGlanceDue(++met)) yield GLANCE;
    const before = deliveries.pendingAt(id);
    const fields = readEntry(view, deliveries.stream, id);
    if (fields === undefined) {
      if (before !== undefined) deliveries.drop(id, before);
      continue;
    }
    if (before === undefined && !claim.force) continue;
    if (before !== undefined && nowMs - before.deliveredMs < claim.minIdleMs) continue;
    if (!claiming.fits(id, fields)) break;
    const deliveriesBefore = before?.deliveries ?? 1;
    const counted = claim.justId ? deliveriesBefore : oneMore(deliveriesBefore);
    const repeated = claim.retryCount ?? -1;
    claiming.take(id, fields, before, {
      deliveredMs,
      deliveries: repeated >= 0 ? repeated : counted,
    });
  }
  deliveries.save();
  return claiming.reply();
}

function deliveredMsOf({ delivered }: Claim, nowMs: number): number {
  if (delivered === undefined) return nowMs;
  const deliveredMs = delivered.isIdle ? nowMs - delivered.value : delivered.value;
  return deliveredMs < 0 || deliveredMs > nowMs ? nowMs : deliveredMs;
}

/** What one consumer takes over; who takes nothing is made a consumer as well. */
class Claiming {
  readonly #view: WriteView;
  readonly #deliveries: Deliveries;
  readonly #claimant: Claimant;
  readonly #justId: boolean;
  readonly #nowMs: number;
  readonly #pile = new ReplyPile('array', 'fewer IDs');
  readonly #consumer: OpenConsumer;
  #bytes = 0;

  constructor(
    view: WriteView,
    deliveries: Deliveries,
    claimant: Claimant,
    nowMs: number,
    justId: boolean,
  ) {
    this.#view = view;
    this.#deliveries = deliveries;
    this.#claimant = claimant;
    this.#nowMs = nowMs;
    this.#justId = justId;
    this.#consumer = this.#findConsumer();
  }

  /** Whether the reply has room for it; what it has no room for stays with whom it is pending for. */
  fits(id: StreamId, fields: EntryFields): boolean {
    const bytes = replyBytes(this.#replyOf(id, fields));
    if (this.#bytes > 0 && this.#bytes + bytes > limits.replyBytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  take(
    id: StreamId,
    fields: EntryFields,
    before: PendingState | undefined,
    delivery: Pick<PendingState, 'deliveredMs' | 'deliveries'>,
  ): void {
    this.#pile.add(this.#replyOf(id, fields));
    this.#consumer.activeMs = this.#nowMs;
    this.#deliveries.give(id, this.#consumer, delivery, before);
  }

  reply(): Reply {
    return this.#pile.reply();
  }

  #findConsumer(): OpenConsumer {
    const { key, consumer: name } = this.#claimant;
    const found = this.#deliveries.find(name, this.#nowMs);
    if (found !== undefined) return found;
    this.#view.notify?.('stream', 'xgroup-createconsumer', key);
    return this.#deliveries.add(name, this.#nowMs);
  }

  #replyOf(id: StreamId, fields: EntryFields): Reply {
    return this.#justId ? idReply(id) : entryReply({ id, fields });
  }
}

interface AutoClaim extends Claimant {
  readonly minIdleMs: number;
  readonly start: StreamId;
  readonly count: number;
  readonly justId: boolean;
}

const COUNT_DEFAULT = 100;
const NO_COUNT = 'ERR COUNT must be > 0';
/** Redis's bound: what its memory may hold of IDs. */
const COUNT_MAX = 2n ** 63n / 16n / 10n;
/** So many pending entries are looked at for each that may be claimed. */
const ATTEMPTS = 10;

/** XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID] */
function parseAutoClaim(args: readonly Buffer[]): AutoClaim {
  const minIdleMs = idleArgument(argument(args, 4), 'XAUTOCLAIM');
  const start = intervalStart(argument(args, 5));
  let count = COUNT_DEFAULT;
  let justId = false;
  for (let at = 6; at < args.length; at++) {
    const option = word(args[at]!);
    if (option === 'count' && at + 1 < args.length) count = autoCount(args[++at]!);
    else if (option === 'justid') justId = true;
    else throw syntaxError();
  }
  return { ...claimant(args), minIdleMs, start, count, justId };
}

function autoCount(arg: Buffer): number {
  const count = integerArgument(arg, NO_COUNT);
  if (count < 1 || count > COUNT_MAX) throw new ArgumentError(NO_COUNT);
  return Math.min(Number(count), Number.MAX_SAFE_INTEGER);
}

function runAutoClaim(view: WriteView, request: AutoClaim, { nowMs }: RunContext): RunResult {
  const stream = readStream(view, request.key, nowMs);
  if (stream === 'wrong-type') return WRONG_TYPE;
  const group = stream && readGroup(view, stream, request.group);
  if (group === undefined) return noKeyOrGroup(request.key, request.group);
  if (!canConsume(view, stream!.place, group, request.consumer)) return NO_CONSUMER_LEFT;
  return autoClaim(view, new Deliveries(view, stream as Stream, group), request, nowMs);
}

function* autoClaim(
  view: WriteView,
  deliveries: Deliveries,
  request: AutoClaim,
  nowMs: number,
): Slices<Reply> {
  const { stream, group } = deliveries;
  const claiming = new Claiming(view, deliveries, request, nowMs, request.justId);
  const gone = new ReplyPile('array', 'a smaller COUNT');
  let left = request.count;
  let attempts = request.count * ATTEMPTS;
  let next: StreamId = MIN_STREAM_ID;
  const range = rangeOfPending(stream.place, group, request.start, MAX_STREAM_ID);
  yield* eachPair(range, ([key, value]) => {
    const id = decodeIdAtEnd(key);
    if (left === 0 || attempts-- === 0) {
      next = id;
      return true;
    }
    const before = decodePending(key, value);
    const fields = readEntry(view, stream, id);
    if (fields === undefined) {
      deliveries.drop(id, before);
      gone.add(idReply(id));
      left--;
      return undefined;
    }
    if (nowMs - before.deliveredMs < request.minIdleMs) return undefined;
    if (!claiming.fits(id, fields)) {
      next = id;
      return true;
    }
    const counted = request.justId ? before.deliveries : oneMore(before.deliveries);
    claiming.take(id, fields, before, { deliveredMs: nowMs, deliveries: counted });
    left--;
    return undefined;
  });
  yield* deliveries.findEarliest();
  deliveries.save();
  return array([idReply(next), claiming.reply(), gone.reply()]);
}

export const streamClaimCommands: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xautoclaim',
    arity: -6,
    flags: ['write', 'fast'],
    since: '6.2.0',
    summary: 'Gives a consumer what has been pending for long, and returns where to go on.',
    appliesFrom: fromStreams,
    parse: parseAutoClaim,
    run: runAutoClaim,
  }),
  write({
    ...streamColumn,
    name: 'xclaim',
    arity: -6,
    flags: ['write', 'fast'],
    since: '5.0.0',
    summary: 'Gives a consumer entries that are pending, as if it had read them.',
    appliesFrom: fromStreams,
    parse: parseClaim,
    run: runClaim,
  }),
];
