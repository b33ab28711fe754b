/**
 * A state of a LevelDB that is iterated while others write. LevelDB keeps two versions of a key that is
 * overwritten while it has a snapshot from before, and version 1.20, which classic-level has, may end a
 * table between them and let the first of the two tables go a level deeper alone: a point read then
 * finds the older version in the level above (its issue 320, mended in 1.22). That lasts beyond the
 * snapshot, and a restart.
 *
 * So such a state is held by iterators, one for each direction. They need its snapshot only while they are
 * made: from then on they hold the tables and the memory that they read, and what is written meanwhile
 * has one version of each key. All that read the state share them, and put them where each goes on.
 */
import { assert } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import type { EngineIterator, KeyRange, KeyValue } from './engine.ts';
import { engineError } from './level-errors.ts';
import { keyBehind, type LevelIterating, NO_VALUE } from './level-handles.ts';

/** One direction of it. */
interface Source {
  readonly iterating: LevelIterating;
  /** Whose next pair is the iterator's. */
  at: KeptIterator | undefined;
  reading: Promise<unknown>;
}

export class KeptState {
  readonly #path: string;
  readonly #forwards: Source;
  readonly #backwards: Source;

  /** `iterate` makes an iterator over all there is, of the state. */
  constructor(path: string, iterate: (reverse: boolean) => LevelIterating) {
    this.#path = path;
    this.#forwards = sourceOf(iterate(false));
    this.#backwards = sourceOf(iterate(true));
  }

  iterate(range: KeyRange): EngineIterator {
    const source = range.reverse ? this.#backwards : this.#forwards;
    return new KeptIterator(range, (...asked) => this.#read(source, ...asked));
  }

  async close(): Promise<void> {
    await Promise.all([this.#forwards.iterating.close(), this.#backwards.iterating.close()]);
  }

  /** One after the other. `from`: forwards the first that may be read, backwards the first that may not. */
  #read(source: Source, by: KeptIterator, from: Buffer, count: number): Promise<KeyValue[]> {
    const { iterating } = source;
    const read = source.reading.then(async () => {
      try {
        if (source.at === by) return await iterating.nextv(count);
        source.at = by;
        iterating.seek(from);
        const pairs = await iterating.nextv(count);
        if (source === this.#forwards || pairs[0]?.[0].equals(from) !== true) return pairs;
        return pairs.length > 1 ? pairs.slice(1) : await iterating.nextv(count);
      } catch (error) {
        throw engineError(this.#path, error);
      }
    });
    source.reading = read.catch(() => {});
    return read;
  }
}

function sourceOf(iterating: LevelIterating): Source {
  return { iterating, at: undefined, reading: Promise.resolve() };
}

type Read = (by: KeptIterator, from: Buffer, count: number) => Promise<KeyValue[]>;

class KeptIterator implements EngineIterator {
  readonly #range: KeyRange;
  readonly #read: Read;
  /** What is left of the range. */
  #gte: Buffer;
  #lt: Buffer;
  #left: number;

  constructor(range: KeyRange, read: Read) {
    this.#range = range;
    this.#gte = range.gte;
    this.#lt = range.lt;
    this.#left = range.limit ?? Number.POSITIVE_INFINITY;
    this.#read = read;
  }

  async next(count: number): Promise<KeyValue[]> {
    assert(count >= 1, () => `an iterator's step is at least 1, not ${count}`);
    const wanted = Math.min(count, this.#left, limits.scanCountMax);
    if (wanted === 0 || this.#gte.compare(this.#lt) >= 0) return [];
    const { reverse = false, keysOnly = false } = this.#range;
    const read = await this.#read(this, reverse ? this.#lt : this.#gte, wanted);
    const pairs = this.#within(read);
    const last = pairs.at(-1);
    this.#left = last === undefined ? 0 : this.#left - pairs.length;
    if (last !== undefined && reverse) this.#lt = last[0];
    else if (last !== undefined) this.#gte = keyBehind(last[0]);
    return keysOnly ? pairs.map(([key]) => [key, NO_VALUE]) : pairs;
  }

  #within(read: KeyValue[]): KeyValue[] {
    return read.filter(([key]) => key.compare(this.#gte) >= 0 && key.compare(this.#lt) < 0);
  }

  /** The state is closed by who keeps it. */
  async close(): Promise<void> {
    this.#left = 0;
  }
}
