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

/**
 * Copies the entries from the stream's first on, and all groups; then it is at `to`. What `isLeft` says of a
 * key of a group, its consumers or what is pending is not copied.
 */
export function* copyStream(
  view: WriteView,
  stream: OpenStream,
  to: CollectionPlace,
  isLeft: (key: Buffer) => boolean = () => false,
): Slices<void> {
  const { place, size, firstId } = stream;
  const copy = (range: KeyRange) =>
    eachPair(range, ([key, value]) => {
      if (!isLeft(key)) view.put(movedElementKey(key, to), keptValue(value));
    });
  if (size > 0) yield* copy(entryRange(place, firstId, MAX_STREAM_ID));
  yield* copy(elementRange(tags.streamGroup, place));
  yield* copy(elementRange(tags.streamPending, place));
  stream.place = to;
}
