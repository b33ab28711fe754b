/**
 * What clients that waited (BLPOP …) were given, kept until the node with the connection has
 * confirmed it: asked again under the same id, any later leader gives the same answer. Beyond
 * limits.servedRepliesMax the oldest go. Frozen formats:
 *
 *   served       id         → order u64 · reply
 *   servedOrder  order u64  → id
 *   system       `served`   → u8 version · first order that may be kept u64 · next order u64
 */
import { ByteReader, readU64, writeU64 } from '../../common/bytes.ts';
import { limits } from '../../common/limits.ts';
import { corruptRecord } from './record.ts';
import { systemKey } from './system.ts';
import { tags } from './tags.ts';
import type { View, WriteView } from './view.ts';

const BOUNDS_KEY = systemKey('served');
const BOUNDS_VERSION = 1;
const BOUNDS_BYTES = 17;
const ORDER_BYTES = 8;

interface Bounds {
  readonly first: number;
  readonly next: number;
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

export function keepServed(view: WriteView, id: Buffer, reply: Buffer): void {
  const bounds = readBounds(view);
  const record = Buffer.allocUnsafe(ORDER_BYTES + reply.length);
  writeU64(record, bounds.next, 0);
  reply.copy(record, ORDER_BYTES);
  view.put(encodeServedKey(id), record);
  view.put(encodeServedOrderKey(bounds.next), id);
  const next = bounds.next + 1;
  let { first } = bounds;
  while (next - first > limits.servedRepliesMax) forgetOldest(view, first++);
  writeBounds(view, { first, next });
}

/** Confirmed; no effect when nothing is kept under the id. */
export function forgetServed(view: WriteView, id: Buffer): void {
  const key = encodeServedKey(id);
  const record = view.get(key);
  if (record === undefined) return;
  view.del(key);
  view.del(encodeServedOrderKey(readU64(record, 0)));
}

function forgetOldest(view: WriteView, order: number): void {
  const key = encodeServedOrderKey(order);
  const id = view.get(key);
  if (id === undefined) return; // confirmed long ago
  view.del(key);
  view.del(encodeServedKey(id));
}

function readBounds(view: View): Bounds {
  const bytes = view.get(BOUNDS_KEY);
  if (bytes === undefined) return { first: 0, next: 0 };
  if (bytes.length !== BOUNDS_BYTES || bytes[0] !== BOUNDS_VERSION) {
    throw corruptRecord(BOUNDS_KEY, `bounds of kept replies of version ${bytes[0]} unknown`);
  }
  const reader = new ByteReader(bytes, 1);
  return { first: reader.u64(), next: reader.u64() };
}

function writeBounds(view: WriteView, { first, next }: Bounds): void {
  const bytes = Buffer.allocUnsafe(BOUNDS_BYTES);
  bytes[0] = BOUNDS_VERSION;
  writeU64(bytes, first, 1);
  writeU64(bytes, next, 9);
  view.put(BOUNDS_KEY, bytes);
}
