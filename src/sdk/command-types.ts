/** The words of the typed commands: what they take and what they resolve with. */

/** Of one call. */
export interface CallOptions {
  /** Ends the call: rejected with `ABORTED`, or `OUTCOME_UNKNOWN` for a write already sent. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit with all retries, in milliseconds; overrides the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** How fresh a read must be; overrides the client's `consistency`. Writes ignore it. */
  readonly consistency?: Consistency | undefined;
}

/** Of one `client.watch()`. */
export interface WatchOptions extends Omit<CallOptions, 'consistency'> {
  /** How often a changed key may be met before `CONFLICT`; default: the client's `attemptsMax`. */
  readonly attemptsMax?: number | undefined;
}

/**
 * How fresh a read must be.
 * - `linearizable`: what was acknowledged before the read began is seen.
 * - `lease`: the same; the leader may answer from its lease, which it does in namespaces with
 *   `reads: lease` (for all reads there) and nowhere else.
 * - `stale`: any replica's state, no older than the datanodes' `replica-max-staleness-ms`.
 * - `{ maxStalenessMs }`: no older than so many milliseconds: a replica answers when the datanodes'
 *   own bound is within it, else the leader.
 */
export type Consistency = 'linearizable' | 'lease' | 'stale' | { readonly maxStalenessMs: number };

/** Texts are sent as UTF-8. */
export type Key = string | Buffer;
/** Texts are sent as UTF-8, numbers as their decimal text. */
export type Value = string | Buffer | number;
/** A number, or its text where a double would not do (64-bit integers, `-inf`, `(1.5`). */
export type Numeric = number | (string & {}) | Buffer;
/** A keyword, in upper or lower case. */
export type Word<T extends string> = T | Lowercase<T>;

type Loose<Hint extends string> = Hint | (string & {}) | Buffer | number;
type Listed<Hint extends string> = Loose<Hint> | readonly Loose<Hint>[];
/** What follows in any number, as the command's syntax says; lists are flattened; options last. */
export type Variadic<Hint extends string = never> =
  | readonly Listed<Hint>[]
  | readonly [...Listed<Hint>[], CallOptions];
/** Pairs one after the other, or as an object or Map; options last. */
export type Pairs = Variadic | readonly [PairRecord] | readonly [PairRecord, CallOptions];
/** Names and what belongs to each. */
export type PairRecord = Readonly<Record<string, Value>> | ReadonlyMap<Key, Value>;

/**
 * An entry of a stream, fields and values in turn; null where it is gone and its ID still pending. To XREADGROUP with
 * CLAIM it is told as well how many milliseconds ago it was last given to anybody, and how often it was.
 */
export type StreamEntry = readonly [
  id: string,
  fields: readonly string[] | null,
  idleMs?: number,
  deliveries?: number,
];
/** Entries of each stream that has any. */
export type StreamEntries = readonly (readonly [key: string, entries: readonly StreamEntry[]])[];
/** What a group was given and has not acknowledged: all of it in short, or entry by entry. */
export type StreamPending =
  | readonly [
      pending: number,
      firstId: string | null,
      lastId: string | null,
      consumers: readonly (readonly [consumer: string, pending: string])[] | null,
    ]
  | readonly (readonly [id: string, consumer: string, idleMs: number, deliveries: number])[];
/** Where to go on (`0-0`: at the end), what was claimed, and IDs of entries that are gone. */
export type StreamClaim = readonly [
  next: string,
  claimed: readonly StreamEntry[] | readonly string[],
  gone: readonly string[],
];
/** A reply of no fixed shape. */
export type Nested = string | number | null | readonly Nested[];
/** The same with bytes in place of texts. */
export type NestedBytes = Buffer | number | null | readonly NestedBytes[];

/** A reply type with bytes in place of texts. */
export type Bytes<Reply> = Reply extends string
  ? Buffer
  : Reply extends number | null
    ? Reply
    : Reply extends readonly unknown[]
      ? { readonly [Item in keyof Reply]: Bytes<Reply[Item]> }
      : Reply extends Readonly<Record<string, string>>
        ? Readonly<Record<string, Buffer>>
        : Reply;
