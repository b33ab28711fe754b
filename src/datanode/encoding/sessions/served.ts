/**
 * What clients that waited (BLPOP …) were given, kept until the node with the connection has
 * confirmed it: asked again under the same id, any later leader gives the same answer. Beyond
 * limits.servedRepliesMax the oldest go; a reply beyond limits.servedReplyBytesMax, and the oldest
 * beyond limits.servedRepliesBytesMax together, leave a mark: the id is served, with what is lost.
 * Frozen formats:
 *
 *   served       id         → order u64 · reply, or a mark
 *   servedOrder  order u64  → id
 *   system       `served`   → u8 version · first order that may be kept u64 · next order u64 ·
 *                             first order whose reply may be whole u64 · bytes of all replies u64
 *                             · from version 2 on how many are kept u64
 */
import { ByteReader, readU64, writeU64 } from '../../../common/bytes.ts';
import { limits } from '../../../common/limits.ts';
import { unknownVersion } from '../records/record.ts';
import { systemKey } from '../records/system.ts';
import { tags } from '../records/tags.ts';
import type { View, WriteView } from '../txn/view.ts';

const BOUNDS_KEY = systemKey('served');
const BOUNDS_VERSION = 2;
const BOUNDS_BYTES = 41;
/** Version 1 did not count what was confirmed: it took all orders for kept. */
const UNCOUNTED_VERSION = 1;
const UNCOUNTED_BYTES = 33;
/** Orders looked at for the oldest by each that comes: more than one, so it keeps up. */
const PASSED_MAX = 8;
const ORDER_BYTES = 8;

interface Bounds {
  first: number;
  next: number;
  whole: number;
  bytes: number;
  count: number;
}

export function encodeServedKey(id: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tags.served]), id]);
}

export function encodeServedOrderKey(order: number): Buffer {
  const key = Buffer.allocUnsafe(1 + ORDER_BYTES);
  key[0] = tags.servedOrder;
  writeU64(key, order, 1);
  return key;
}

/** The reply as it was kept (a view of the record), or undefined. */
export function findServed(view: View, id: Buffer): Buffer | undefined {
  return view.get(encodeServedKey(id))?.subarray(ORDER_BYTES);
}

/** `mark`: what is kept instead of a reply for which there is no room; short. */
export function keepServed(view: WriteView, id: Buffer, reply: Buffer, mark: Buffer): void {
  const bounds = readBounds(view);
  const kept = reply.length > limits.servedReplyBytesMax ? mark : reply;
  putReply(view, id, bounds.next, kept);
  view.put(encodeServedOrderKey(bounds.next), id);
  bounds.next++;
  bounds.bytes += kept.length;
  bounds.count++;
  passOldest(view, bounds);
  bounds.whole = Math.max(bounds.whole, bounds.first);
  while (bounds.bytes > limits.servedRepliesBytesMax && bounds.whole < bounds.next) {
    markOldest(view, bounds, mark);
  }
  writeBounds(view, bounds);
}

/** Confirmed; no effect when nothing is kept under the id. */
export function forgetServed(view: WriteView, id: Buffer): void {
  const key = encodeServedKey(id);
  const record = view.get(key);
  if (record === undefined) return;
  view.del(key);
  view.del(encodeServedOrderKey(readU64(record, 0)));
  const bounds = readBounds(view);
  bounds.bytes -= record.length - ORDER_BYTES;
  bounds.count--;
  writeBounds(view, bounds);
}

function putReply(view: WriteView, id: Buffer, order: number, reply: Buffer): void {
  const record = Buffer.allocUnsafe(ORDER_BYTES + reply.length);
  writeU64(record, order, 0);
  reply.copy(record, ORDER_BYTES);
  view.put(encodeServedKey(id), record);
}

/** Leaves behind what has been confirmed, and the oldest while too many are kept. */
function passOldest(view: WriteView, bounds: Bounds): void {
  for (let passed = 0; passed < PASSED_MAX && bounds.first < bounds.next; passed++) {
    const order = encodeServedOrderKey(bounds.first);
    const id = view.get(order);
    if (id !== undefined) {
      if (bounds.count <= limits.servedRepliesMax) return;
      const key = encodeServedKey(id);
      bounds.bytes -= view.get(key)!.length - ORDER_BYTES;
      bounds.count--;
      view.del(order);
      view.del(key);
    }
    bounds.first++;
  }
}

function markOldest(view: WriteView, bounds: Bounds, mark: Buffer): void {
  const order = bounds.whole++;
  const id = view.get(encodeServedOrderKey(order));
  if (id === undefined) return;
  const { length } = findServed(view, id)!;
  if (length <= mark.length) return;
  putReply(view, id, order, mark);
  bounds.bytes += mark.length - length;
}

function readBounds(view: View): Bounds {
  const bytes = view.get(BOUNDS_KEY);
  if (bytes === undefined) return { first: 0, next: 0, whole: 0, bytes: 0, count: 0 };
  const uncounted = bytes[0] === UNCOUNTED_VERSION;
  if (
    (!uncounted && bytes[0] !== BOUNDS_VERSION) ||
    bytes.length !== (uncounted ? UNCOUNTED_BYTES : BOUNDS_BYTES)
  ) {
    throw unknownVersion(BOUNDS_KEY, 'bounds of kept replies', bytes[0], BOUNDS_VERSION);
  }
  const reader = new ByteReader(bytes, 1);
  const [first, next, whole] = [reader.u64(), reader.u64(), reader.u64()];
  const kept = reader.u64();
  return { first, next, whole, bytes: kept, count: uncounted ? next - first : reader.u64() };
}

function writeBounds(view: WriteView, bounds: Bounds): void {
  const { first, next, whole, bytes: kept, count } = bounds;
  const bytes = Buffer.allocUnsafe(BOUNDS_BYTES);
  bytes[0] = BOUNDS_VERSION;
  writeU64(bytes, first, 1);
  writeU64(bytes, next, 9);
  writeU64(bytes, whole, 17);
  writeU64(bytes, kept, 25);
  writeU64(bytes, count, 33);
  view.put(BOUNDS_KEY, bytes);
}
