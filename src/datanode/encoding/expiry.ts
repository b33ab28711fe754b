/**
 * The expiry index: finding what is due, on the leader, and deleting it, on every replica, by an
 * entry of the log (decision 14).
 */
import { asBuffer, writeU64 } from '../../common/bytes.ts';
import type { KeyRange } from '../engine/engine.ts';
import { findKey, removeKey } from './keyspace.ts';
import { tags } from './tags.ts';
import type { WriteView } from './view.ts';

export { decodeExpiryKey, type ExpiryEntry } from './key.ts';

/** Index entries with `fromMs` <= deadline <= `toMs`, earliest first. */
export function expiryRange(fromMs: number, toMs: number): KeyRange {
  const lt =
    toMs >= Number.MAX_SAFE_INTEGER ? asBuffer(Uint8Array.of(tags.expiry + 1)) : bound(toMs + 1);
  return { gte: bound(fromMs), lt };
}

/**
 * Deletes those of `due` that are still due: a key that got another deadline or value since it was
 * proposed stays, unless that too has passed. Returns how many went.
 */
export function expireKeys(
  view: WriteView,
  due: Iterable<{ readonly key: Buffer; readonly deadlineMs: number }>,
  nowMs: number,
): number {
  let removed = 0;
  for (const { key } of due) {
    const found = findKey(view, key, nowMs);
    if (found.stored === undefined || found.live !== undefined) continue;
    removeKey(view, found);
    removed++;
  }
  return removed;
}

function bound(deadlineMs: number): Buffer {
  const encoded = Buffer.allocUnsafe(9);
  encoded[0] = tags.expiry;
  writeU64(encoded, deadlineMs, 1);
  return encoded;
}
