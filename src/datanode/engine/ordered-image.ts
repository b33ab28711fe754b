/**
 * An immutable ordered map from bytes to bytes: chunks of at most CHUNK_PAIRS_MAX pairs in key
 * order. A change copies the chunks it touches and the list of chunks, so an image is a snapshot
 * by nature. For tests and simulation: up to some hundred thousand keys.
 */
import type { BatchOperation, KeyRange, KeyValue } from './engine.ts';

const CHUNK_PAIRS_MAX = 128;

/** Never empty. */
type Chunk = readonly KeyValue[];

export class OrderedImage {
  static readonly empty = new OrderedImage([]);
  readonly #chunks: readonly Chunk[];

  private constructor(chunks: readonly Chunk[]) {
    this.#chunks = chunks;
  }

  get(key: Buffer): Buffer | undefined {
    const chunk = this.#chunks[chunkOf(this.#chunks, key)];
    if (!chunk) return undefined;
    const at = lowerBound(chunk, key);
    return isAt(chunk, at, key) ? chunk[at]![1] : undefined;
  }

  /** The image after `operations`; keys and values are kept, so they must not change any more. */
  apply(operations: Iterable<BatchOperation>): OrderedImage {
    const chunks = [...this.#chunks];
    const owned = new Set<Chunk>();
    for (const operation of operations) applyOperation(chunks, owned, operation);
    return new OrderedImage(chunks);
  }

  /** Up to `count` pairs of the range, from its start or (reverse) from its end. */
  read(range: KeyRange, count: number, bytesMax: number): KeyValue[] {
    const pairs: KeyValue[] = [];
    let bytes = 0;
    const step = range.reverse ? -1 : 1;
    const edge = range.reverse ? range.lt : range.gte;
    let c = chunkOf(this.#chunks, edge);
    if (c >= this.#chunks.length) c = this.#chunks.length - 1;
    let at = c < 0 ? 0 : lowerBound(this.#chunks[c]!, edge) + (range.reverse ? -1 : 0);
    while (pairs.length < count && bytes <= bytesMax) {
      const chunk = this.#chunks[c];
      if (!chunk) break;
      const pair = chunk[at];
      if (!pair) {
        c += step;
        at = step > 0 ? 0 : (this.#chunks[c]?.length ?? 0) - 1;
        continue;
      }
      const inside = range.reverse
        ? pair[0].compare(range.gte) >= 0
        : pair[0].compare(range.lt) < 0;
      if (!inside) break;
      pairs.push(pair);
      bytes += pair[0].length + pair[1].length;
      at += step;
    }
    return pairs;
  }
}

function applyOperation(chunks: Chunk[], owned: Set<Chunk>, operation: BatchOperation): void {
  const { key } = operation;
  if (chunks.length === 0) {
    if (operation.type === 'put') chunks.push([[key, operation.value]]);
    return;
  }
  const c = Math.min(chunkOf(chunks, key), chunks.length - 1);
  const at = lowerBound(chunks[c]!, key);
  const found = isAt(chunks[c]!, at, key);
  if (operation.type === 'del' && !found) return;
  const chunk = ownChunk(chunks, owned, c);
  if (operation.type === 'del') chunk.splice(at, 1);
  else chunk.splice(at, found ? 1 : 0, [key, operation.value]);
  if (chunk.length === 0) chunks.splice(c, 1);
  if (chunk.length > CHUNK_PAIRS_MAX) {
    const upper = chunk.splice(chunk.length >> 1);
    owned.add(upper);
    chunks.splice(c + 1, 0, upper);
  }
}

/** The chunk as one that this change may edit. */
function ownChunk(chunks: Chunk[], owned: Set<Chunk>, c: number): KeyValue[] {
  const chunk = chunks[c]!;
  const mine = owned.has(chunk) ? (chunk as KeyValue[]) : [...chunk];
  owned.add(mine);
  chunks[c] = mine;
  return mine;
}

/** The first chunk whose last key is not below `key`; the chunk count when there is none. */
function chunkOf(chunks: readonly Chunk[], key: Buffer): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const chunk = chunks[middle]!;
    if (compareKeys(chunk[chunk.length - 1]![0], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first position in the chunk whose key is not below `key`. */
function lowerBound(chunk: Chunk, key: Buffer): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareKeys(chunk[middle]![0], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isAt(chunk: Chunk, at: number, key: Buffer): boolean {
  const pair = chunk[at];
  return pair !== undefined && pair[0].length === key.length && compareKeys(pair[0], key) === 0;
}

/** As `Buffer.compare`, whose way out of JavaScript costs more than a short key does here. */
function compareKeys(one: Buffer, other: Buffer): number {
  const shared = Math.min(one.length, other.length);
  for (let at = 0; at < shared; at++) {
    const difference = one[at]! - other[at]!;
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}
