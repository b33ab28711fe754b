/**
 * What a command sees of its partition's data. Keys are whole engine keys (tag, slot, …, made by
 * `records/key.ts`); values come without the record CRC, which is checked on every read (decision 7d): a
 * mismatch throws KvorumError CORRUPT naming the key, and the partition stops serving.
 */

import type { RankTrees } from '../ranks/rank-trees.ts';
import type { PlainString, Version } from '../records/header.ts';

export interface View {
  get(key: Buffer): Buffer | undefined;
  /**
   * The same for whoever does not ask what a string, or the field of a hash, holds: where it is known
   * that one without a deadline is stored under `key`, it need not be read.
   */
  outline?(key: Buffer): Buffer | PlainString | undefined;
  /** Where lookups of keys are counted, on views that reads run on. */
  readonly lookups?: Lookups | undefined;
  /** Trees that are newer than their records, on views that commands change. */
  readonly ranks?: RankTrees | undefined;
}

/** How many keys were looked up and were there, or were not. */
export interface Lookups {
  hits: number;
  misses: number;
}

/** A view that also gathers changes; its reads see them. Implemented in `txn.ts`. */
export interface WriteView extends View {
  /** Bytes of all values put so far, those put over others included; and by the entry that is applied. */
  readonly putBytes?: number;
  readonly entryPutBytes?: number;
  put(key: Buffer, value: Buffer): void;
  del(key: Buffer): void;
  /** So many keys more (or fewer), and so many more of them with a deadline: see `readCounts`. */
  addCounts(keys: number, expires: number): void;
  /** The version of a collection created now: index of the entry, and an ordinal within it. */
  newVersion(): Version;
  /**
   * Tells of an event of a key, published once it is in the engine (notify-keyspace-events).
   * Commands call it as Redis does, in its order, behind the change; nothing is kept where nobody
   * asked. `new` and `expired` come from the key's record by themselves.
   */
  notify?(of: KeyEventClass, event: string, key: Buffer): void;
}

/** What an event is of. */
export type KeyEventClass =
  | 'generic'
  | 'string'
  | 'list'
  | 'set'
  | 'hash'
  | 'zset'
  | 'expired'
  | 'evicted'
  | 'stream'
  | 'module'
  | 'new'
  | 'miss';

export interface KeyEvent {
  readonly of: KeyEventClass;
  /** Redis's word: `set`, `del`, `rename_from`. */
  readonly event: string;
  readonly key: Buffer;
}
