/**
 * What was read lately of collections, ready to be read again: runs of neighbouring elements as the
 * engine holds them now. To read a hundred elements from LevelDB takes some 4 µs each, most of it to
 * make a Buffer of every key and value; here they are made already.
 *
 * Whoever writes tells which keys are about to change and which have changed; what was known of
 * their collections is forgotten, and what somebody has begun to read of them is not kept.
 */
import { must } from '../../../common/assert.ts';
import { limits } from '../../../common/limits.ts';
import { ELEMENT_PREFIX_BYTES, isElementKey } from '../../encoding/records/element-key.ts';
import { keyAfter } from '../../encoding/records/key.ts';
import { handedMax, type Slice } from '../../encoding/txn/read-ahead.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';

/** All pairs from `from` up to, not with, `to`, in ascending order. */
interface Run {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly pairs: readonly KeyValue[];
  /** What it takes. */
  readonly bytes: number;
}

/** Of a pair, beside its bytes: two Buffers and what holds them. */
const PAIR_BYTES = 250;
/** Of a run, beside its pairs: its memory, its bounds, its places in maps. */
const RUN_BYTES = 1_024;
/** Collections that changed while somebody reads; beyond that all count as changed. */
const CHANGES_MAX = 4_096;

/** What the engines of a node keep, together: who keeps most gives up what it read longest ago. */
export class HotPool {
  readonly #bytesMax: number;
  readonly #owners = new Map<HotRanges, number>();
  #bytes = 0;

  constructor(bytesMax: number = limits.hotRangesBytes) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `owner` keeps so much more, or less. */
  add(owner: HotRanges, bytes: number): void {
    const kept = (this.#owners.get(owner) ?? 0) + bytes;
    if (kept === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, kept);
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) this.#largest().forgetOldest();
  }

  #largest(): HotRanges {
    let [largest, most] = [undefined as HotRanges | undefined, 0];
    for (const [owner, bytes] of this.#owners) {
      if (bytes > most) [largest, most] = [owner, bytes];
    }
    return must(largest, 'somebody keeps what is kept');
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
  /** By the prefix of their keys; the one read last is the last one. */
  #runs = new Map<string, Run>();
  #bytes = 0;
  /** Moments are counted by the changes. */
  #moment = 0;
  #fills = 0;
  /** When collections changed last, while there are fills. */
  #changedAt = new Map<string, number>();
  #allChangedAt = 0;

  constructor(pool: HotPool) {
    this.#pool = pool;
  }

  /** Nothing is known, and nobody is about to keep anything: changes need not be told. */
  get isIdle(): boolean {
    return this.#runs.size === 0 && this.#fills === 0;
  }

