/**
 * Groups of streams that have something for those who wait in them, or are gone: an entry has to be
 * proposed for them. A stream that is there says nothing: what it holds the group may have read long ago.
 */
import { limits } from '../../../common/limits.ts';
import { waiterBytes } from '../entries/waiter-codec.ts';
import { ALL } from './fills.ts';
import type { Choosable } from './waiter-choice.ts';
import type { Queue } from './waiter-queues.ts';

/**
 * `gone`: the stream or the group; undefined: there is nothing that it has not read. Else what of both
 * that rests on: while it is the same, nothing new comes of another entry.
 */
export type GroupStanding = 'gone' | string | undefined;

/** What an entry is to serve. */
export interface GroupDraft<W> {
  readonly queue: Queue<W>;
  /** The first of them, as many as it may have something for. */
  readonly waiters: readonly W[];
}

export class ReadyGroups<W extends Choosable> {
  /** How many of each are to be served at once. */
  readonly #ready = new Map<Queue<W>, number>();

  get count(): number {
    return this.#ready.size;
  }

  clear(): void {
    this.#ready.clear();
  }

  /** At all groups of a stream that somebody waits in. */
  lookAt(queues: Iterable<Queue<W>>, standingOf: (group: Buffer) => GroupStanding): void {
    for (const queue of queues) this.#lookAtOne(queue, standingOf(queue.group!));
  }

  #lookAtOne(queue: Queue<W>, standing: GroupStanding): void {
    if (standing === undefined || standing === queue.seen) return;
    if (firstOf(queue, 1).length === 0) return;
    // each of those who are told that it is gone leaves, so that comes to an end
    queue.seen = standing === 'gone' ? undefined : standing;
    this.#ready.set(queue, standing === 'gone' ? ALL : limits.scriptFillsMax);
  }

  /** As many as an entry may have room for. */
  first(): GroupDraft<W>[] {
    const drafts: GroupDraft<W>[] = [];
    let countLeft = limits.waitersPerEntryMax;
    let bytesLeft = limits.waiterBytesPerEntryMax;
    for (const [queue, count] of this.#ready) {
      if (countLeft <= 0 || bytesLeft < 0) break;
      const waiters = firstOf(queue, Math.min(count, countLeft));
      drafts.push({ queue, waiters });
      countLeft -= waiters.length;
      bytesLeft -= queue.key.length;
      for (const { request } of waiters) bytesLeft -= waiterBytes(request);
    }
    return drafts;
  }

  /** An entry is in the log that serves it, or nobody waits in it any more. */
  done(queue: Queue<W>): void {
    this.#ready.delete(queue);
  }
}

/** Those of whom the entry carries the first: of the others it has no room for any. */
export function carriedOf<W>(
  groups: readonly GroupDraft<W>[],
  waiters: readonly W[],
): readonly GroupDraft<W>[] {
  if (groups.length === 0) return groups;
  const taken = new Set(waiters);
  return groups.filter(({ waiters: [first] }) => first !== undefined && taken.has(first));
}

function firstOf<W extends Choosable>({ waiters }: Queue<W>, count: number): W[] {
  const first: W[] = [];
  for (const waiter of waiters) {
    if (first.length >= count) break;
    if (!waiter.withdrawn) first.push(waiter);
  }
  return first;
}
