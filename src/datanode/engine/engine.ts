/**
 * Ordered key-value store of one replica: LevelDB (`leveldb.ts`) or memory (`memory.ts`).
 * Keys are compared bytewise. Nobody writes into a buffer that was handed in with a write, nor into
 * one that was handed out: they may be what readers are given (`write-behind.ts`). The `name` of an
 * operation is its key as a latin1 string, for who had it and for who would make it again.
 */
export type BatchOperation =
  | { readonly type: 'put'; readonly key: Buffer; readonly value: Buffer; readonly name?: string }
  | { readonly type: 'del'; readonly key: Buffer; readonly name?: string };

/** Those of one batch, in their order: an array, or what has no need of one. */
export interface BatchOperations extends Iterable<BatchOperation> {
  /** How many there are at most. */
  readonly length: number;
  /** The same in two, if a part of them may be stored early. */
  readonly parted?: PartedOperations | undefined;
}

/** Operations that nobody can come upon before the others are carried out, and the others. */
export interface PartedOperations {
  /** Every key of `unreached` begins with one of these, and nothing is stored under them before. */
  readonly prefixes: readonly Buffer[];
  readonly unreached: Iterable<BatchOperation>;
  readonly others: BatchOperations;
}

/** A batch that has been handed to the store. */
export interface PreparedPart {
  /** There are no operations behind it. */
  readonly isLast: boolean;
  /** Atomic; called before the next is prepared, or ended. */
  write(): Promise<void>;
}

/** Keys k with gte <= k < lt. */
export interface KeyRange {
  readonly gte: Buffer;
  readonly lt: Buffer;
  readonly reverse?: boolean;
  /** At most this many pairs. */
  readonly limit?: number;
  /** Values are neither read nor copied: all that come are empty. */
  readonly keysOnly?: boolean;
}

/** The first `limit` pairs of `range`, in its direction unless another is given. */
export function limited(
  { gte, lt, reverse: direction = false }: KeyRange,
  limit: number,
  reverse: boolean = direction,
): KeyRange {
  return { gte, lt, reverse, limit };
}

export type KeyValue = readonly [key: Buffer, value: Buffer];

export interface EngineReader {
  /** Blocking point read (2 µs cached). */
  getSync(key: Buffer): Buffer | undefined;
  /** Sees the state at this call, whatever is written meanwhile. */
  iterate(range: KeyRange): EngineIterator;
}

export interface EngineIterator {
  /** The next up to `count` pairs, and about 1 MiB at most; empty at the end. */
  next(count: number): Promise<KeyValue[]>;
  close(): Promise<void>;
}

/** The state at one moment; holds resources until closed. */
export interface EngineSnapshot extends EngineReader {
  /**
   * It will be held for long: from now on it is only iterated, forwards and with values, and what it
   * costs the writes meanwhile is less (`kept-state.ts`).
   */
  keep?(): void;
  close(): Promise<void>;
}

export interface Engine extends EngineReader {
  /** Taken synchronously: a batch in flight is in it as a whole or not at all. */
  snapshot(): EngineSnapshot;
  /**
   * Atomic, however large. Not durable until the next `sync`; what a crash leaves is a prefix of the
   * batches. Batches take effect in the order of the calls; readers see what has ended.
   * Rejects with DISK_FAILED once a write or sync has failed: none is tried after that; with BUSY
   * (nothing written) beyond `limits.engineWritesWaitingMax`, with STOPPING once closing.
   */
  write(operations: BatchOperations): Promise<void>;
  /** Deletes every key in the range, in its place among the writes; not atomic. */
  clearRange(range: KeyRange): Promise<void>;
  /** What the pairs take on the disk, about; without those that were written last. */
  approximateBytes(): Promise<number>;
  /** Resolves when everything written before the call survives a power failure (decision 7). */
  sync(): Promise<void>;
  /** Ends the writes and syncs asked for before; open snapshots and iterators end too. */
  close(): Promise<void>;
}

/** What opening found in the engine's own logs (decision 7d). */
export interface EngineReport {
  /** Bytes cut from the logs' end: a torn tail after a crash, replayed from the raft log. */
  readonly cutBytes: number;
  /** `file:offset: what` for each place where damage was cut. */
  readonly cuts: readonly string[];
}

/**
 * Opens and removes the engines of a node. Directories are named `<replica id>-<generation>`.
 * `open` creates what is missing, verifies what is there before LevelDB sees it, and throws
 * KvorumError CORRUPT naming file and offset when it cannot be trusted.
 */
export interface EngineHost {
  open(name: string): Promise<{ readonly engine: Engine; readonly report: EngineReport }>;
  /** Closes the engine if it is open and removes it for good; no error when there is none. */
  remove(name: string): Promise<void>;
  list(): Promise<string[]>;
  /**
   * Reads all that an engine has stored, open or not, and throws KvorumError CORRUPT naming file
   * and offset of the first damage: LevelDB serves a flipped bit without noticing (decision 7d).
   * `pace` is awaited before each read with its size in bytes; it bounds the rate, and ends the
   * check by throwing.
   */
  verifyTables(name: string, pace: (bytes: number) => Promise<void>): Promise<void>;
}