  /**
   * The first pairs of `range` as they are now, none when it is empty; undefined: not known. They
   * are everybody's: nobody may write into them.
   */
  known(range: KeyRange): readonly KeyValue[] | undefined {
    const { gte, lt, reverse = false } = range;
    if (gte.compare(lt) >= 0) return [];
    const prefix = prefixOf(gte);
    const run = this.#runs.get(prefix);
    if (run === undefined) return undefined;
    const inFrom = gte.compare(run.from) >= 0;
    const inTo = lt.compare(run.to) <= 0;
    if (!(reverse ? inTo : inFrom)) return undefined;
    const [first, end] = [placeOf(run.pairs, gte), placeOf(run.pairs, lt)];
    const count = Math.min(end - first, handedMax(range));
    // fewer than asked for are all only when the other end is known, too
    if (count < handedMax(range) && !(inFrom && inTo)) return undefined;
    this.#runs.delete(prefix);
    this.#runs.set(prefix, run);
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
    this.#forget(prefix);
    if (this.#fills === 0) return;
    if (this.#changedAt.size >= CHANGES_MAX) this.clear();
    else this.#changedAt.set(prefix, ++this.#moment);
  }

  /** Anything may have changed. Takes no time, however much was known. */
  clear(): void {
    this.#runs = new Map();
    this.#changedAt = new Map();
    this.#allChangedAt = ++this.#moment;
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#pool.add(this, -bytes);
  }

  /** Of what is known, the run that was longest not read. */
  forgetOldest(): void {
    const [oldest] = this.#runs.keys();
    this.#forget(must(oldest, 'something is known'));
  }

  #forget(prefix: string): void {
    const run = this.#runs.get(prefix);
    if (run === undefined) return;
    this.#runs.delete(prefix);
    this.#bytes -= run.bytes;
    this.#pool.add(this, -run.bytes);
  }

  #keep(range: KeyRange, slice: Slice, openedAt: number): void {
    const read = spanOf(range, slice);
    if (read === undefined || read.pairs.length > limits.hotRangePairs) return;
    const prefix = prefixOf(read.from);
    const changedAt = Math.max(this.#allChangedAt, this.#changedAt.get(prefix) ?? 0);
    if (changedAt > openedAt || !isWithin(read)) return;
    const span = joined(this.#runs.get(prefix), read);
    if (span === undefined) return;
    const bytes = sizeOf(span);
    if (bytes > limits.hotRangeBytes) return;
    this.#forget(prefix);
    this.#runs.set(prefix, { ...compacted(span), bytes });
    this.#bytes += bytes;
    this.#pool.add(this, bytes);
  }
}

type Span = Pick<Run, 'from' | 'to' | 'pairs'>;

/** What a slice tells of its range; undefined for nothing that is kept. */
function spanOf({ gte, lt, reverse }: KeyRange, { pairs, ended }: Slice): Span | undefined {
  if (!isElementKey(gte)) return undefined;
  const last = pairs.at(-1)?.[0];
  if (last === undefined) return ended ? { from: gte, to: lt, pairs } : undefined;
  if (!reverse) return { from: gte, to: ended ? lt : keyAfter(last), pairs };
  return { from: ended ? gte : last, to: lt, pairs: [...pairs].reverse() };
}

/** Whether all keys of the span, stored or not, are of its collection. */
function isWithin({ from, to }: Span): boolean {
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

/**
 * What is known once `read` is known, too; undefined: no more than before. Of a walk through a large
 * collection its first slices are kept, and the others leave them alone.
 */
function joined(known: Run | undefined, read: Span): Span | undefined {
  if (known === undefined) return read.pairs.length === 0 ? undefined : read;
  const { from, to, pairs } = known;
  const before = from.compare(read.from) < 0;
  const behind = to.compare(read.to) > 0;
  if (before && behind) return undefined;
  if (from.compare(read.to) > 0 || to.compare(read.from) < 0) return undefined;
  const left = before ? pairs.slice(0, placeOf(pairs, read.from)) : [];
  const right = behind ? pairs.slice(placeOf(pairs, read.to)) : [];
  const all = [...left, ...read.pairs, ...right];
  if (all.length > limits.hotRangePairs) return undefined;
  return { from: before ? from : read.from, to: behind ? to : read.to, pairs: all };
}

function sizeOf({ from, to, pairs }: Span): number {
  let bytes = RUN_BYTES + from.length + to.length;
  for (const [key, value] of pairs) bytes += key.length + value.length + PAIR_BYTES;
  return bytes;
}

/** Views into one piece of memory, instead of one for each. */
function compacted(span: Span): Span {
  const { pairs } = span;
  const all = Buffer.allocUnsafeSlow(sizeOf(span) - RUN_BYTES - PAIR_BYTES * pairs.length);
  let end = 0;
  const moved = (bytes: Buffer) => {
    const begin = end;
    end += bytes.copy(all, begin);
    return all.subarray(begin, end);
  };
  const [from, to] = [moved(span.from), moved(span.to)];
  return { from, to, pairs: pairs.map(([key, value]) => [moved(key), moved(value)]) };
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
