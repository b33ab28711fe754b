/**
 * Ranges of an engine with the changes of a Txn laid over them, slice by slice. How many pairs a slice
 * has does not depend on what of them is in the engine already: commands draw from slices, and replicas
 * gather their batches, and store parts of them early, as they like.
 */
import { limits } from '../../../common/limits.ts';
import type { EngineReader, KeyRange, KeyValue } from '../../engine/engine.ts';
import { isSameKind } from '../records/element-key.ts';
import { NOTHING } from '../steps/slices.ts';
import type { Overlay } from './overlay.ts';
import { beyond, type Filling, upTo } from './range-parts.ts';
import { handedMax, ReadAhead, readSlice, type Slice } from './read-ahead.ts';

/** Steps of ordering changes between two pauses: a pause costs more than a step. */
const ORDERED_STEPS = 4;
const NO_SLICE: Slice = { pairs: [], ended: true };

export class OverlaidRanges {
  readonly #reader: EngineReader;
  readonly #overlay: Overlay;
  readonly #isNew: (key: Buffer) => boolean;
  #ahead: ReadAhead;

  /** `isNew`: the engine holds no element of the collection of that key. */
  constructor(reader: EngineReader, overlay: Overlay, isNew: (key: Buffer) => boolean) {
    this.#reader = reader;
    this.#overlay = overlay;
    this.#isNew = isNew;
    this.#ahead = new ReadAhead(reader);
  }

  /** The first slice of `range`, which is not empty by its bounds. */
  read(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]> {
    const filling: Filling = { range, left: handedMax(range), bytes: 0, pairs: [] };
    const ordering = this.#overlay.order(range);
    if (!ordering.next().done) return this.#orderAndFill(ordering, filling);
    return this.#fillKnown(filling) ? filling.pairs : this.#fill(filling);
  }

  /** What is being read ahead is not wanted any more: walks are over, or the engine has changed. */
  end(): void {
    const ahead = this.#ahead;
    this.#ahead = new ReadAhead(this.#reader);
    ahead.end().catch(() => {
      // the engine is closing, and its iterators with it
    });
  }

  async #orderAndFill(ordering: Iterator<unknown>, filling: Filling): Promise<KeyValue[]> {
    do await readSlice(this.#reader, NOTHING);
    while (!isDoneWithin(ordering, ORDERED_STEPS));
    return this.#fill(filling);
  }

  async #fill(filling: Filling): Promise<KeyValue[]> {
    while (!this.#fillKnown(filling)) await this.#ahead.read(filling.range);
    return filling.pairs;
  }

  /** As far as the engine has been read; true when nothing is to be added. */
  #fillKnown(filling: Filling): boolean {
    const { gte, lt } = filling.range;
    const isNew = this.#isNew(gte) && isSameKind(gte, lt);
    for (;;) {
      const slice = isNew ? NO_SLICE : this.#ahead.known(filling.range);
      if (slice === undefined) return false;
      const last = slice.ended ? undefined : slice.pairs.at(-1)![0];
      const covered = upTo(filling.range, last);
      for (const pair of this.#overlay.merge(slice.pairs, covered, filling.left)) {
        filling.pairs.push(pair);
        filling.left--;
        filling.bytes += pair[0].length + pair[1].length;
        if (filling.bytes >= limits.rangeSliceBytes) return true;
      }
      if (filling.left === 0 || last === undefined) return true;
      filling.range = beyond(filling.range, last);
    }
  }
}

/** Makes so many steps of it. */
function isDoneWithin(steps: Iterator<unknown>, count: number): boolean {
  for (let made = 0; made < count; made++) if (steps.next().done) return true;
  return false;
}
