import { asBuffer, writeU64 } from '../../../common/bytes.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { findKey, removeKey } from '../keyspace/keyspace.ts';
import { tags } from '../records/tags.ts';
import { GLANCE, NOTHING, type Slices, STEP_ITEMS } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import { expireFields } from './hash-expiry.ts';

export { decodeExpiryKey, type ExpiryEntry } from '../records/key.ts';

export type Expiring = 'keys' | 'fields';

export interface Expired {
  readonly keys: number;
  /** Of hashes that stay. */
  readonly fields: number;
}

/** Fields deleted by one entry; what is left of a hash stays in the index for the next. */
const FIELDS_PER_ENTRY = 1_000;

const tagOf = { keys: tags.expiry, fields: tags.fieldExpiry } as const;

/** Index entries with `fromMs` <= deadline <= `toMs`, earliest first. */
export function expiryRange(expiring: Expiring, fromMs: number, toMs: number): KeyRange {
  const tag = tagOf[expiring];
  const lt =
    toMs >= Number.MAX_SAFE_INTEGER ? asBuffer(Uint8Array.of(tag + 1)) : bound(tag, toMs + 1);
  return { gte: bound(tag, fromMs), lt };
}

/**
 * Deletes those of `due` that are still due, and the due fields of those that are hashes: a key
 * that got another deadline or value since it was proposed stays, unless that too has passed.
 * Returns how many went.
 */
export function* expireKeys(
  view: WriteView,
  due: Iterable<{ readonly key: Buffer; readonly deadlineMs: number }>,
  nowMs: number,
): Slices<Expired> {
  let keys = 0;
  let fieldsLeft = FIELDS_PER_ENTRY;
  let looked = 0;
  for (const { key } of due) {
    // behind each: a value of megabytes is read before it goes
    if (looked > 0) yield looked % STEP_ITEMS === 0 ? NOTHING : GLANCE;
    looked++;
    const found = findKey(view, key, nowMs);
    if (found.stored === undefined) continue;
    if (found.live === undefined) {
      removeKey(view, found);
      keys++;
    } else if (found.live.type === 'hash' && fieldsLeft > 0) {
      fieldsLeft -= yield* expireFields(view, found, found.live, nowMs, fieldsLeft);
    }
  }
  return { keys, fields: FIELDS_PER_ENTRY - fieldsLeft };
}

function bound(tag: number, deadlineMs: number): Buffer {
  const encoded = Buffer.allocUnsafe(9);
  encoded[0] = tag;
  writeU64(encoded, deadlineMs, 1);
  return encoded;
}
