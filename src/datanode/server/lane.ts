/**
 * One connection's way to one partition. At most one batch is under way, so nothing overtakes
 * (decision 10a); what was not proposed goes back to its place and is held until the partition has
 * a leader (decision 11).
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { type ErrorCode, errorTable } from '../../common/errors.ts';
import type { GroupId, Namespace, PartitionId } from '../../common/ids.ts';
import type { Gone } from '../../common/lazy-abort.ts';
import type { Witness } from '../commands/server/witness.ts';
import type {
  CommandBatch,
  CommandLine,
  LineResult,
  PreparedRead,
} from '../partition/entries/batch.ts';
import { growthOf } from '../partition/proposing/line-growth.ts';
import { error, type Protocol, type Reply } from '../resp/reply.ts';
import type { HoldBudget } from './hold-budget.ts';
import type { LongWrites } from './long-writes.ts';

/** `not-proposed`: the command never took effect; `unknown`: it may have, or may yet. */
export type Fate = 'done' | 'not-proposed' | 'unknown';

export interface LaneItem {
  /** The connection's place for the answer. */
  readonly slot: object;
  readonly line: CommandLine;
  /** Of a read whose arguments are parsed already. */
  readonly prepared?: PreparedRead | undefined;
  readonly kind: 'read' | 'write';
  readonly bytes: number;
  /** When it came in, on the monotone clock. */
  readonly arrivedMs: number;
  /** It leaves only once all before it are answered. */
  readonly startsBatch?: boolean;
  /** A write that may give back what it finds. */
  readonly mayAnswerMuch?: boolean;
  /** Its client tracks what it reads; undefined: as the command that it is a part of. */
  readonly tracks?: boolean;
  /** Set once it has been held. */
  held?: boolean;
  settle(reply: Reply, fate: Fate): void;
}

/** The connection a lane belongs to, and the node around it. */
export interface LaneWorld {
  readonly clock: Clock;
  readonly budget: HoldBudget;
  readonly holdMs: number;
  protocol(): Protocol;
  /** How old a follower's answer to these reads may be; undefined: only the leader answers. */
  maxStalenessMs(reads: readonly LaneItem[]): number | undefined;
  /** The client wants to know where in the log its commands are. */
  wantsWitness(): boolean;
  witnessed(group: GroupId, witness: Witness): void;
  execute(batch: CommandBatch, items: readonly LaneItem[]): Promise<readonly LineResult[]>;
  /** Of those that `execute` was given: what was answered has its place. */
  handedOver?(items: readonly LaneItem[]): void;
  /** Who waits for what reads answer. */
  asker(): Gone;
  /** False while the client takes its replies too slowly to let `next` make more of them. */
  mayStart(next: LaneItem): boolean;
  /** Its reply is the next to leave. */
  isNext(item: LaneItem): boolean;
  /** False when the reply to `read` is too much for its client now: it is to be made again, later. */
  hasRoomFor(read: LaneItem): boolean;
  /** That the partition is gone; and but for the gateway, MOVED while this node cannot answer. */
  redirect(lane: Lane, item: LaneItem): Reply | undefined;
  onLeader(group: GroupId, listener: () => void): () => void;
  /** Of all lanes of the connection. */
  readonly longWrites: LongWrites;
  /** Hands the answer over. */
  settle(item: LaneItem, reply: Reply, fate: Fate): void;
}

/** Of a partition that went while a command waited for its turn: the lane says so. */
export const NO_GROUP: GroupId = 0;

export interface LanePlace {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly group: GroupId;
}

const BATCH_LINES_MAX = 512;
const BATCH_BYTES_MAX = 1_048_576;
const BACKOFF_MIN_MS = 5;
const BACKOFF_MAX_MS = 100;

export class Lane {
  readonly place: LanePlace;
  /** Its set's to keep: it is to be pumped once all that has come in is distributed. */
  isStirred = false;
  readonly #world: LaneWorld;
  #items: LaneItem[] = [];
  #underWay = false;
  #backoffMs = BACKOFF_MIN_MS;
  /** Set while held: how to end the wait. */
  #endWait: (() => void) | undefined;
  /** Items at the head of `#items` that the node's budget pays for. */
  #paid: LaneItem[] = [];
  #closed = false;
  /** Since when nothing but its partition keeps the lane waiting: its client read, an answer came. */
  #readyMs = 0;
  #clientReads = true;

