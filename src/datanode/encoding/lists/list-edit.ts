/**
 * Changes in the middle of lists. Where few elements lie between the change and an end, those are
 * moved by one and the list stays dense; else it becomes sparse. A sparse list becomes dense again
 * when what is left of it is little and copied, when insertions at one spot have made fractions
 * long, or when it is gone.
 */
import { must } from '../../../common/assert.ts';
import { newCollection } from '../collections/collection.ts';
import { removeKey } from '../keyspace/keyspace.ts';
import { decodeListPlace, encodeListKey, placeBetween } from '../records/element-key.ts';
import type { Slices } from '../steps/slices.ts';
import type { WriteView } from '../txn/view.ts';
import {
  denseKey,
  growEncoding,
  type ListEnd,
  NO_FRACTION,
  newShape,
  type OpenList,
  pushElement,
  putElement,
  saveList,
  shrinkEncoding,
} from './list.ts';
import { dropElements, nearest, walkList } from './list-walk.ts';
import { listpackEntryBytes } from './listpack-size.ts';

/** Elements moved so that a list stays dense. */
const MOVES_MAX = 64;
/** Removed elements whose gaps may be closed. */
const CLOSED_GAPS_MAX = 512;
/** A trim that removes no more than this leaves the rest where it is. */
const TRIM_IN_PLACE_MAX = 32;
/** Insertions at one spot lengthen a fraction by a byte for every eight of them. */
const FRACTION_BYTES_MAX = 64;

/**
 * Inserts beside the first element equal to `pivot` and saves; results in the new size, or in −1
 * when there is no such element.
 */
export function* insertBeside(
  view: WriteView,
  list: OpenList,
  { side, pivot }: { readonly side: 'before' | 'after'; readonly pivot: Buffer },
  element: Buffer,
): Slices<number> {
  let index = -1;
  let left: Buffer | undefined;
  let right: Buffer | undefined;
  const whole = { from: 'left', skip: 0, count: list.size } as const;
  yield* walkList(view, list, whole, (each, at, eachIndex) => {
    if (index >= 0) {
      right = at;
      return false;
    }
    if (!each.equals(pivot)) {
      left = at;
      return true;
    }
    index = side === 'before' ? eachIndex : eachIndex + 1;
    if (side === 'before') right = at;
    else left = at;
    return side === 'after';
  });
  if (index < 0) return -1;
  growEncoding(list, [element]);
  let changed = list;
  if (left === undefined) pushElement(view, list, 'left', element);
  else if (right === undefined) pushElement(view, list, 'right', element);
  else changed = yield* insertBetween(view, list, index, { left, right, element });
  saveList(view, changed);
  return changed.size;
}

interface Insertion {
  /** The engine keys of the neighbours. */
  readonly left: Buffer;
  readonly right: Buffer;
  readonly element: Buffer;
}

/** The list to save: another one when the elements were laid out anew. */
function* insertBetween(
  view: WriteView,
  list: OpenList,
  index: number,
  { left, right, element }: Insertion,
): Slices<OpenList> {
  const { shape } = list;
  list.size++;
  shape.listpackBytes += listpackEntryBytes(element);
  if (!shape.sparse && Math.min(index, list.size - 1 - index) <= MOVES_MAX) {
    makeRoom(view, list, index);
    putElement(view, denseKey(list, index), element);
    return list;
  }
  const place = placeBetween(decodeListPlace(left), decodeListPlace(right));
  shape.sparse = true;
  putElement(view, encodeListKey(list.place, place), element);
  if (place.fraction.length <= FRACTION_BYTES_MAX) return list;
  return yield* copyPart(view, list, 0, list.size);
}

/** Moves what is before `index`, or what is from there on, by one; the size counts the new one. */
function makeRoom(view: WriteView, list: OpenList, index: number): void {
  const { shape } = list;
  const behind = list.size - 1 - index;
  if (index <= behind) {
    const first = shape.head--;
    for (let at = 0; at < index; at++) moveElement(view, list, first + at, first + at - 1);
  } else {
    const last = shape.tail++;
    for (let at = 0; at < behind; at++) moveElement(view, list, last - at, last - at + 1);
  }
}

