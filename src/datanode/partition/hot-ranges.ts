/**
 * What was read lately of collections, ready to be read again: runs of neighbouring elements as the
 * engine holds them now. To read a hundred elements from LevelDB takes some 4 µs each, most of it to
 * make a Buffer of every key and value; here they are made already.
 *
 * Whoever writes tells which keys are about to change and which have changed; what was known of
 * their collections is forgotten, and what somebody has begun to read of them is not kept.
 */
import { limits } from '../../common/limits.ts';
import { ELEMENT_PREFIX_BYTES, isElementKey } from '../encoding/element-key.ts';
import { keyAfter } from '../encoding/key.ts';
import { handedMax, type Slice } from '../encoding/read-ahead.ts';
import type { KeyRange, KeyValue } from '../engine/engine.ts';

/** All pairs from `from` up to, not with, `to`, in ascending order. */
interface Run {
  readonly owner: HotRanges;
  readonly prefix: string;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly pairs: readonly KeyValue[];
  /** What they take. */
  readonly bytes: number;
}

/** Of a pair, beside its bytes: two Buffers and what holds them. */
const PAIR_BYTES = 250;
/** Collections that changed while somebody reads; beyond that all count as changed. */
const CHANGES_MAX = 4_096;

/** What the engines of a node keep, together; the run that was longest not read goes first. */
export class HotPool {
  readonly #bytesMax: number;
  /** The one read last is the last one. */
  readonly #runs = new Set<Run>();
  #bytes = 0;