  constructor(place: LanePlace, world: LaneWorld) {
    this.place = place;
    this.#world = world;
  }

  /** Nothing waits or is under way: another lane may take its place. */
  get isIdle(): boolean {
    return this.#items.length === 0 && !this.#underWay && this.#endWait === undefined;
  }

  push(item: LaneItem): void {
    if (this.#endWait && !this.#pay(item)) {
      this.#world.settle(item, tooManyHeld, 'not-proposed');
      return;
    }
    if (this.#items.length === 0) this.#items = [item];
    else this.#items.push(item);
  }

  /** Starts the next batch, when there is one and nothing is in its way. */
  pump(): void {
    while (!this.#underWay && this.#endWait === undefined && !this.#closed) {
      const first = this.#items[0];
      if (first === undefined || !this.#mayStart(first)) return;
      const moved = this.#world.redirect(this, first);
      if (moved === undefined) {
        this.#start(this.#takeBatch());
        return;
      }
      this.#items.shift();
      this.#world.settle(first, moved, 'not-proposed');
    }
  }

  #mayStart(first: LaneItem): boolean {
    const may = this.#world.mayStart(first) && this.#hasRoomToWrite(first);
    if (may && !this.#clientReads) this.#readyMs = this.#world.clock.monotonicMs();
    this.#clientReads = may;
    return may;
  }

  /** Of what gives back much, others of the connection may have to end first. */
  #hasRoomToWrite(first: LaneItem): boolean {
    if (first.mayAnswerMuch !== true) return true;
    const { longWrites } = this.#world;
    if (longWrites.countMax(this.#world.isNext(first)) > 0) return true;
    longWrites.holdBack(this);
    return false;
  }

  /**
   * When the wait for the partition began. Neither a slow client's own delay, nor that of its writes for
   * one another, nor the time in which the partition answers what is before it counts: in a deep
   * pipeline of reads and writes by turns each of them is a batch of its own.
   */
  #waitingSinceMs({ arrivedMs }: LaneItem): number {
    return Math.max(arrivedMs, this.#readyMs);
  }

  /** The client has gone: what is not under way is dropped. */
  close(): void {
    this.#closed = true;
    this.#wake();
    this.#items = [];
  }

  #takeBatch(): LaneItem[] {
    const kind = this.#items[0]!.kind;
    let bytes = 0;
    let count = 0;
    let longLeft: number | undefined;
    for (const item of this.#items) {
      if (item.kind !== kind || count === BATCH_LINES_MAX) break;
      if (count > 0 && item.startsBatch === true) break;
      const itemBytes = kind === 'write' ? item.bytes + growthOf(item.line) : item.bytes;
      if (count > 0 && bytes + itemBytes > BATCH_BYTES_MAX) break;
      if (item.mayAnswerMuch === true) {
        longLeft ??= this.#world.longWrites.countMax(count === 0 && this.#world.isNext(item));
        if (longLeft-- === 0) break;
      }
      bytes += itemBytes;
      count++;
    }
    const items = this.#items;
    if (count < items.length) return items.splice(0, count);
    this.#items = [];
    return items;
  }

  #start(items: readonly LaneItem[]): void {
    this.#underWay = true;
    this.#world.longWrites.begin(items);
    const { namespace, partition, group } = this.place;
    const first = items[0]!;
    const isOne = items.length === 1;
    const batch: CommandBatch = {
      kind: first.kind,
      namespace,
      partition,
      group,
      lines: isOne ? [first.line] : items.map((item) => item.line),
      prepared: isOne ? [first.prepared] : items.map((item) => item.prepared),
      protocol: this.#world.protocol(),
      maxStalenessMs: first.kind === 'read' ? this.#world.maxStalenessMs(items) : undefined,
      term: undefined,
      once: undefined,
      witness: this.#world.wantsWitness(),
      asker: first.kind === 'read' ? this.#world.asker() : undefined,
      deadlineMs: this.#waitingSinceMs(first) + this.#world.holdMs,
    };
    this.#world.execute(batch, items).then(
      (results) => this.#finish(items, results),
      (failure: unknown) => this.#finish(items, unknownResults(items, failure)),
    );
  }

