/** What stands for a key in a Map. */
import { createHash } from 'node:crypto';
import type { LuaValue } from './value.ts';

/** V8 hashes a string of more than 16,383 characters by its length alone. */
const HASHED_MAX = 8_191;
/** No string of Lua has this character. */
const LONG = '\u0100';

/**
 * Long strings by their digest: all that are equally long would be looked through one by one, byte by
 * byte. Two that differ have never been found to have the same one.
 */
export function mapKey(key: LuaValue): LuaValue {
  if (typeof key !== 'string' || key.length <= HASHED_MAX) return key;
  return LONG + createHash('sha256').update(key, 'latin1').digest('base64');
}
