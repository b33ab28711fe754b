/**
 * One state of a partition, given out as the keys of an RDB file page by page (`encoding/rdb/rdb-keys`).
 * The state is held as that of a snapshot is: by iterators, so what is written meanwhile costs no memory,
 * and the tables it needs stay on the disk until it is closed.
 */
import { crc32 } from '../../../common/checksum.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { BackupPage } from '../../commands/rows/backup-port.ts';
import { FIELD_DEADLINES, type WrittenKeys, writeKeys } from '../../encoding/rdb/rdb-keys.ts';
import { writeLibraries } from '../../encoding/rdb/rdb-libraries.ts';
import { tags } from '../../encoding/records/tags.ts';
import type { Pacing, RangeSource, Slices } from '../../encoding/steps/slices.ts';
import { ReadAhead } from '../../encoding/txn/read-ahead.ts';
import { readRange } from '../../encoding/txn/txn.ts';
import type { EngineSnapshot } from '../../engine/engine.ts';
import { runRanges } from '../turns/run-ranges.ts';
import { PageGate } from './page-gate.ts';

export type {
  BackedPartition,
  BackupPage,
  BackupPort,
  BackupState,
} from '../../commands/rows/backup-port.ts';

/** Keys are read on beside the elements of the one that is being written. */
class Ranges implements RangeSource {
  readonly #keys: ReadAhead;
  readonly #elements: ReadAhead;

  constructor(state: EngineSnapshot) {
    this.#keys = new ReadAhead(state);
    this.#elements = new ReadAhead(state);
  }

  range(...[range]: Parameters<RangeSource['range']>): ReturnType<RangeSource['range']> {
    const source = range.gte[0] === tags.key ? this.#keys : this.#elements;
    return source.range(range);
  }

  async end(): Promise<void> {
    await Promise.all([this.#keys.end(), this.#elements.end()]);
  }
}

export class HeldBackup {
  readonly #state: EngineSnapshot;
  readonly #pace: Pacing;
  readonly #nowMs: number;
  readonly #libraries: number | undefined;
  readonly #ranges: Ranges;
  readonly #gate: PageGate;
  readonly #written: WrittenKeys = { keys: 0, expires: 0 };
  /** Resolves when all has been written. */
  #run: Promise<void> | undefined;
  #isOver = false;
  #isClosed = false;
  #crc = 0;
  #offset = 0;
  /** The page that was given last, and how much had been before it. */
  #last: { readonly offset: number; readonly page: BackupPage } | undefined;

  /**
   * `state` is kept (`EngineSnapshot.keep`), and this one's to close. `libraries`: how many libraries of
   * functions it has, which come before the keys; undefined: none does.
   */
  constructor(state: EngineSnapshot, pace: Pacing, nowMs: number, libraries?: number) {
    this.#state = state;
    this.#pace = pace;
    this.#nowMs = nowMs;
    this.#libraries = libraries;
    this.#ranges = new Ranges(state);
    this.#gate = new PageGate(this.#ranges);
  }

  async hasFieldDeadlines(): Promise<boolean> {
    return (await readRange(this.#state, FIELD_DEADLINES)).length > 0;
  }

  /** The page behind the first `offset` bytes: the next one, or the last once more. */
  async page(offset: number): Promise<BackupPage> {
    if (this.#last?.offset === offset) return this.#last.page;
    if (offset !== this.#offset) {
      throw new KvorumError(
        'BAD_ARGUMENT',
        `the next page is at ${this.#offset}, not at ${offset}`,
      );
    }
    this.#run ??= this.#begin();
    await Promise.race([this.#gate.full(), this.#run]);
    if (this.#isClosed) throw ended();
    const bytes = this.#gate.take();
    this.#crc = crc32(bytes, this.#crc);
    const { keys, expires } = this.#written;
    const isLast = this.#isOver && this.#gate.isEmpty;
    const page = { bytes, isLast, keys, expires, crc: this.#crc };
    this.#last = { offset, page };
    this.#offset += bytes.length;
    return page;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#gate.letGo();
    await this.#run?.catch(() => {});
    await this.#ranges.end();
    await this.#state.close();
  }

  #begin(): Promise<void> {
    const source: RangeSource = {
      range: (range) => {
        if (this.#isClosed) throw ended();
        return this.#gate.range(range);
      },
    };
    const run = runRanges(this.#walk(), source, this.#pace).then(() => {
      this.#isOver = true;
    });
    // whoever asks for a page hears of it; perhaps nobody does
    run.catch(() => {});
    return run;
  }

  *#walk(): Slices<void> {
    if (this.#libraries !== undefined) {
      const written = yield* writeLibraries(this.#gate);
      if (written !== this.#libraries) {
        const text = `${written} libraries of functions are kept, and ${this.#libraries} were counted`;
        throw new KvorumError('CORRUPT', text);
      }
    }
    yield* writeKeys(this.#gate, this.#nowMs, this.#written);
  }
}

function ended(): KvorumError {
  return new KvorumError('CANCELLED', 'the backup has ended');
}
