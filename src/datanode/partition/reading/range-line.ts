/** Reads of one replica that wait for a place among the ranges of their node. */
import { limits } from '../../../common/limits.ts';
import type { CommandBatch } from '../entries/batch.ts';
import type { RangePlace, RangeRoom, RangeSize } from './range-room.ts';

/** A batch of reads, and its place while it is under way. */
export interface RangeRead {
  readonly batch: CommandBatch;
  /** Each line touches exactly one engine key: it needs no place. */
  readonly singlePoint: boolean;
  /** As far as is known. */
  size: RangeSize;
  place: RangePlace | undefined;
}

/** What those are told that have waited too long for a place. */
export const NO_PLACE = 'other reads take all the memory that ranges may have on this node';

/** Whoever asked for it has gone. */
export function isGone({ batch: { room, asker } }: Pick<RangeRead, 'batch'>): boolean {
  return asker?.isGone === true || room?.isGone === true;
}

/** To be called wherever a read ends, or is to wait for something else. */
export function giveBack(read: RangeRead): void {
  read.place?.end();
  read.place = undefined;
}

/** For those that wait for what may take long: others could have their places meanwhile. */
export function giveBackAll(reads: readonly RangeRead[]): void {
  for (const read of reads) giveBack(read);
}

export class RangeLine<Read extends RangeRead> {
  readonly #ranges: RangeRoom;
  readonly #onPlace: (read: Read) => void;
  /** How each leaves the line of the node. */
  readonly #waiting = new Map<Read, () => void>();

  /** `onPlace`: a read has its place, and is to begin. */
  constructor(ranges: RangeRoom, onPlace: (read: Read) => void) {
    this.#ranges = ranges;
    this.#onPlace = onPlace;
  }

  get length(): number {
    return this.#waiting.size;
  }

  wait(read: Read, size: RangeSize): void {
    giveBack(read);
    read.size = size;
    const leave = this.#ranges.wait(size, (place) => {
      this.#waiting.delete(read);
      read.place = place;
      this.#onPlace(read);
    });
    this.#waiting.set(read, leave);
  }

  /** Those that wait too long, and at once those of clients that have gone: they take memory. */
  takeLate(nowMs: number): Read[] {
    const lateMs = nowMs - limits.applyWaitMs;
    return this.take((read) => isGone(read) || read.batch.deadlineMs <= lateMs);
  }

  /** Those that wait no longer: all for which `which` is true. */
  take(which: (read: Read) => boolean = () => true): Read[] {
    const taken: Read[] = [];
    for (const [read, leave] of this.#waiting) {
      if (!which(read)) continue;
      leave();
      this.#waiting.delete(read);
      taken.push(read);
    }
    return taken;
  }
}
