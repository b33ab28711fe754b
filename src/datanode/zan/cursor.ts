/**
 * Cursors of scans over a node's partitions, as ZanRedisDB writes them: base64 of
 * `partition:base64(place);…`, one for each partition that has more to give. An empty place is the
 * partition's beginning; the empty cursor begins everywhere, and ends the scan. Pure.
 */
import type { PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import { withoutEnd } from '../../common/without-end.ts';

export interface PartitionPlace {
  readonly partition: PartitionId;
  /** As the partition's own scan gave it; empty: the beginning. */
  readonly place: Buffer;
}

export function encodeCursor(places: readonly PartitionPlace[]): Buffer {
  const text = places
    .map(({ partition, place }) => `${partition}:${place.toString('base64')};`)
    .join('');
  return Buffer.from(Buffer.from(text).toString('base64'));
}

/** `partition:;` of the longest number. */
const EMPTY_PLACE_BYTES = 11;
/** What an element's place has beside its member or field, and more. */
const ELEMENT_BYTES_BESIDE = 64;

/**
 * Undefined for what is no such cursor of a namespace of so many partitions, whose members have so
 * many bytes at most: each partition has one place at most, so that nobody starts more reads by one
 * request. Not for the empty one.
 */
export function decodeCursor(
  cursor: Buffer,
  partitions: number,
  memberBytesMax: number = limits.valueBytesMax,
): PartitionPlace[] | undefined {
  if (cursor.length > cursorBytesMax(partitions, memberBytesMax)) return undefined;
  const encoded = cursor.toString('latin1');
  if (!isBase64(encoded)) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const end = withoutEnd(text, ';').length;
  const places = new Map<PartitionId, PartitionPlace>();
  for (let at = 0, to = 0; at === 0 || to < end; at = to + 1) {
    const next = text.indexOf(';', at);
    to = next < 0 ? end : Math.min(next, end);
    const place = decodePlace(text.slice(at, to));
    if (place === undefined || places.has(place.partition) || places.size === partitions) {
      return undefined;
    }
    places.set(place.partition, place);
  }
  return [...places.values()];
}

/** Of one as it is given: a full scan ends within one key at most, behind one of its elements. */
function cursorBytesMax(partitions: number, memberBytesMax: number): number {
  const element = base64Bytes(memberBytesMax + ELEMENT_BYTES_BESIDE);
  const place = base64Bytes(base64Bytes(limits.keyBytesMax) + 1 + element);
  return base64Bytes(partitions * EMPTY_PLACE_BYTES + place);
}

function decodePlace(text: string): PartitionPlace | undefined {
  const [, partition, place] = /^(\d{1,9}):([^:]*)$/.exec(text) ?? [];
  if (partition === undefined || place === undefined || !isBase64(place)) return undefined;
  return { partition: Number(partition), place: Buffer.from(place, 'base64') };
}

function base64Bytes(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
