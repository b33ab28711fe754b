/**
 * Names for what commands can observe: that of a key's record, and that of all elements of a
 * collection. So a change to the engine can be told to those who look at a key.
 */
import { slotOfKey } from '../../../common/hash.ts';
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

/** Gathers the names of collections from keys of their elements, which mostly come one after the other. */
export class ElementNames {
  readonly names = new Set<string>();
  #last: Buffer = NO_KEY;

  /** Any key of the engine. */
  add(encoded: Buffer): void {
    if (!elementTagSet.has(encoded[0]!) || isOfSamePlace(encoded, this.#last)) return;
    this.#last = encoded;
    this.names.add(observableName(encoded)!);
  }
}

const NO_KEY = Buffer.alloc(0);

/** From the end, where versions differ. */
function isOfSamePlace(one: Buffer, other: Buffer): boolean {
  for (let at = PLACE_END - 1; at > 0; at--) if (one[at] !== other[at]) return false;
  return true;
}
