/** A stream's trimming with regard to what groups have pending of what goes (redis.io, XTRIM). */
import { type KeyValue, limited } from '../../engine/engine.ts';
import { compareIds, MAX_STREAM_ID, MIN_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import { decodeIdAtEnd, encodeEntryKey } from '../records/stream-key.ts';
import type { Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import type { OpenStream } from './stream.ts';
import {
  countTrimmed,
  deleteEntry,
  findFirst,
  rangeOfEntries,
  restOf,
  type Trim,
  trimEntries,
} from './stream-entries.ts';
import { type PendingFate, References } from './stream-references.ts';

export interface FatedTrim extends Trim {
  readonly fate: PendingFate;
}

/** Entries that are looked at at most where each is asked for in all groups: what goes is in memory. */
export const LOOKED_AT_MAX = 100_000;
const SLICE = 256;

/** Removes entries from the beginning, and says how many. */
export function* trimStream(view: WriteView, stream: OpenStream, trim: FatedTrim): Slices<number> {
  if (trim.fate === 'keepref' || stream.groups === 0) return yield* trimEntries(view, stream, trim);
  const references = yield* References.of(view, stream);
  const before = stream.size;
  if (trim.fate === 'acked') yield* removeRead(view, stream, trim, references);
  else yield* removeWithReferences(view, stream, trim, references);
  if (stream.size < before) yield* findFirst(view, stream);
  return before - stream.size;
}

function* removeWithReferences(
  view: WriteView,
  stream: OpenStream,
  trim: Trim,
  references: References,
): Slices<void> {
  const count = Math.min(trim.count, LOOKED_AT_MAX);
  let left = yield* countTrimmed(stream, { ...trim, count });
  if (left === 0) return;
  yield* eachFromFirst(stream, function* (id) {
    yield* references.drop(id);
    remove(view, stream, id);
    return --left === 0;
  });
  yield* references.save();
}

/** What a group needs stays, and what is behind it goes instead. */
function* removeRead(
  view: WriteView,
  stream: OpenStream,
  trim: Trim,
  references: References,
): Slices<void> {
  const readByAll = references.readByAll();
  const isWhole = trim.multiple > 1;
  let left = isWhole ? yield* countTrimmed(stream, trim) : trim.count;
  let looks = LOOKED_AT_MAX;
  let stays = false;
  if (left === 0) return;
  yield* eachFromFirst(stream, function* (id) {
    if (trim.before !== undefined && compareIds(id, trim.before) >= 0) return true;
    if (compareIds(id, readByAll) > 0 || looks-- === 0) return true;
    if (yield* references.isNeeded(id)) {
      stays = true;
      return isWhole && --left === 0;
    }
    // what is missing between others is told of, as what XDEL deletes
    if (stays) deleteEntry(view, stream, id);
    else remove(view, stream, id);
    return --left === 0;
  });
}

function remove(view: WriteView, stream: OpenStream, id: StreamId): void {
  view.del(encodeEntryKey(stream.place, id));
  stream.size--;
}

/** From the first entry on, until one says that it is the last. */
function* eachFromFirst(stream: OpenStream, take: (id: StreamId) => Slices<boolean>): Slices<void> {
  let rest = rangeOfEntries(stream, MIN_STREAM_ID, MAX_STREAM_ID);
  while (rest !== undefined) {
    const pairs: readonly KeyValue[] = yield limited(rest, SLICE);
    if (pairs.length === 0) return;
    for (const [key] of pairs) if (yield* take(decodeIdAtEnd(key))) return;
    rest = restOf(rest, pairs);
  }
}
