/**
 * How many bytes of values lines put that did not come with them (`rewritten-bytes.ts`): what is stored is
 * looked at, or known from what is on its way. To look is to read: of 16 MiB some milliseconds, so in one
 * turn it is done for `limits.rewrittenLooksBytes`, and whoever comes next waits for the next one.
 */
import { ByteRangeError } from '../../../common/bytes.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { CARRIED_AT, isOnceLine } from '../../commands/sessions/once-line.ts';
import { execLinesOf, isExecLine } from '../../commands/transactions/exec-line.ts';
import { encodeKey } from '../../encoding/records/key.ts';
import type { TxnReader } from '../../encoding/txn/txn.ts';
import type { CommandLine } from '../entries/batch.ts';
import { mayRewrite, type Rewriting, rewritingOf } from './rewritten-bytes.ts';

/** An engine that knows small numbers unread. */
type StoredReader = Pick<TxnReader, 'getSync' | 'knownValue'>;

/** Bytes of the values that are put, by their keys (latin1): each is held once, however often it is put. */
export type Weights = Map<string, number>;

/** Of lines that have to be in one entry. */
export interface Weighing {
  weights: Weights | undefined;
  /** All of them together. */
  bytes: number;
  /** Keys that it may still look at. */
  looks: number;
  /** It is refused if it weighs too much, which has to be known. */
  readonly mustKnow: boolean;
}

export class ValueSizes {
  readonly #stored: (key: Buffer) => number;
  #bytesLeft = 0;
  /** Something was not looked at, and taken for a large value: nobody is to believe that later. */
  #isGuess = false;
  /** What was looked at in this turn. */
  readonly #looked: Weights = new Map();
  /**
   * What becomes of keys that are rewritten by entries on their way: up to `#until`, and later ones. Few
   * bytes may have made 16 MiB of nothing there. Of what came with its line the log takes little at once.
   */
  #before: Weights = new Map();
  #coming: Weights = new Map();
  #until: LogIndex = 0;
  #last: LogIndex = 0;

  /** `stored`: bytes of the value under a user's key, as the engine has it; 0: none, or a collection. */
  constructor(stored: (key: Buffer) => number) {
    this.#stored = stored;
  }

  beginTurn(): void {
    this.#bytesLeft = limits.rewrittenLooksBytes;
    this.#looked.clear();
  }

  /** So much was looked at in this turn that others are to have theirs. */
  get isSpent(): boolean {
    return this.#bytesLeft <= 0;
  }

  /** Entries up to `last` are on their way. */
  proposed(last: LogIndex): void {
    this.#last = last;
  }

  /** Entries up to `index` are applied: their values are stored. */
  settled(index: LogIndex): void {
    if (index < this.#until || this.#before.size + this.#coming.size === 0) return;
    this.#before = index < this.#last ? this.#coming : new Map();
    this.#coming = new Map();
    this.#until = this.#last;
  }

  /**
   * `line` with those before it that are to be in the same entry and weigh `weighing`. `mustKnow`: an
   * EXEC that weighs too much is refused. Undefined: nothing stored is put again.
   */
  weigh(line: CommandLine, mustKnow: boolean, weighing?: Weighing): Weighing | undefined {
    if (isOnceLine(line)) {
      const carried = line.slice(CARRIED_AT);
      return carried.length === 0 ? weighing : this.weigh(carried, false, weighing);
    }
    if (isExecLine(line)) return this.#weighExec(line, weighing ?? newWeighing(mustKnow));
    return mayRewrite(line[0]!) ? this.#weighOne(line, weighing ?? newWeighing(false)) : weighing;
  }

  #weighExec(exec: CommandLine, weighing: Weighing): Weighing {
    try {
      for (const line of execLinesOf(exec, mayRewrite)) {
        this.#weighOne(line, weighing);
        if (weighing.bytes > limits.execGrowthBytesMax || weighing.looks <= 0) break;
      }
    } catch (failure) {
      // who applies it says what is wrong with it
      if (!(failure instanceof ByteRangeError)) throw failure;
    }
    return weighing;
  }

  #weighOne(line: CommandLine, weighing: Weighing): Weighing {
    const rewriting = rewritingOf(line);
    this.#isGuess = false;
    const bytes = rewriting === undefined ? 0 : this.#bytesOf(rewriting, weighing);
    if (rewriting === undefined || bytes < limits.rewrittenSmallBytes) return weighing;
    const name = rewriting.to.toString('latin1');
    if (!this.#isGuess) this.#coming.set(name, bytes);
    weighing.weights ??= new Map();
    const before = weighing.weights.get(name) ?? 0;
    if (bytes <= before) return weighing;
    weighing.weights.set(name, bytes);
    weighing.bytes += bytes - before;
    return weighing;
  }

  #bytesOf({ from, least }: Rewriting, weighing: Weighing): number {
    let longest = least;
    for (const key of from) {
      if (weighing.looks <= 0) break;
      longest = Math.max(longest, this.#sizeOf(key, weighing));
    }
    return longest;
  }

  #sizeOf(key: Buffer, weighing: Weighing): number {
    const known = this.#knownOf(key);
    if (known !== undefined) return known;
    if (this.isSpent && !weighing.mustKnow) {
      this.#isGuess = true;
      return limits.valueBytesMax;
    }
    weighing.looks--;
    const bytes = this.#stored(key);
    if (bytes < limits.rewrittenSmallBytes) return bytes;
    this.#bytesLeft -= bytes;
    this.#looked.set(key.toString('latin1'), bytes);
    return bytes;
  }

  #knownOf(key: Buffer): number | undefined {
    if (this.#coming.size + this.#before.size + this.#looked.size === 0) return undefined;
    const name = key.toString('latin1');
    return this.#coming.get(name) ?? this.#before.get(name) ?? this.#looked.get(name);
  }
}

function newWeighing(mustKnow: boolean): Weighing {
  return { weights: undefined, bytes: 0, looks: limits.rewrittenLooksMax, mustKnow };
}

/** Around a value in its record: type, flags, deadline, checksum. */
const AROUND_BYTES = 14;

/** Bytes of the value under the user's key `key` in `engine`; of a collection, of its header. */
export function storedBytes(engine: StoredReader, key: Buffer): number {
  const place = encodeKey(key);
  if (engine.knownValue?.(place) !== undefined) return 0;
  try {
    return Math.max(0, (engine.getSync(place)?.length ?? 0) - AROUND_BYTES);
  } catch {
    // it is closing, or fails: whoever applies the line hears of that
    return 0;
  }
}