function moveElement(view: WriteView, list: OpenList, from: number, to: number): void {
  const at = wholeKey(list, from);
  view.put(wholeKey(list, to), must(view.get(at), 'a dense list has no gaps'));
}

function wholeKey({ place }: OpenList, whole: number): Buffer {
  return encodeListKey(place, { whole, fraction: NO_FRACTION });
}

/**
 * Removes the first `count` elements that equal `element`, seen from an end, and saves; results in
 * their number.
 */
export function* removeEqual(
  view: WriteView,
  list: OpenList,
  { from, count }: { readonly from: ListEnd; readonly count: number },
  element: Buffer,
): Slices<number> {
  const waiting: Buffer[] = [];
  let removed = 0;
  const remove = (at: Buffer) => view.del(at);
  yield* walkList(view, list, { from, skip: 0, count: list.size }, (each, at) => {
    if (!each.equals(element)) return true;
    removed++;
    // beyond what is worth closing they go as they come
    if (removed > CLOSED_GAPS_MAX) waiting.splice(0).forEach(remove);
    waiting.push(at);
    return removed < count;
  });
  if (removed === 0) return 0;
  if (removed === list.size) {
    removeKey(view, list.found);
    return removed;
  }
  if (from === 'right') waiting.reverse();
  const closed = removed === waiting.length && !list.shape.sparse && closeGaps(view, list, waiting);
  if (!closed) {
    waiting.forEach(remove);
    list.shape.sparse = true;
  }
  list.size -= removed;
  list.shape.listpackBytes -= removed * listpackEntryBytes(element);
  const few = list.shape.sparse && list.size <= MOVES_MAX;
  const rest = few ? yield* copyPart(view, list, 0, list.size) : list;
  shrinkEncoding(rest);
  saveList(view, rest);
  return removed;
}

/** Moves what lies between the removed ones and an end; false when that is much at both. */
function closeGaps(view: WriteView, list: OpenList, removed: readonly Buffer[]): boolean {
  const { shape } = list;
  const wholes = removed.map((at) => decodeListPlace(at).whole);
  const [first, last] = [wholes[0]!, wholes.at(-1)!];
  const before = last - shape.head + 1 - wholes.length;
  const behind = shape.tail - first + 1 - wholes.length;
  if (Math.min(before, behind) > MOVES_MAX) return false;
  const gone = new Set(wholes);
  const [step, start, end] = before <= behind ? [-1, last, shape.head] : [1, first, shape.tail];
  let to = start;
  for (let from = start; from !== end + step; from += step) {
    if (gone.has(from)) continue;
    moveElement(view, list, from, to);
    to += step;
  }
  for (let at = to; at !== end + step; at += step) view.del(wholeKey(list, at));
  if (step < 0) shape.head = to + 1;
  else shape.tail = to - 1;
  return true;
}

/** Keeps elements `first` to `last` (both there) and saves; costs the smaller part. */
export function* trimList(
  view: WriteView,
  list: OpenList,
  first: number,
  last: number,
): Slices<void> {
  const behind = list.size - 1 - last;
  const kept = last - first + 1;
  const removed = first + behind;
  // written all the same: whoever watches the key is told, as by Redis
  if (removed === 0) return saveList(view, list);
  let trimmed = list;
  if (removed > TRIM_IN_PLACE_MAX && kept < removed) {
    trimmed = yield* copyPart(view, list, first, kept);
  } else {
    yield* dropElements(view, list, 'left', first, () => {});
    yield* dropElements(view, list, 'right', behind, () => {});
  }
  shrinkEncoding(trimmed);
  saveList(view, trimmed);
}

/** A dense list of its own, to be saved under the same key: what it leaves becomes garbage. */
export function* copyPart(
  view: WriteView,
  list: OpenList,
  first: number,
  count: number,
): Slices<OpenList> {
  const { deadlineMs } = list;
  const shape = { ...newShape(), quicklist: list.shape.quicklist };
  const copy = { ...newCollection(view, list.found, 'list'), deadlineMs, shape };
  const walk = nearest(list, first, count);
  const end = walk.from === 'left' ? 'right' : 'left';
  yield* walkList(view, list, walk, (element) => {
    pushElement(view, copy, end, element);
    return true;
  });
  return copy;
}
