/**
 * Counts durations in buckets that grow with them: 32 to each power of two, so a percentile is off
 * by at most 1/32. Recording costs some nanoseconds and no memory; the bounds of the coarse buckets
 * that monitoring reads are among the fine ones, so nothing is interpolated.
 */
const SUB_BITS = 5;
const SUB_BUCKETS = 2 ** SUB_BITS;
/** Longest duration told from longer ones: 2^31 µs, about 36 minutes. */
const MICROSECONDS_MAX = 2 ** 31 - 1;
const BUCKETS = (31 - SUB_BITS + 1) * SUB_BUCKETS;

/** Bounds of the coarse buckets: powers of two from 16 µs to 16.8 s. */
const FIRST_BOUND_LOG2 = 4;
const LAST_BOUND_LOG2 = 24;

export interface CoarseBucket {
  /** Durations below this; microseconds, a power of two. */
  readonly belowMicroseconds: number;
  /** How many were that short: this bucket and all before it. */
  readonly count: number;
}

export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #sum = 0;

  get count(): number {
    return this.#count;
  }

  get sumMicroseconds(): number {
    return this.#sum;
  }

  /** A fraction of a microsecond counts for the sum only; what is negative counts as 0. */
  record(microseconds: number): void {
    const whole = microseconds > 0 ? Math.min(microseconds, MICROSECONDS_MAX) | 0 : 0;
    this.#counts[bucketOf(whole)]!++;
    this.#count++;
    if (microseconds > 0) this.#sum += microseconds;
  }

  /** As `record`, for what was measured on a Clock. */
  recordMs(milliseconds: number): void {
    this.record(milliseconds * 1_000);
  }

  /** The duration that `percent` (0 to 100) of all do not exceed, rounded up to its bucket; µs. */
  percentile(percent: number): number {
    if (this.#count === 0) return 0;
    const wanted = Math.max(1, Math.ceil((percent / 100) * this.#count));
    let seen = 0;
    for (let at = 0; at < BUCKETS; at++) {
      seen += this.#counts[at]!;
      if (seen >= wanted) return lastOf(at);
    }
    return MICROSECONDS_MAX;
  }

  /** Cumulative counts at every coarse bound; what is longer than the last is in `count` alone. */
  coarse(firstLog2 = FIRST_BOUND_LOG2, lastLog2 = LAST_BOUND_LOG2): CoarseBucket[] {
    const buckets: CoarseBucket[] = [];
    let seen = 0;
    let at = 0;
    for (let log2 = firstLog2; log2 <= lastLog2; log2++) {
      const belowMicroseconds = 2 ** log2;
      const end = bucketOf(belowMicroseconds);
      for (; at < end; at++) seen += this.#counts[at]!;
      buckets.push({ belowMicroseconds, count: seen });
    }
    return buckets;
  }

  /** Takes over what another counted. */
  add(other: LatencyHistogram): void {
    for (let at = 0; at < BUCKETS; at++) this.#counts[at]! += other.#counts[at]!;
    this.#count += other.#count;
    this.#sum += other.#sum;
  }
}

/** Below 32 µs a bucket is one microsecond wide; every doubling has 32 buckets. */
function bucketOf(whole: number): number {
  if (whole < SUB_BUCKETS) return whole;
  const shift = 31 - Math.clz32(whole) - SUB_BITS;
  return (shift << SUB_BITS) + (whole >>> shift);
}

/** The largest whole microsecond of a bucket. */
function lastOf(bucket: number): number {
  if (bucket < SUB_BUCKETS) return bucket;
  const shift = (bucket >>> SUB_BITS) - 1;
  return (bucket - (shift << SUB_BITS) + 1) * 2 ** shift - 1;
}
