/**
 * Nodes of the counted tree over a sorted set, two records each: their shape, which seldom changes,
 * and the counts, which do with every element. Frozen format, under zsetBlock keys:
 *
 *   part 0, shape    flags u8 (0) · level u8 · next node u32 (root, else 0) · entries u32 ·
 *                    each: child u32 (0 in leaves, level 0) · length u32 · bound
 *   part 1, counts   flags u8 (0) · each entry: count u64
 *
 * A bound is a beginning of what `scoreOrder` gives: not before it lies what is under the entry.
 * That of a node's first entry is empty: its parent's holds.
 */
import { readU64, writeU64 } from '../../../common/bytes.ts';
import { type CollectionPlace, encodeBlockKey } from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import type { View, WriteView } from '../txn/view.ts';

export const NODE_ROOT = 0;
const SHAPE = 0;
const COUNTS = 1;
const SHAPE_BYTES = 10;
const ENTRY_BYTES = 8;
const COUNT_BYTES = 8;

export interface NodeEntry {
  child: number;
  bound: Buffer;
  count: number;
}

export interface Node {
  readonly id: number;
  /** 0: its entries are blocks. */
  level: number;
  /** Root: number of the next node. */
  nextNode: number;
  entries: NodeEntry[];
  shapeChanged: boolean;
  countsChanged: boolean;
}

export function readNode(view: View, place: CollectionPlace, id: number): Node {
  const shapeKey = encodeBlockKey(place, id, SHAPE);
  const countsKey = encodeBlockKey(place, id, COUNTS);
  const shape = view.get(shapeKey);
  const counts = view.get(countsKey);
  if (shape === undefined || shape.length < SHAPE_BYTES || shape[0] !== 0) {
    throw corruptRecord(shapeKey, 'its shape is absent or of an unknown form');
  }
  const length = shape.readUInt32BE(6);
  if (counts === undefined || counts[0] !== 0 || counts.length !== 1 + length * COUNT_BYTES) {
    throw corruptRecord(countsKey, 'its counts are absent or of an unknown form');
  }
  const entries: NodeEntry[] = [];
  let at = SHAPE_BYTES;
  for (let index = 0; index < length; index++) {
    const child = shape.readUInt32BE(at);
    const end = at + ENTRY_BYTES + shape.readUInt32BE(at + 4);
    const bound = shape.subarray(at + ENTRY_BYTES, end);
    entries.push({ child, bound, count: readU64(counts, 1 + index * COUNT_BYTES) });
    at = end;
  }
  const [level, nextNode] = [shape[1]!, shape.readUInt32BE(2)];
  return { id, level, nextNode, entries, shapeChanged: false, countsChanged: false };
}

/** Writes the parts that have changed. */
export function writeNode(view: WriteView, place: CollectionPlace, node: Node): void {
  if (node.shapeChanged) view.put(encodeBlockKey(place, node.id, SHAPE), encodeShape(node));
  if (node.shapeChanged || node.countsChanged) {
    view.put(encodeBlockKey(place, node.id, COUNTS), encodeCounts(node));
  }
  node.shapeChanged = false;
  node.countsChanged = false;
}

export function deleteNode(view: WriteView, place: CollectionPlace, id: number): void {
  view.del(encodeBlockKey(place, id, SHAPE));
  view.del(encodeBlockKey(place, id, COUNTS));
}

export function encodeShape({ level, nextNode, entries }: Node): Buffer {
  const bytes = entries.reduce((sum, { bound }) => sum + ENTRY_BYTES + bound.length, SHAPE_BYTES);
  const encoded = Buffer.allocUnsafe(bytes);
  encoded[0] = 0;
  encoded[1] = level;
  encoded.writeUInt32BE(nextNode, 2);
  encoded.writeUInt32BE(entries.length, 6);
  let at = SHAPE_BYTES;
  for (const { child, bound } of entries) {
    encoded.writeUInt32BE(child, at);
    encoded.writeUInt32BE(bound.length, at + 4);
    encoded.set(bound, at + ENTRY_BYTES);
    at += ENTRY_BYTES + bound.length;
  }
  return encoded;
}

export function encodeCounts({ entries }: Node): Buffer {
  const encoded = Buffer.allocUnsafe(1 + entries.length * COUNT_BYTES);
  encoded[0] = 0;
  let at = 1;
  for (const { count } of entries) {
    writeU64(encoded, count, at);
    at += COUNT_BYTES;
  }
  return encoded;
}