  constructor(bytesMax: number = limits.hotRangesBytes) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(run: Run): void {
    this.#runs.add(run);
    this.#bytes += run.bytes;
    for (const oldest of this.#runs) {
      if (this.#bytes <= this.#bytesMax) return;
      oldest.owner.forget(oldest.prefix);
    }
  }

  touch(run: Run): void {
    this.#runs.delete(run);
    this.#runs.add(run);
  }

  delete(run: Run): void {
    if (this.#runs.delete(run)) this.#bytes -= run.bytes;
  }
}

/** A reader at one moment of the engine, who may keep what it reads. */
export interface Fill {
  /** `slice`: of the beginning of `range`, in its direction. */
  keep(range: KeyRange, slice: Slice): void;
  /** Always to be called. */
  end(): void;
}

/** Of one engine. */
export class HotRanges {
  readonly #pool: HotPool;
  readonly #runs = new Map<string, Run>();
  /** Moments are counted by the changes. */
  #moment = 0;
  #fills = 0;
  /** When collections changed last, while there are fills. */
  readonly #changedAt = new Map<string, number>();
  #allChangedAt = 0;

  constructor(pool: HotPool) {
    this.#pool = pool;
  }

  /** Nothing is known, and nobody is about to keep anything: changes need not be told. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#fills === 0;
  }

  /** The first pairs of `range` as they are now, none when it is empty; undefined: not known. */
  known(range: KeyRange): readonly KeyValue[] | undefined {
    const { gte, lt, reverse = false } = range;
    if (gte.compare(lt) >= 0) return [];
    const run = this.#runs.get(prefixOf(gte));
    if (run === undefined) return undefined;
    const inFrom = gte.compare(run.from) >= 0;
    const inTo = lt.compare(run.to) <= 0;
    if (!(reverse ? inTo : inFrom)) return undefined;
    const [first, end] = [placeOf(run.pairs, gte), placeOf(run.pairs, lt)];
    const count = Math.min(end - first, handedMax(range));
    // fewer than asked for are all only when the other end is known, too
    if (count < handedMax(range) && !(inFrom && inTo)) return undefined;
    this.#pool.touch(run);
    if (!reverse) return run.pairs.slice(first, first + count);
    return run.pairs.slice(end - count, end).reverse();
  }

  /** To be called in the turn in which the engine's snapshot is taken that is read. */
  open(): Fill {
    const openedAt = this.#moment;
    this.#fills++;
    return {
      keep: (range, slice) => this.#keep(range, slice, openedAt),
      end: () => {
        if (--this.#fills === 0) this.#changedAt.clear();
      },
    };
  }

  /** The value of an engine key is about to change, or has changed. */
  changed(key: Buffer): void {
    if (!isElementKey(key)) return;
    const prefix = prefixOf(key);
    this.forget(prefix);
    if (this.#fills === 0) return;
    if (this.#changedAt.size >= CHANGES_MAX) this.clear();
    else this.#changedAt.set(prefix, ++this.#moment);
  }

  /** Anything may have changed. */
  clear(): void {
    for (const prefix of [...this.#runs.keys()]) this.forget(prefix);
    this.#changedAt.clear();
    this.#allChangedAt = ++this.#moment;
  }

  forget(prefix: string): void {
    const run = this.#runs.get(prefix);
    if (run === undefined) return;
    this.#runs.delete(prefix);
    this.#pool.delete(run);
  }

  #keep(range: KeyRange, slice: Slice, openedAt: number): void {
    const read = runOf(range, slice);
    if (read === undefined) return;
    const prefix = prefixOf(read.from);
    const changedAt = Math.max(this.#allChangedAt, this.#changedAt.get(prefix) ?? 0);
    if (changedAt > openedAt || !isWithin(read)) return;
    const joined = joinedTo(this.#runs.get(prefix), read);
    const bytes = sizeOf(joined.pairs);
    if (joined.pairs.length > limits.hotRangePairs || bytes > limits.hotRangeBytes) return;
    this.forget(prefix);
    const run = { ...joined, pairs: compacted(joined.pairs), owner: this, prefix, bytes };
    this.#runs.set(prefix, run);
    this.#pool.add(run);
  }
}

type Read = Pick<Run, 'from' | 'to' | 'pairs'>;

/** What a slice tells of its range; undefined for nothing. */
function runOf({ gte, lt, reverse }: KeyRange, { pairs, ended }: Slice): Read | undefined {
  const last = pairs.at(-1)?.[0];
  if (last === undefined || gte.length < ELEMENT_PREFIX_BYTES || !isElementKey(gte))
    return undefined;
  if (!reverse) return { from: gte, to: ended ? lt : keyAfter(last), pairs };
  return { from: ended ? gte : last, to: lt, pairs: [...pairs].reverse() };
}

/** Whether all keys of the run, stored or not, are of its collection. */
function isWithin({ from, to }: Read): boolean {
  const first = from.subarray(0, ELEMENT_PREFIX_BYTES);
  const bound = to.subarray(0, ELEMENT_PREFIX_BYTES);
  if (first.equals(bound)) return true;
  return to.length === ELEMENT_PREFIX_BYTES && bound.equals(successorOf(first));
}

/** The next prefix: one more, read as a number. */
function successorOf(prefix: Buffer): Buffer {
  const next = Buffer.from(prefix);
  for (let at = next.length - 1; at >= 0; at--) {
    next[at] = (next[at]! + 1) & 0xff;
    if (next[at] !== 0) return next;
  }
  return next;
}

/** With what is known beside it; else `read` takes the place. */
function joinedTo(known: Run | undefined, read: Read): Read {
  if (known === undefined || known.pairs.length + read.pairs.length > limits.hotRangePairs) {
    return read;
  }
  const { from, to, pairs } = known;
  if (to.equals(read.from)) return { from, to: read.to, pairs: [...pairs, ...read.pairs] };
  if (from.equals(read.to)) return { from: read.from, to, pairs: [...read.pairs, ...pairs] };
  return read;
}

function sizeOf(pairs: readonly KeyValue[]): number {
  let bytes = 0;
  for (const [key, value] of pairs) bytes += key.length + value.length + PAIR_BYTES;
  return bytes;
}

/** Views into one piece of memory, instead of one for each. */
function compacted(pairs: readonly KeyValue[]): readonly KeyValue[] {
  const all = Buffer.allocUnsafeSlow(sizeOf(pairs) - PAIR_BYTES * pairs.length);
  let end = 0;
  const moved = (bytes: Buffer) => {
    const begin = end;
    end += bytes.copy(all, begin);
    return all.subarray(begin, end);
  };
  return pairs.map(([key, value]) => [moved(key), moved(value)]);
}

/** Of the first pair whose key is not below `key`. */
function placeOf(pairs: readonly KeyValue[], key: Buffer): number {
  let [low, high] = [0, pairs.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pairs[middle]![0].compare(key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const prefixOf = (key: Buffer) => key.toString('latin1', 0, ELEMENT_PREFIX_BYTES);
