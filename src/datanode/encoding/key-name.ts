/**
 * Names for what commands can observe: that of a key's record, and that of all elements of a
 * collection. So a change to the engine can be told to those who look at a key.
 */
import { slotOfKey } from '../../common/hash.ts';
import { type CollectionPlace, elementRange, elementTags } from './element-key.ts';
import type { Version } from './header.ts';
import { tags } from './tags.ts';

export { encodeKey } from './key.ts';

const elementTagSet = new Set<number>(Object.values(elementTags).flat());
/** Slot and version of an element's key, behind the tag. */
const PLACE_END = 15;

/** The name of what the engine key belongs to; undefined for indexes, garbage and system records. */
export function observableName(encoded: Buffer): string | undefined {
  const tag = encoded[0]!;
  if (tag === tags.key) return encoded.toString('latin1');
  if (!elementTagSet.has(tag)) return undefined;
  return `elements ${encoded.toString('latin1', 1, PLACE_END)}`;
}

/** The name of the elements of `key`'s collection of that version. */
export function elementsName(key: Buffer, version: Version): string {
  const place: CollectionPlace = { slot: slotOfKey(key), version };
  return observableName(elementRange(tags.hashField, place).gte)!;
}
