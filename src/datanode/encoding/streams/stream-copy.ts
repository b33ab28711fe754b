/**
 * A stream put down anew, without what was removed from it: where much goes and little stays, that costs
 * less memory than as many removals (the old elements are garbage, which each replica removes slowly).
 */
import type { KeyRange } from '../../engine/engine.ts';
import { keptValue } from '../collections/kept-value.ts';
import { eachPair } from '../collections/member-walk.ts';
import { type CollectionPlace, elementRange, movedElementKey } from '../records/element-key.ts';
import { MAX_STREAM_ID } from '../records/stream-id.ts';
import { entryRange } from '../records/stream-key.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import type { OpenStream } from './stream.ts';

/** Copies the entries from the stream's first on, and all groups; then it is at `to`. */
export function* copyStream(
  view: WriteView,
  stream: OpenStream,
  to: CollectionPlace,
): Slices<void> {
  const { place, size, firstId } = stream;
  if (size > 0) yield* copyRange(view, entryRange(place, firstId, MAX_STREAM_ID), to);
  yield* copyRange(view, elementRange(tags.streamGroup, place), to);
  yield* copyRange(view, elementRange(tags.streamPending, place), to);
  stream.place = to;
}

export function* copyRange(view: WriteView, range: KeyRange, to: CollectionPlace): Slices<void> {
  yield* eachPair(range, ([key, value]) => {
    view.put(movedElementKey(key, to), keptValue(value));
  });
}
