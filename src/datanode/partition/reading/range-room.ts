/**
 * Reads of ranges that are under way on a node. Each holds a state of an engine and what it has made of
 * its reply, and nobody knows how large that will be before it was read. So each begins as a small one,
 * of which there are few at a time, because they end soon. One that outgrows that becomes a large one
 * if there is room for another; if not, it ends, and begins anew when its turn has come, first come
 * first served. So small ones never wait for large ones to end.
 *
 * Large ones together hold so many bytes; beyond, only the one that began first goes on, which always
 * can, since it waits for nothing but its engine. Who waits here holds no state and no reply.
 */
import { limits } from '../../../common/limits.ts';

export type RangeSize = 'small' | 'large';

/** Called in a turn of its own, with a place that is to be given back whatever becomes of the read. */
export type OnPlace = (place: RangePlace) => void;

/** One read's place among those that are under way. */
export class RangePlace {
  readonly #room: RangeRoom;
  size: RangeSize;
  /** What the read has in memory, near enough. */
  bytes = 0;
  #isOver = false;

  constructor(room: RangeRoom, size: RangeSize) {
    this.#room = room;
    this.size = size;
  }

  /**
   * The read has so many bytes by now. False: it is no small one, and there is no room for another
   * large one.
   */
  holds(bytes: number): boolean {
    return this.#room.grow(this, bytes);
  }

  /** Undefined: it may go on. */
  rest(): Promise<void> | undefined {
    return this.#room.rest(this);
  }

  /** Its read is over. May be called again. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#room.leave(this);
  }
}

/** Of all replicas of a node. */
export class RangeRoom {
  readonly #bounds: typeof limits.rangeReads;
  /** In the order in which they began. */
  readonly #underWay = { small: new Set<RangePlace>(), large: new Set<RangePlace>() };
  readonly #waiting = { small: new Set<OnPlace>(), large: new Set<OnPlace>() };
  /** What large ones have. */
  #bytes = 0;
  /** Large ones that go on when there are fewer bytes, or they are the first. */
  #resting: (() => void)[] = [];
  #isGivingSoon = false;

  constructor(bounds: typeof limits.rangeReads = limits.rangeReads) {
    this.#bounds = bounds;
  }

  get underWay(): number {
    return this.#underWay.small.size + this.#underWay.large.size;
  }

  get waiting(): number {
    return this.#waiting.small.size + this.#waiting.large.size;
  }

  /** What large reads have in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A place that is free and that nobody waits for. */
  begin(size: RangeSize): RangePlace | undefined {
    return this.#isFree(size) && this.#waiting[size].size === 0 ? this.#place(size) : undefined;
  }

  /** Gives a place in the order of the calls; what is returned leaves the line. */
  wait(size: RangeSize, onPlace: OnPlace): () => void {
    const waiting = this.#waiting[size];
    waiting.add(onPlace);
    this.#giveSoon();
    return () => waiting.delete(onPlace);
  }

  grow(place: RangePlace, bytes: number): boolean {
    if (place.size === 'small') {
      place.bytes = bytes;
      return bytes <= this.#bounds.smallBytes || this.#enlarge(place);
    }
    this.#bytes += bytes - place.bytes;
    place.bytes = bytes;
    return true;
  }

  rest(place: RangePlace): Promise<void> | undefined {
    if (this.#bytes <= this.#bounds.largeBytes || place.size === 'small') return undefined;
    const [first] = this.#underWay.large;
    if (first === place) return undefined;
    return new Promise((resolve) => this.#resting.push(resolve));
  }

  leave(place: RangePlace): void {
    this.#underWay[place.size].delete(place);
    if (place.size === 'large') {
      this.#bytes -= place.bytes;
      for (const goOn of this.#resting.splice(0)) goOn();
    }
    this.#giveSoon();
  }

  #isFree(size: RangeSize): boolean {
    const { smallMax, largeMax } = this.#bounds;
    return this.#underWay[size].size < (size === 'small' ? smallMax : largeMax);
  }

  #place(size: RangeSize): RangePlace {
    const place = new RangePlace(this, size);
    this.#underWay[size].add(place);
    return place;
  }

  #enlarge(place: RangePlace): boolean {
    if (!this.#isFree('large') || this.#waiting.large.size > 0) return false;
    this.#underWay.small.delete(place);
    place.size = 'large';
    this.#underWay.large.add(place);
    this.#bytes += place.bytes;
    this.#giveSoon();
    return true;
  }

  /** Not within the call that made room: whoever made it may be in the midst of something. */
  #giveSoon(): void {
    if (this.#isGivingSoon || this.waiting === 0) return;
    this.#isGivingSoon = true;
    void Promise.resolve().then(() => {
      this.#isGivingSoon = false;
      this.#give('small');
      this.#give('large');
    });
  }

  #give(size: RangeSize): void {
    for (const onPlace of this.#waiting[size]) {
      if (!this.#isFree(size)) return;
      this.#waiting[size].delete(onPlace);
      onPlace(this.#place(size));
    }
  }
}
