/**
 * How far consumer groups are (redis.io, XINFO GROUPS, "Consumer group lag"): how many entries were added to
 * a stream up to an ID, which removals in its midst make unknown.
 */
import { compareIds, MIN_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import type { Stream } from './stream.ts';
import { oneMore } from './stream-count.ts';
import type { GroupState } from './stream-group.ts';

/** Whether an entry at or behind `from`, and behind the first there is, may have been removed by XDEL. */
export function hasGapsFrom(stream: Stream, from: StreamId): boolean {
  const { size, firstId, maxDeletedId } = stream;
  if (size === 0 || compareIds(maxDeletedId, MIN_STREAM_ID) === 0) return false;
  if (compareIds(firstId, maxDeletedId) > 0) return false;
  return compareIds(from, maxDeletedId) <= 0;
}

/** How many entries were added up to `id`; undefined: not known. */
export function addedUpTo(stream: Stream, id: StreamId): number | undefined {
  const { entriesAdded, size, firstId, lastId, maxDeletedId } = stream;
  if (entriesAdded === 0) return 0;
  const toLast = compareIds(id, lastId);
  if (size === 0 && toLast <= 0) return entriesAdded;
  if (toLast === 0) return entriesAdded;
  if (toLast > 0) return undefined;
  const isWhole =
    compareIds(maxDeletedId, MIN_STREAM_ID) === 0 || compareIds(maxDeletedId, firstId) < 0;
  if (!isWhole) return undefined;
  const toFirst = compareIds(id, firstId);
  if (toFirst > 0) return undefined;
  return entriesAdded - size + (toFirst === 0 ? 1 : 0);
}

/** How many entries the group has read once it has read `id` as well; undefined: not known. */
export function readWith(
  stream: Stream,
  { entriesRead }: GroupState,
  id: StreamId,
): number | undefined {
  if (entriesRead !== undefined && !hasGapsFrom(stream, id)) return oneMore(entriesRead);
  return stream.entriesAdded === 0 ? entriesRead : addedUpTo(stream, id);
}

/**
 * How many entries the group has still to read; undefined: not known. There is none behind the last; and where
 * nothing that is left was read, and none of it removed by XDEL, these are all there are. So Redis counts from
 * 7.4 on: before, it told of those too that were trimmed unread.
 */
export function lagOf(stream: Stream, group: GroupState): number | undefined {
  const { size, firstId, lastId, maxDeletedId } = stream;
  if (size === 0 || compareIds(group.lastId, lastId) >= 0) return 0;
  if (compareIds(group.lastId, firstId) < 0 && compareIds(maxDeletedId, firstId) < 0) return size;
  const isKnown = group.entriesRead !== undefined && !hasGapsFrom(stream, group.lastId);
  const read = isKnown ? group.entriesRead : addedUpTo(stream, group.lastId);
  return read === undefined ? undefined : stream.entriesAdded - read;
}
