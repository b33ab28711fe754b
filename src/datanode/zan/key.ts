/**
 * Keys as ZanRedisDB's clients write them: `namespace:table:key`. The first colon ends the namespace;
 * the rest is what is stored, and what says the partition. A table is never left out. Pure.
 */
import type { Namespace } from '../../common/ids.ts';
import { INVALID_KEY, INVALID_TABLE } from './refusals.ts';

const COLON = 0x3a;

export interface ZanKey {
  readonly namespace: Namespace;
  /** `table:key`. */
  readonly key: Buffer;
}

/** A text says what is wrong. */
export function splitKey(raw: Buffer): ZanKey | string {
  const end = raw.indexOf(COLON);
  if (end <= 0) return INVALID_KEY;
  const key = raw.subarray(end + 1);
  const table = key.indexOf(COLON);
  if (table <= 0) return INVALID_TABLE;
  if (table === key.length - 1) return INVALID_KEY;
  return { namespace: raw.toString('latin1', 0, end), key };
}

export interface ZanTable {
  readonly namespace: Namespace;
  readonly table: Buffer;
  /** What follows, which may be nothing. */
  readonly cursor: Buffer;
}

/** `namespace:table:cursor`, which scans have in the place of a key. */
export function splitTable(raw: Buffer): ZanTable | string {
  const end = raw.indexOf(COLON);
  if (end <= 0) return INVALID_KEY;
  const rest = raw.subarray(end + 1);
  const table = rest.indexOf(COLON);
  if (table <= 0) return INVALID_TABLE;
  return {
    namespace: raw.toString('latin1', 0, end),
    table: rest.subarray(0, table),
    cursor: rest.subarray(table + 1),
  };
}
