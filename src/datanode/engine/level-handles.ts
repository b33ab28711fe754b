/** What is used of classic-level to read, and ranges in its words. */
import type { KeyRange } from './engine.ts';

/** A snapshot of LevelDB; iterators that were made with it count as its users until they are closed. */
export interface LevelHandle {
  close(): Promise<void>;
}

export interface LevelIterating {
  seek(key: Buffer): void;
  nextv(count: number): Promise<[Buffer, Buffer][]>;
  close(): Promise<void>;
}

export interface IteratingOptions {
  readonly gte?: Buffer;
  readonly lt?: Buffer;
  readonly reverse: boolean;
  readonly limit?: number;
  readonly values?: boolean;
  readonly snapshot: LevelHandle;
}

/** A LevelDB. */
export interface LevelReading {
  getSync(key: Buffer, snapshot?: LevelHandle): Buffer | undefined;
  iterate(options: IteratingOptions): LevelIterating;
  snapshot(): LevelHandle;
}

export const NO_VALUE = Buffer.alloc(0);

/** classic-level takes a limit for 32 bits with a sign: what lies beyond would wrap around, 2³² to 0. */
const LIMIT_MAX = 2 ** 31 - 1;
/** No limit. */
const ALL = -1;

/** Of an iterator, or of a clearing. */
export function rangeOptions(range: KeyRange): {
  gte: Buffer;
  lt: Buffer;
  reverse: boolean;
  limit: number;
} {
  const { gte, lt, reverse = false, limit = ALL } = range;
  return { gte, lt, reverse, limit: limit > LIMIT_MAX ? ALL : limit };
}

/** The first key behind `key` that there can be. */
export function keyBehind(key: Buffer): Buffer {
  const next = Buffer.allocUnsafe(key.length + 1);
  next.set(key);
  next[key.length] = 0;
  return next;
}

type Closing = { _close?: () => Promise<void> };

/** Has it given back once, whoever asks: its user at once, or LevelDB's end. Twice would spoil memory. */
export function givenBackOnce<Handle extends LevelHandle>(handle: Handle): Handle {
  let close = (handle as Closing)._close;
  const once = async () => {
    const giving = close;
    close = undefined;
    await giving?.call(handle);
  };
  return Object.assign(handle, { _close: once });
}

/**
 * Gives the snapshot back to LevelDB at once, whoever was made with it; `close` does so when all of these
 * are closed. It must not be read by any more.
 */
export function giveBack(handle: LevelHandle): void {
  void (handle as Closing)._close?.();
}
