/**
 * Memory that a request's arguments are copied into: small requests share slabs of 8 KiB, because an
 * ArrayBuffer of its own costs more than a small request, and because a Buffer for the whole request
 * (which Node's own pool would give) is one object more for each of them.
 */
const SLAB_BYTES = 8_192;
/** Larger ones have memory of their own. */
const SHARED_MAX = SLAB_BYTES / 4;
/** So few bytes are copied sooner by a loop than by a call. */
const LOOPED_MAX = 32;

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

/**
 * Copies of `bytes` from `bounds[0]` to `bounds[1]`, from `bounds[2]` to `bounds[3]`, and so on:
 * `count` of the bounds are meant.
 */
export function copiesOf(bytes: Buffer, bounds: readonly number[], count: number): Buffer[] {
  const total = totalOf(bounds, count);
  const isShared = total <= SHARED_MAX;
  if (isShared && used + total > SLAB_BYTES) beginSlab();
  const memory = isShared ? slab : Buffer.allocUnsafeSlow(total);
  let at = isShared ? used : 0;
  if (isShared) used += total;
  const copies = listFor(count >> 1);
  for (let next = 0; next < count; next += 2) {
    const from = bounds[next]!;
    const to = bounds[next + 1]!;
    const end = at + to - from;
    if (to - from > LOOPED_MAX) bytes.copy(memory, at, from, to);
    else for (let byte = from; byte < to; byte++) memory[at + byte - from] = bytes[byte]!;
    copies[next >> 1] = memory.subarray(at, end);
    at = end;
  }
  return copies;
}

/** For so many; a list that grows by itself takes room for seventeen, and most requests have two or three. */
function listFor(length: number): Buffer[] {
  if (length === 2) return [slab, slab];
  return length === 3 ? [slab, slab, slab] : [];
}

function totalOf(bounds: readonly number[], count: number): number {
  let total = 0;
  for (let at = 0; at < count; at += 2) total += bounds[at + 1]! - bounds[at]!;
  return total;
}

function beginSlab(): void {
  slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  used = 0;
}
