/**
 * What the last entries of other leaders answered, in memory: who proposed one and lost its own
 * replica before it was applied there asks the others (`routing/lost-entries.ts`). Term and index
 * name an entry for good. Whatever replica has applied an entry at that index, or any entry of a
 * later term before it, knows what became of it: what is applied is committed, and terms never fall
 * along a log. So no quorum is needed to answer, and nothing on the way of a write.
 *
 * Each term has a room of its own: the last entries of a leader that is gone are those somebody asks
 * for, and stay whatever its successor writes, until several more have filled theirs. Which entries
 * were whose is known for far longer.
 */
import type { LogIndex, Term } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { ownReplies } from '../../resp/own-replies.ts';
import type { Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import type { EntryFate, EntryPlace } from '../entries/batch.ts';
import type { AppliedEntry } from './applier.ts';

export interface EntriesGround {
  /** The last entry in the engine. */
  applied(): EntryPlace;
  /** Of the log that is left. */
  termOf(index: LogIndex): Term | 'compacted' | 'unavailable';
}

interface Kept {
  readonly index: LogIndex;
  readonly bytes: number;
  readonly replies: readonly Reply[];
}

/** Entries of one term, all that this replica applied of it in this life. */
interface Stretch {
  readonly term: Term;
  readonly first: LogIndex;
  last: LogIndex;
  /** By ascending index, from `head` on. */
  kept: Kept[];
  head: number;
  bytes: number;
}

const COMPACT_AT = 1_024;
const DROPPED: Kept = { index: 0, bytes: 0, replies: [] };

export class RecentEntries {
  readonly #ground: EntriesGround;
  /** By ascending term. */
  #stretches: Stretch[] = [];
  /** Of all replies. */
  #bytes = 0;

  constructor(ground: EntriesGround) {
    this.#ground = ground;
  }

  /** `ownTerm`: in which this replica leads; what it proposed itself nobody else asks for. */
  note(entries: readonly AppliedEntry[], ownTerm: Term | undefined): void {
    for (const { index, term, replies } of entries) {
      const stretch = this.#stretchOf(term, index);
      stretch.last = index;
      if (term === ownTerm || replies.length === 0) continue;
      this.#bytes += keep(stretch, index, replies);
      while (this.#bytes > limits.recentRepliesBytesMax) this.#forgetOldest();
    }
  }

  fateOf({ term, index }: EntryPlace): EntryFate {
    const { applied, termOf } = this.#ground;
    const last = applied();
    if (index > last.index) return last.term > term ? { kind: 'never' } : { kind: 'open' };
    const stretch = this.#stretches.find((of) => of.first <= index && index <= of.last);
    const there = stretch?.term ?? termOf(index);
    if (typeof there !== 'number') return this.#lies(term, index);
    if (there !== term) return { kind: 'never' };
    const kept = stretch?.kept.find((one) => one.index === index);
    return { kind: 'done', replies: kept?.replies };
  }

  /** In a gap that a snapshot left, or before all that is known: by the terms on both sides of it. */
  #lies(term: Term, index: LogIndex): EntryFate {
    const before = this.#stretches.findLast((of) => of.last < index);
    const behind = this.#stretches.find((of) => of.first > index);
    const isOther = term < (before?.term ?? 0) || term > (behind?.term ?? Number.POSITIVE_INFINITY);
    return { kind: isOther ? 'never' : 'forgotten' };
  }

  #stretchOf(term: Term, index: LogIndex): Stretch {
    const last = this.#stretches.at(-1);
    // a snapshot may have come in between
    if (last?.term === term && last.last + 1 === index) return last;
    const stretch = { term, first: index, last: index, kept: [], head: 0, bytes: 0 };
    this.#stretches.push(stretch);
    if (this.#stretches.length > limits.recentStretchesMax) {
      this.#bytes -= this.#stretches.shift()!.bytes;
    }
    return stretch;
  }

  #forgetOldest(): void {
    const oldest = this.#stretches.find(({ bytes }) => bytes > 0)!;
    this.#bytes -= oldest.bytes;
    oldest.kept = [];
    oldest.head = 0;
    oldest.bytes = 0;
  }
}

/** By how many bytes it has grown. */
function keep(stretch: Stretch, index: LogIndex, replies: readonly Reply[]): number {
  const before = stretch.bytes;
  let bytes = 0;
  for (const reply of replies) bytes += replyBytes(reply);
  // what is larger than its room leaves it at once
  const own = bytes > limits.recentTermBytesMax ? [] : ownReplies(replies);
  stretch.kept.push({ index, bytes, replies: own });
  stretch.bytes += bytes;
  while (stretch.bytes > limits.recentTermBytesMax && stretch.head < stretch.kept.length) {
    stretch.bytes -= stretch.kept[stretch.head]!.bytes;
    stretch.kept[stretch.head++] = DROPPED;
  }
  if (stretch.head >= COMPACT_AT || stretch.head === stretch.kept.length) {
    stretch.kept = stretch.kept.slice(stretch.head);
    stretch.head = 0;
  }
  return stretch.bytes - before;
}
