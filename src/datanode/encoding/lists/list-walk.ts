/** Lists read and shortened element after element: in slices, from either end. */
import { must } from '../../../common/assert.ts';
import { type KeyRange, limited } from '../../engine/engine.ts';
import { decodeListPlace, encodeListKey } from '../records/element-key.ts';
import { keyAfter } from '../records/key.ts';
import { corruptRecord } from '../records/record.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import {
  decodeElement,
  denseElement,
  denseKey,
  type List,
  type ListEnd,
  NO_FRACTION,
  type OpenList,
} from './list.ts';
import { listpackEntryBytes } from './listpack-size.ts';

/** Up to this many elements of a dense list are read one by one: it spares a pass of the loop. */
const POINT_READS_MAX = 32;

export interface Walk {
  readonly from: ListEnd;
  /** Elements passed over at first: free in a dense list. */
  readonly skip: number;
  readonly count: number;
}

/** `at`: the engine key; `index`: from the left. False ends the walk. */
export type Visit = (element: Buffer, at: Buffer, index: number) => boolean;

export function* walkList(
  view: View,
  list: List,
  { from, skip, count }: Walk,
  visit: Visit,
): Slices<void> {
  const { size } = list;
  const reverse = from === 'right';
  const end = Math.min(skip + count, size);
  if (!list.shape.sparse && end - skip <= POINT_READS_MAX) {
    return visitPoints(view, list, reverse, skip, end, visit);
  }
  let met = list.shape.sparse ? 0 : skip;
  let range = rangeAfter(list, from, met);
  while (met < end) {
    const pairs = yield limited(range, end - met, reverse);
    if (pairs.length === 0) {
      throw corruptRecord(list.found.place, `it has ${met} elements, ${size} by its header`);
    }
    for (const [at, value] of pairs) {
      if (isGlanceDue(met)) yield GLANCE;
      const index = reverse ? size - 1 - met : met;
      if (met++ >= skip && !visit(decodeElement(at, value), at, index)) return;
    }
    const last = pairs.at(-1)![0];
    range = reverse ? { ...range, lt: last } : { ...range, gte: keyAfter(last) };
  }
}

function visitPoints(
  view: View,
  list: List,
  reverse: boolean,
  skip: number,
  end: number,
  visit: Visit,
): void {
  const { size } = list;
  for (let met = skip; met < end; met++) {
    const index = reverse ? size - 1 - met : met;
    if (!visit(denseElement(view, list, index), denseKey(list, index), index)) return;
  }
}

/** All of the list but `skip` elements at an end; `skip` is 0 unless the list is dense. */
function rangeAfter(list: List, from: ListEnd, skip: number): KeyRange {
  const { head, tail } = list.shape;
  const [first, last] = from === 'left' ? [head + skip, tail] : [head, tail - skip];
  const bound = (whole: number) => encodeListKey(list.place, { whole, fraction: NO_FRACTION });
  return { gte: bound(first), lt: bound(last + 1) };
}

/** Elements `first` to `last` (both there), in order, each made into what is wanted of it. */
export function* elementsBetween<T>(
  view: View,
  list: List,
  [first, last]: readonly [number, number],
  make: (element: Buffer) => T,
): Slices<T[]> {
  const elements: T[] = [];
  const walk = nearest(list, first, last - first + 1);
  yield* walkList(view, list, walk, (element) => {
    elements.push(make(element));
    return true;
  });
  return walk.from === 'left' ? elements : elements.reverse();
}

/** The engine key of element `index`, which is there. */
export function* keyOfIndex(view: View, list: List, index: number): Slices<Buffer> {
  let found: Buffer | undefined;
  yield* walkList(view, list, nearest(list, index, 1), (_element, at) => {
    found = at;
    return false;
  });
  return must(found, 'the walk ends at the element');
}

/** To `count` elements from `first` on, from the end that is nearer. */
export function nearest({ size }: List, first: number, count: number): Walk {
  const behind = size - first - count;
  return first <= behind
    ? { from: 'left', skip: first, count }
    : { from: 'right', skip: behind, count };
}

/**
 * Removes `count` elements (all there) at an end, in the order they come off, and saves nothing.
 */
export function* dropElements(
  view: WriteView,
  list: OpenList,
  end: ListEnd,
  count: number,
  visit: (element: Buffer) => void,
): Slices<void> {
  const { shape } = list;
  const head = shape.sparse && count === 1 && end === 'left' ? dropHead(view, list) : undefined;
  if (head !== undefined) return visit(head);
  let last: Buffer | undefined;
  const walk = { from: end, skip: 0, count };
  // the walk goes by the size it began with
  yield* walkList(view, { ...list }, walk, (element, at) => {
    view.del(at);
    visit(element);
    forget(list, element);
    last = at;
    return true;
  });
  if (last === undefined) return;
  const { whole } = decodeListPlace(last);
  // with fractions there may be more at the same whole number
  const passed = shape.sparse ? 0 : 1;
  if (end === 'left') shape.head = whole + passed;
  else shape.tail = whole - passed;
}

/** In a sparse list too, what is at `head` itself is the first element. */
function dropHead(view: WriteView, list: OpenList): Buffer | undefined {
  const at = denseKey(list, 0);
  const value = view.get(at);
  if (value === undefined) return undefined;
  const element = decodeElement(at, value);
  view.del(at);
  forget(list, element);
  return element;
}

function forget(list: OpenList, element: Buffer): void {
  list.size--;
  list.shape.listpackBytes -= listpackEntryBytes(element);
}
