/**
 * Lists: elements at places (records/element-key.ts), and a header that knows both ends. As long as the
 * elements lie at consecutive whole numbers the list is dense: element i is at place head + i, and
 * pushes, pops and accesses by index are point reads and writes. Changes in the middle keep a list
 * dense where that is cheap (list-edit.ts); else it is sparse: it has gaps or fractions, its ends
 * are bounds, and its elements are found by walking (list-walk.ts).
 *
 * What a list adds to its collection header. Frozen format:
 *
 *   flags u8 (1 sparse · 2 quicklist) · head u64 · tail u64 · listpack bytes u64
 *
 * No element is at a whole number below `head` or above `tail`; in a dense list those are the
 * places of the first and the last element. The bytes are those that all elements take in Redis's
 * listpack: OBJECT ENCODING derives from them. A reader that meets an unknown flag refuses.
 */
import { copyInto, readU64, writeU64 } from '../../../common/bytes.ts';
import {
  type Collection,
  type OpenCollection,
  openCollection,
  readCollection,
  saveCollection,
} from '../collections/collection.ts';
import { encodeListKey, LIST_ORIGIN } from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import type { View, WriteView } from '../txn/view.ts';
import { LISTPACK_FRAME_BYTES, listpackEntryBytes } from './listpack-size.ts';

export interface ListShape {
  sparse: boolean;
  /** What OBJECT ENCODING says; a listpack otherwise. */
  quicklist: boolean;
  head: number;
  tail: number;
  listpackBytes: number;
}

export interface List extends Collection {
  readonly shape: Readonly<ListShape>;
}

export interface OpenList extends OpenCollection {
  shape: ListShape;
}

export type ListEnd = 'left' | 'right';

const SPARSE = 1;
const QUICKLIST = 2;
const KNOWN_FLAGS = SPARSE | QUICKLIST;
const SHAPE_BYTES = 25;
/** Redis's list-max-listpack-size −2; a quicklist becomes a listpack again at half of it. */
const LISTPACK_BYTES_MAX = 8_192;

const FLAGS_BYTES = 1;
export const NO_FRACTION = Buffer.alloc(0);

/** Of a list that never had an element. */
export function newShape(): ListShape {
  const [head, tail] = [LIST_ORIGIN, LIST_ORIGIN - 1];
  return { sparse: false, quicklist: false, head, tail, listpackBytes: 0 };
}

export function encodeShape(shape: Readonly<ListShape>): Buffer {
  const encoded = Buffer.allocUnsafe(SHAPE_BYTES);
  encoded[0] = (shape.sparse ? SPARSE : 0) | (shape.quicklist ? QUICKLIST : 0);
  writeU64(encoded, shape.head, 1);
  writeU64(encoded, shape.tail, 9);
  writeU64(encoded, shape.listpackBytes, 17);
  return encoded;
}

/** The shape of a list that has elements; `key` names the record in errors. */
export function decodeShape(key: Buffer, extra: Buffer, size: number): ListShape {
  const flags = extra[0] ?? 0;
  if (extra.length !== SHAPE_BYTES) throw corruptRecord(key, 'its list header is cut');
  if ((flags & ~KNOWN_FLAGS) !== 0) throw corruptRecord(key, `list flags ${flags} unknown`);
  const shape = {
    sparse: (flags & SPARSE) !== 0,
    quicklist: (flags & QUICKLIST) !== 0,
    head: readU64(extra, 1),
    tail: readU64(extra, 9),
    listpackBytes: readU64(extra, 17),
  };
  if (!shape.sparse && shape.tail - shape.head + 1 !== size) {
    throw corruptRecord(key, `${size} elements are said to fill ${shape.head} to ${shape.tail}`);
  }
  return shape;
}

/** The live list under `key`; undefined when absent, `wrong-type` when it is something else. */
export function readList(view: View, key: Buffer, nowMs: number): List | undefined | 'wrong-type' {
  const list = readCollection(view, key, 'list', nowMs);
  if (list === undefined || list === 'wrong-type') return list;
  return { shape: decodeShape(list.found.place, list.extra, list.size), ...list };
}

/** The list under `key`, a new and empty one when there is none. */
export function openList(view: WriteView, key: Buffer, nowMs: number): OpenList | 'wrong-type' {
  const list = openCollection(view, key, 'list', nowMs);
  if (list === 'wrong-type') return list;
  const shape = list.size === 0 ? newShape() : decodeShape(list.found.place, list.extra, list.size);
  return { shape, ...list };
}

/** Writes the header; at most once per opening. A list without elements is gone. */
export function saveList(view: WriteView, list: OpenList): void {
  list.extra = encodeShape(list.shape);
  saveCollection(view, list);
}

export function pushElement(view: WriteView, list: OpenList, end: ListEnd, element: Buffer): void {
  const { shape } = list;
  const whole = end === 'left' ? --shape.head : ++shape.tail;
  putElement(view, encodeListKey(list.place, { whole, fraction: NO_FRACTION }), element);
  list.size++;
  shape.listpackBytes += listpackEntryBytes(element);
}

/** Writes the element at an engine key; neither size nor bytes are counted. */
export function putElement(view: WriteView, at: Buffer, element: Buffer): void {
  const value = Buffer.allocUnsafe(FLAGS_BYTES + element.length);
  value[0] = 0;
  copyInto(value, element, FLAGS_BYTES);
  view.put(at, value);
}

/** The element within a stored value (a view). */
export function decodeElement(at: Buffer, value: Buffer): Buffer {
  if (value[0] !== 0) throw corruptRecord(at, `element flags ${value[0]} unknown`);
  return value.subarray(FLAGS_BYTES);
}

/** The engine key of element `index` of a dense list. */
export function denseKey({ place, shape }: List, index: number): Buffer {
  return encodeListKey(place, { whole: shape.head + index, fraction: NO_FRACTION });
}

/** Element `index` of a dense list: a point read. */
export function denseElement(view: View, list: List, index: number): Buffer {
  const at = denseKey(list, index);
  const value = view.get(at);
  if (value === undefined) throw corruptRecord(at, 'the list’s header says it is there');
  return decodeElement(at, value);
}

/** Before elements are added: Redis looks at their own lengths, not at what they will take. */
export function growEncoding({ shape }: OpenList, elements: Iterable<Buffer>): void {
  if (shape.quicklist) return;
  let bytes = LISTPACK_FRAME_BYTES + shape.listpackBytes;
  for (const { length } of elements) {
    bytes += length;
    // a million elements are not added up: few of them are enough
    if (bytes > LISTPACK_BYTES_MAX) break;
  }
  shape.quicklist = bytes > LISTPACK_BYTES_MAX;
}

/** After elements were removed or replaced. */
export function shrinkEncoding({ shape }: OpenList): void {
  if (!shape.quicklist) return;
  shape.quicklist = LISTPACK_FRAME_BYTES + shape.listpackBytes > LISTPACK_BYTES_MAX / 2;
}

/** What OBJECT ENCODING says of a list with this header. */
export function encodingOfList({ extra }: { readonly extra: Buffer }): 'listpack' | 'quicklist' {
  return ((extra[0] ?? 0) & QUICKLIST) === 0 ? 'listpack' : 'quicklist';
}
