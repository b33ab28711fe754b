/**
 * A client in a blocking command, at the node it is connected to. It asks the leader of its
 * partition under an id of its own and waits for the outcome; when the leader changes or is lost it
 * asks again under the same id, so it is served once. Time, CLIENT UNBLOCK and a connection that
 * ends withdraw it: what the leader then says is what the client gets. A leader that has no room for
 * it is asked again for a while, as for other requests; then the client is told.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { errorTable } from '../../common/errors.ts';
import { NOBODY_WAITS } from '../../common/lazy-abort.ts';
import { limits } from '../../common/limits.ts';
import { WRONG_TYPE } from '../commands/rows/args.ts';
import type { Ending } from '../commands/rows/node-context.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import type { WaitOutcome } from '../partition/entries/wait.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import { error, NULL_ARRAY, type Protocol, type Reply } from '../resp/reply.ts';
import type { Router } from '../routing/router.ts';
import type { LeaderHint } from '../routing/table.ts';
import { goneReply, REBUILT } from './gone.ts';
import type { LanePlace } from './lane.ts';

export interface BlockedRequest {
  readonly id: Buffer;
  readonly place: LanePlace;
  readonly line: CommandLine;
  /** Which it waits for. */
  readonly keys: readonly Buffer[];
  /** It reads for a group of consumers. */
  readonly isOfGroup: boolean;
  readonly protocol: Protocol;
  /** It takes nothing: there is no unknown outcome, and nothing to confirm. */
  readonly onlyReads: boolean;
  /** 0: for ever. */
  readonly timeoutMs: number;
}

/** How long the outcome of a withdrawal is waited for. */
export interface WithdrawalWaits {
  /** When its client has gone: only so that an element need not be taken in vain. */
  readonly holdMs: number;
  readonly outcomeMs: number;
}

export interface BlockedWorld extends WithdrawalWaits {
  readonly clock: Clock;
  readonly router: Router;
  /** The reply has arrived: it need not be kept. */
  confirm(place: LanePlace, id: Buffer): void;
}

const BACKOFF_MIN_MS = 5;
/** News of a leader end a pause; without any, many clients ask no more than this often. */
const BACKOFF_MAX_MS = 1_000;
const UNBLOCKED = error('UNBLOCKED client unblocked via CLIENT UNBLOCK');
const NO_LEADER = error(
  'CLUSTERDOWN the partition had no leader that could be asked for an element before the timeout, ' +
    'nor for a while after it; nothing was taken, try again',
);
const UNKNOWN = error(
  'UNKNOWNOUTCOME the partition has no leader that could tell whether an element was taken; ' +
    'if one was, it is lost to this client',
);
const NO_LEADER_TO_READ = error(
  'CLUSTERDOWN the partition had no leader that could be asked for entries when the wait was to end, nor ' +
    'for a while after it; try again',
);
const OTHER_TYPE = encodeReply(WRONG_TYPE, 2);
const REBUILT_UNKNOWN = error(
  'UNKNOWNOUTCOME the partition lost its quorum and was rebuilt from one replica: whether an element ' +
    'was taken cannot be told; if one was, it is lost to this client',
);

export class BlockedClient {
  /** What the client is answered. */
  readonly reply: Promise<Reply>;
  readonly #world: BlockedWorld;
  readonly #request: BlockedRequest;
  /** As it is asked from now on. */
  #line: CommandLine;
  /** It has been told that nothing was there, and reads on from where that was. */
  #readsOn = false;
  readonly #endsMs: number;
  /** Of the attempts under way. */
  readonly #asks = new Set<AbortController>();
  /** How often some leader was asked and did not say that it has no room: it may know of it. */
  #asked = 0;
  /** Since then there has been no room. */
  #refusedMs: number | undefined;
  /** The newest one that was asked for an element, unless it answered that it failed. */
  #told: LeaderHint | undefined;
  #ending: Ending | undefined;
  /** The outcome of its withdrawal was waited for long enough. */
  #isOver = false;
  #timer: Timer | undefined;
  #backoffMs = BACKOFF_MIN_MS;
  /** It ended because it was told to. */
  #withdrawn = false;
  #news = createNews();

