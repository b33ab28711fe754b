/**
 * Appends that are on their way over a peer's bulk connection, which loses nothing while it lives. Raft
 * cannot know: an empty append that overtakes a large one is refused, and a heartbeat that is answered
 * before a large one has arrived lets it be sent once more. Over a slow link every copy takes as long as
 * the first, and more are made than arrive. So what is on its way is not sent a second time, and what
 * comes behind it in its log goes behind it on its connection.
 *
 * It is forgotten when the peer acknowledges it, or has received what was written behind it: who has it
 * and acknowledges nothing may be sent it again.
 */
import type { GroupId, LogIndex, Term } from '../../common/ids.ts';
import type { WireMessage } from '../raft/message.ts';

type Append = Extract<WireMessage, { type: 'append' }>;

interface Range {
  readonly term: Term;
  /** The entry before the first of them, and the last. */
  readonly from: LogIndex;
  to: LogIndex;
  /** When the last of it was written to the connection; undefined: it waits. */
  writtenMs: number | undefined;
}

const lastOf = ({ index, entries }: Append): LogIndex => index + entries.length;

export class OnTheWay {
  readonly #ranges = new Map<GroupId, Range>();

  get size(): number {
    return this.#ranges.size;
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
    if (message.index >= (this.#ranges.get(group)?.to ?? Infinity)) this.#ranges.delete(group);
  }

  /** The peer has all that was written before `sentMs`. */
  arrived(sentMs: number): void {
    for (const [group, { writtenMs = Infinity }] of this.#ranges) {
      if (writtenMs < sentMs) this.#ranges.delete(group);
    }
  }

  clear(): void {
    this.#ranges.clear();
  }
}
