/**
 * Cursors of scans over a node's partitions, as ZanRedisDB writes them: base64 of
 * `partition:base64(place);…`, one for each partition that has more to give. An empty place is the
 * partition's beginning; the empty cursor begins everywhere, and ends the scan. Pure.
 */
import type { PartitionId } from '../../common/ids.ts';
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

/** Undefined for what is no such cursor. Not for the empty one. */
export function decodeCursor(cursor: Buffer): PartitionPlace[] | undefined {
  const encoded = cursor.toString('latin1');
  if (!isBase64(encoded)) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const parts = withoutEnd(text, ';').split(';');
  const places: PartitionPlace[] = [];
  for (const part of parts) {
    const [, partition, place] = /^(\d{1,9}):([^:]*)$/.exec(part) ?? [];
    if (partition === undefined || place === undefined || !isBase64(place)) return undefined;
    places.push({ partition: Number(partition), place: Buffer.from(place, 'base64') });
  }
  return places;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
