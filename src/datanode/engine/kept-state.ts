/**
 * A state of a LevelDB that is held for long while others write. LevelDB keeps two versions of a key
 * that is overwritten while it has a snapshot from before, and version 1.20, which classic-level has,
 * may end a table between them and let the first of the two tables go a level deeper alone: a point
 * read then finds the older version in the level above (its issue 320, mended in 1.22). That lasts
 * beyond the snapshot, and a restart.
 *
 * So such a state is held by an iterator. That needs its snapshot only while it is made: from then on it
 * holds the tables and the memory that it reads, and what is written meanwhile has one version of each
 * key. All that read the state share the iterator, which is put where each of them goes on.
 */
import { assert } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import type { EngineIterator, KeyRange, KeyValue } from './engine.ts';
import { engineError } from './level-errors.ts';

/** An iterator over all there is, made with a snapshot. */
interface Source {
  seek(key: Buffer): void;
  nextv(count: number): Promise<[Buffer, Buffer][]>;
  close(): Promise<void>;
}

/** Its `_close` gives it back to LevelDB; what `close` does besides lets nobody read on. */
type Handle = object & { _close?(): Promise<void> };

const AFTER = Buffer.alloc(1);

export class KeptState {
  readonly #path: string;
  readonly #source: Source;
  /** Whose next pair is the source's. */
  #at: KeptIterator | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  /** `source` was made with the snapshot of `handle`, which is given back. */
  constructor(path: string, source: Source, handle: Handle) {
    this.#path = path;
    this.#source = source;
    void handle._close?.();
    // to give it back twice would be a fault in LevelDB's memory
    handle._close = async () => {};
  }

  iterate(range: KeyRange): EngineIterator {
    assert(!range.reverse && !range.keysOnly, 'what is kept is read forwards, with values');
    return new KeptIterator(range, (iterator, from, count) => this.#read(iterator, from, count));
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  /** One after the other. */
  #read(iterator: KeptIterator, from: Buffer, count: number): Promise<KeyValue[]> {
    const read = this.#reading.then(async () => {
      try {
        if (this.#at !== iterator) this.#source.seek(from);
        this.#at = iterator;
        return await this.#source.nextv(count);
      } catch (error) {
        throw engineError(this.#path, error);
      }
    });
    this.#reading = read.catch(() => {});
    return read;
  }
}

type Read = (iterator: KeptIterator, from: Buffer, count: number) => Promise<KeyValue[]>;

class KeptIterator implements EngineIterator {
  readonly #lt: Buffer;
  readonly #read: Read;
  #from: Buffer;
  #left: number;

  constructor({ gte, lt, limit = Number.POSITIVE_INFINITY }: KeyRange, read: Read) {
    this.#from = gte;
    this.#lt = lt;
    this.#left = limit;
    this.#read = read;
  }

  async next(count: number): Promise<KeyValue[]> {
    assert(count >= 1, () => `an iterator's step is at least 1, not ${count}`);
    const wanted = Math.min(count, this.#left, limits.scanCountMax);
    if (wanted === 0) return [];
    const read = await this.#read(this, this.#from, wanted);
    const end = read.findIndex(([key]) => key.compare(this.#lt) >= 0);
    const pairs = end < 0 ? read : read.slice(0, end);
    this.#left = end < 0 && read.length > 0 ? this.#left - pairs.length : 0;
    const last = pairs.at(-1);
    if (last !== undefined) this.#from = Buffer.concat([last[0], AFTER]);
    return pairs;
  }

  /** The state is closed by who keeps it. */
  async close(): Promise<void> {
    this.#left = 0;
  }
}