  #finish(items: readonly LaneItem[], results: readonly LineResult[]): void {
    const { longWrites, clock } = this.#world;
    longWrites.end(items, results);
    if (this.#closed) return;
    const whyHeld = this.#handOver(items, results);
    this.#world.handedOver?.(items);
    this.#underWay = false;
    if (whyHeld !== undefined) {
      this.#hold(whyHeld);
    } else {
      this.#backoffMs = BACKOFF_MIN_MS;
      this.#readyMs = clock.monotonicMs();
    }
    // those that waited for this one are before what it has left
    longWrites.letGoOn();
    this.pump();
  }

  /** What is to be tried again is in its place then; the result says why it has to wait for that. */
  #handOver(items: readonly LaneItem[], results: readonly LineResult[]): string | undefined {
    for (let at = 0; at < items.length; at++) {
      const item = items[at]!;
      const result = results[at]!;
      if (result.ok) {
        if (item.kind === 'read' && !this.#world.hasRoomFor(item)) {
          this.#items.unshift(...items.slice(at));
          return undefined;
        }
        if (result.witness !== undefined) {
          this.#world.witnessed(this.place.group, result.witness);
        }
        this.#world.settle(item, givenIn(result.reply, this.#world.protocol()), 'done');
        continue;
      }
      if (maySendAgain(item, result.code)) {
        this.#items.unshift(...items.slice(at));
        // Cut short because the replies grew large: the rest is asked for at once.
        return at > 0 && result.code === 'BUSY' ? undefined : result.message;
      }
      const { outcome, reply } = errorTable[result.code];
      const fate = outcome === 'refused' ? 'not-proposed' : 'unknown';
      this.#world.settle(item, error(`${reply} ${result.message}`), fate);
    }
    return undefined;
  }

  #hold(why: string): void {
    const { clock } = this.#world;
    this.#dropExpired(clock.monotonicMs(), why);
    if (this.#items.length === 0) return;
    const timer: Timer = clock.setTimer(this.#backoffMs, () => this.#goOn());
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS);
    const unlisten = this.#world.onLeader(this.place.group, () => this.#goOn());
    this.#endWait = () => {
      timer.cancel();
      unlisten();
    };
    const kept: LaneItem[] = [];
    for (const item of this.#items) {
      if (this.#pay(item)) kept.push(item);
      else this.#world.settle(item, tooManyHeld, 'not-proposed');
    }
    this.#items = kept;
  }

  #goOn(): void {
    this.#wake();
    this.pump();
  }

  #wake(): void {
    this.#endWait?.();
    this.#endWait = undefined;
    for (const item of this.#paid) this.#world.budget.give(item.bytes);
    this.#paid = [];
  }

  #pay(item: LaneItem): boolean {
    if (!this.#world.budget.take(item.bytes)) return false;
    this.#paid.push(item);
    if (!item.held) this.#world.budget.countRequest();
    item.held = true;
    return true;
  }

  #dropExpired(nowMs: number, why: string): void {
    const { partition, namespace } = this.place;
    const { holdMs } = this.#world;
    while (this.#items.length > 0 && nowMs - this.#waitingSinceMs(this.#items[0]!) >= holdMs) {
      const text =
        `CLUSTERDOWN partition ${partition} of ${namespace} took no command for ` +
        `${holdMs} ms (${why}); nothing happened, try again`;
      this.#world.settle(this.#items.shift()!, error(text), 'not-proposed');
    }
  }
}

/** What was kept, as bytes: whoever looks into replies knows those. */
function givenIn(reply: Reply, protocol: Protocol): Reply {
  if (reply.kind !== 'kept') return reply;
  return { kind: 'encoded', bytes: protocol === 3 ? reply.resp3 : reply.resp2 };
}

const tooManyHeld = error(
  'TRYAGAIN this node holds as many requests as it may for partitions without a leader; ' +
    'nothing happened, try again',
);

/** Reads change nothing, so only their being wrong forbids another try. */
function maySendAgain(item: LaneItem, code: ErrorCode): boolean {
  const { outcome } = errorTable[code];
  return outcome === 'not-proposed' || (item.kind === 'read' && outcome !== 'refused');
}

function unknownResults(items: readonly LaneItem[], failure: unknown): LineResult[] {
  const message = failure instanceof Error ? failure.message : String(failure);
  return items.map(() => ({ ok: false, code: 'OUTCOME_UNKNOWN', message }));
}