  constructor(world: BlockedWorld, request: BlockedRequest) {
    const { clock, router } = world;
    this.#world = world;
    this.#request = request;
    this.#line = request.line;
    this.#endsMs = clock.monotonicMs() + (request.timeoutMs || Number.POSITIVE_INFINITY);
    this.#arm();
    const unlisten = router.routes.onLeader(request.place.group, () => this.#tell());
    this.reply = this.#run().finally(() => {
      this.#timer?.cancel();
      unlisten();
      for (const ask of this.#asks) ask.abort(NOBODY_WAITS);
    });
  }

  /** Resolves to whether that is what ended it: it may have been served before. */
  async end(how: Ending): Promise<boolean> {
    const isFirst = this.#ending === undefined;
    if (isFirst) {
      this.#ending = how;
      this.#limit(this.#world.holdMs);
      this.#tell();
    } else if (how === 'gone' && this.#ending !== 'gone') {
      this.#ending = how;
      this.#limit(this.#world.holdMs);
    }
    await this.reply;
    return isFirst && this.#withdrawn;
  }

  /** Whoever is to be told waits no longer than that, unless an element may have been taken. */
  #limit(waitMs: number, isLast = false): void {
    const { clock, holdMs, outcomeMs } = this.#world;
    this.#timer?.cancel();
    this.#timer = clock.setTimer(waitMs, () => {
      const { onlyReads } = this.#request;
      const mayHaveTaken = this.#asked > 0 && this.#ending !== 'gone' && !onlyReads;
      if (mayHaveTaken && !isLast) return this.#limit(Math.max(0, outcomeMs - holdMs), true);
      this.#isOver = true;
      this.#tell();
    });
  }

  #arm(): void {
    if (this.#endsMs === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#world;
    const leftMs = Math.max(0, this.#endsMs - clock.monotonicMs());
    this.#timer = clock.setTimer(Math.min(leftMs, limits.timerMsMax), () => {
      if (leftMs > limits.timerMsMax) this.#arm();
      else void this.end('timeout');
    });
  }

  /** Something may be otherwise than it was: whoever waits looks again. */
  #tell(): void {
    const { tell } = this.#news;
    this.#news = createNews();
    tell();
  }

  #leader(): LeaderHint | undefined {
    const { namespace, partition } = this.#request.place;
    return this.#world.router.leader(namespace, partition);
  }

  async #run(): Promise<Reply> {
    const [{ router }, { place }] = [this.#world, this.#request];
    while (!this.#isOver) {
      if (this.#mayEnd()) return this.#endReply();
      const gone = this.#gone();
      if (gone !== undefined) return gone;
      const leader = this.#leader();
      if (leader === undefined) router.seekLeader(place);
      const outcome = leader && (await this.#ask(leader));
      const isOther = outcome !== undefined && this.#isOther(outcome);
      const reply = isOther ? this.#ending && this.#endReply() : outcome && this.#replyOf(outcome);
      if (reply !== undefined) return reply;
      if (leader === undefined || isOther || outcome?.kind === 'failed') await this.#pause();
    }
    if (this.#request.onlyReads) return NO_LEADER_TO_READ;
    return this.#asked > 0 ? UNKNOWN : NO_LEADER;
  }

  /** At once: nobody has taken anything for it, and the reply does not say that nothing was there. */
  #mayEnd(): boolean {
    const nobodyKnows = this.#asked === 0 || this.#request.onlyReads;
    return nobodyKnows && (this.#ending === 'error' || this.#ending === 'gone');
  }

  /** Undefined: it is to be asked again. */
  #replyOf(outcome: WaitOutcome): Reply | undefined {
    switch (outcome.kind) {
      case 'served':
        if (!this.#request.onlyReads) this.#world.confirm(this.#request.place, this.#request.id);
        return outcome.reply;
      case 'concrete':
        this.#line = outcome.line;
        this.#readsOn = true;
        return undefined;
      case 'withdrawn':
        return this.#ending && this.#endReply();
      case 'superseded':
        return undefined;
      case 'failed': {
        const { outcome: kind, reply } = errorTable[outcome.code];
        const again = kind === 'not-proposed' || kind === 'unknown';
        return again && !this.#givesUp(outcome) ? undefined : error(`${reply} ${outcome.message}`);
      }
    }
  }

  /** A key has become something else meanwhile: as in Redis, who waits goes on until it is a stream again. */
  #isOther(outcome: WaitOutcome): boolean {
    if (!this.#readsOn || outcome.kind !== 'served') return false;
    const { reply } = outcome;
    return reply === WRONG_TYPE || (reply.kind === 'encoded' && reply.bytes.equals(OTHER_TYPE));
  }

  /** There has been no room for a while, or until its time was over, and nobody knows of it. */
  #givesUp(outcome: WaitOutcome): boolean {
    const { clock, holdMs } = this.#world;
    const nowMs = clock.monotonicMs();
    this.#refusedMs = isRefused(outcome) ? (this.#refusedMs ?? nowMs) : undefined;
    if (this.#refusedMs === undefined || this.#asked > 0) return false;
    return this.#ending === 'timeout' || nowMs - this.#refusedMs >= holdMs;
  }

  #endReply(): Reply {
    this.#withdrawn = true;
    return this.#ending === 'error' ? UNBLOCKED : NULL_ARRAY;
  }

  /** One attempt; undefined when something has changed that makes another one necessary. */
  async #ask(leader: LeaderHint): Promise<WaitOutcome | undefined> {
    const { id, place, protocol } = this.#request;
    const line = this.#line;
    const withdraw = this.#withdraws(leader);
    const ask = new AbortController();
    this.#asked++;
    this.#told = leader;
    this.#asks.add(ask);
    const { waits } = this.#world.router;
    const asked = waits.ask(place, leader, { id, line, protocol, withdraw }, ask.signal);
    const outcome = asked.then((settled) => {
      if (isRefused(settled)) this.#asked--;
      return settled;
    });
    while (withdraw === this.#withdraws(leader) && !this.#isOver && !this.#isOld(leader)) {
      if (this.#gone() !== undefined) break;
      const settled = await Promise.race([outcome, this.#news.told]);
      if (settled === undefined) continue;
      this.#asks.delete(ask);
      if (settled.kind === 'failed') this.#told = undefined;
      else this.#backoffMs = BACKOFF_MIN_MS;
      return settled;
    }
    // at the same leader the next attempt takes this one's place
    if (this.#isOld(leader)) ask.abort(NOBODY_WAITS);
    return undefined;
  }

  /**
   * A leader that has not been asked for an element yet is asked first, also when the time is over:
   * only it can tell that nothing is there. So it is asked twice then.
   */
  #withdraws({ node, term }: LeaderHint): boolean {
    if (this.#ending !== 'timeout') return this.#ending !== undefined;
    return this.#told?.node === node && this.#told.term === term;
  }

  /** Its namespace was deleted, and all its partitions with it; or the partition was rebuilt. */
  #gone(): Reply | undefined {
    const reply = goneReply(this.#world.router.routes, this.#request.place);
    const mayHaveTaken = this.#asked > 0 && !this.#request.onlyReads;
    return reply === REBUILT && mayHaveTaken ? REBUILT_UNKNOWN : reply;
  }

  #isOld({ node, term }: LeaderHint): boolean {
    const now = this.#leader();
    return now !== undefined && (now.node !== node || now.term !== term);
  }

  async #pause(): Promise<void> {
    const timer = this.#world.clock.setTimer(this.#backoffMs, () => this.#tell());
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_MAX_MS);
    await this.#news.told;
    timer.cancel();
  }
}

/** It was not taken in: whoever answers so had not heard of it before. */
function isRefused(outcome: WaitOutcome): boolean {
  return outcome.kind === 'failed' && outcome.code === 'BUSY';
}

interface News {
  readonly told: Promise<undefined>;
  readonly tell: () => void;
}

function createNews(): News {
  let tell = () => {};
  const told = new Promise<undefined>((resolve) => {
    tell = () => resolve(undefined);
  });
  return { told, tell };
}
