/**
 * Appends that are on their way over a peer's bulk connection, which loses nothing while it lives. Raft
 * cannot know: an empty append that overtakes a large one is refused, and a heartbeat that is answered
 * before a large one has arrived lets it be sent once more. Over a slow link every copy takes as long as
 * the first, and more are made than arrive. So what is on its way is not sent a second time, and what
 * comes behind it in its log goes behind it on its connection.
 *
 * It is forgotten when the peer acknowledges it, or has received what was written behind it: who has it
 * and acknowledges nothing may be sent it again.
 *
 * Some paths carry what is small and lose every large packet (their MTU is smaller than the nodes think, and
 * nobody tells them). A leader behind such a path would lead on, since heartbeats come through, and commit
 * nothing. So when several connections in a row have ended with appends of a group in them, none of which
 * arrived, the peer is sent nothing of that leader for a while: those who can reach each other elect another.
 * For longer this node does not take its offer to lead, which it makes to the one whom the table prefers.
 */
import type { GroupId, LogIndex, Term } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { WireMessage } from '../raft/message.ts';
import type { GroupMessage } from './transport.ts';

type Append = Extract<WireMessage, { type: 'append' }>;

interface Range {
  readonly term: Term;
  /** The entry before the first of them, and the last. */
  readonly from: LogIndex;
  to: LogIndex;
  /** When the last of it was written to the connection; undefined: it waits. */
  writtenMs: number | undefined;
}

/** Connections in a row that ended with appends of a group on their way. */
interface Losses {
  count: number;
  lastMs: number;
  /** When it was last given up. */
  givenUpMs: number;
}

/** Losses that lie further apart are no row. */
const ROW_MS = 30_000;

const lastOf = ({ index, entries }: Append): LogIndex => index + entries.length;

export class OnTheWay {
  readonly #ranges = new Map<GroupId, Range>();
  readonly #losses = new Map<GroupId, Losses>();

  get size(): number {
    return this.#ranges.size;
  }

  /** Some connection has ended with appends in it: only then `silences` and `accepted` have a say. */
  get hasLosses(): boolean {
    return this.#losses.size > 0;
  }

  /** Appends of this group belong on the bulk connection, too. */
  has(group: GroupId): boolean {
    return this.#ranges.size > 0 && this.#ranges.has(group);
  }

  /** The first of its entries is on its way already. */
  covers(group: GroupId, append: Append): boolean {
    const range = this.#ranges.size > 0 ? this.#ranges.get(group) : undefined;
    if (range?.term !== append.term || append.entries.length === 0) return false;
    return append.index >= range.from && append.index < range.to;
  }

  /** It leaves on the bulk connection, or waits for it. */
  add(group: GroupId, append: Append): void {
    if (append.entries.length === 0) return;
    const range = this.#ranges.get(group);
    if (range?.term === append.term && range.to === append.index) {
      range.to = lastOf(append);
      range.writtenMs = undefined;
      return;
    }
    const { term, index: from } = append;
    this.#ranges.set(group, { term, from, to: lastOf(append), writtenMs: undefined });
  }

  written(group: GroupId, message: WireMessage, nowMs: number): void {
    const range = message.type === 'append' ? this.#ranges.get(group) : undefined;
    if (range !== undefined && range.to === lastOf(message as Append)) range.writtenMs = nowMs;
  }

  /** It was dropped before it was written. */
  dropped(group: GroupId): void {
    this.#ranges.delete(group);
  }

  /** What the peer's replica says of its log. */
  heard(group: GroupId, message: WireMessage): void {
    if (message.type !== 'appendResponse' || message.reject) return;
    if (message.index >= (this.#ranges.get(group)?.to ?? Infinity)) this.#cameThrough(group);
  }

  /** The peer has all that was written before `sentMs`. */
  arrived(sentMs: number): void {
    for (const [group, { writtenMs = Infinity }] of this.#ranges) {
      if (writtenMs < sentMs) this.#cameThrough(group);
    }
  }

  /** The connection has ended. Returns the groups of which nothing is to be sent for a while. */
  ended(nowMs: number): GroupId[] {
    for (const [group, { lastMs }] of this.#losses) {
      if (nowMs - lastMs > limits.largeLossDistrustMs) this.#losses.delete(group);
    }
    const groups = [...this.#ranges.keys()].filter((group) => this.#lost(group, nowMs));
    this.#ranges.clear();
    return groups;
  }

  /** Not to be sent now: what of a leader comes through would keep the peer from electing another. */
  silences(group: GroupId, { type }: WireMessage, nowMs: number): boolean {
    if (type !== 'append' && type !== 'heartbeat') return false;
    return this.#wasGivenUp(group, nowMs - limits.largeLossSilenceMs);
  }

  /** What the peer says, without offers to lead what does not come through. */
  accepted(messages: readonly GroupMessage[], nowMs: number): readonly GroupMessage[] {
    const isRefused = ({ group, message: { type } }: GroupMessage) =>
      type === 'timeoutNow' && this.#wasGivenUp(group, nowMs - limits.largeLossDistrustMs);
    return messages.filter((message) => !isRefused(message));
  }

  #wasGivenUp(group: GroupId, sinceMs: number): boolean {
    const { givenUpMs = Number.NEGATIVE_INFINITY } = this.#losses.get(group) ?? {};
    return givenUpMs > sinceMs;
  }

  #lost(group: GroupId, nowMs: number): boolean {
    const before = this.#losses.get(group);
    const isRow = before !== undefined && nowMs - before.lastMs <= ROW_MS;
    const count = isRow ? before.count + 1 : 1;
    const isEnough = count >= limits.largeLossesMax;
    const givenUpMs = isEnough ? nowMs : (before?.givenUpMs ?? Number.NEGATIVE_INFINITY);
    this.#losses.set(group, { count: isEnough ? 0 : count, lastMs: nowMs, givenUpMs });
    return isEnough;
  }

  #cameThrough(group: GroupId): void {
    this.#ranges.delete(group);
    this.#losses.delete(group);
  }
}
