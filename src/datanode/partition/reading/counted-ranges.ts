/** Ranges as one read is given them: what it has of them counts, and it ends when nobody waits for it. */
import type { Gone } from '../../../common/lazy-abort.ts';
import type { RangeSource } from '../../encoding/steps/slices.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import type { RangePlace } from './range-room.ts';

/** Thrown into a read that is to end before it is done. */
export class ReadEnded extends Error {
  override readonly name = 'ReadEnded';
  readonly why: 'gone' | 'outgrown';

  /** `gone`: nobody waits for it; `outgrown`: it is large, and there is no room for that now. */
  constructor(why: ReadEnded['why']) {
    super(`a read ended: ${why}`);
    this.why = why;
  }
}

export class CountedRanges implements RangeSource {
  readonly #source: RangeSource;
  readonly #place: RangePlace | undefined;
  readonly #asker: Gone | undefined;

  /** `place`: undefined where nothing counts. */
  constructor(source: RangeSource, place: RangePlace | undefined, asker: Gone | undefined) {
    this.#source = source;
    this.#place = place;
    this.#asker = asker;
  }

  /** Also asked at each pause of a walk. Throws ReadEnded. */
  range(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]> {
    this.lookAround();
    const rest = this.#place?.rest();
    if (rest !== undefined) return this.#rested(rest, range);
    const pairs = this.#source.range(range);
    if (pairs instanceof Promise) return pairs.then((read) => this.#counted(read));
    return this.#counted(pairs);
  }

  /** Throws ReadEnded when nobody waits for the read any more. */
  lookAround(): void {
    if (this.#asker?.isGone) throw new ReadEnded('gone');
  }

  /** The replies that are done have so many bytes, and nothing else is in memory. Throws ReadEnded. */
  has(bytes: number): void {
    if (this.#place?.holds(bytes) === false) throw new ReadEnded('outgrown');
  }

  async #rested(rest: Promise<void>, range: KeyRange): Promise<readonly KeyValue[]> {
    await rest;
    return this.range(range);
  }

  #counted(pairs: readonly KeyValue[]): readonly KeyValue[] {
    if (this.#place === undefined || pairs.length === 0) return pairs;
    let { bytes } = this.#place;
    for (const [key, value] of pairs) bytes += key.length + value.length;
    this.has(bytes);
    return pairs;
  }
}
