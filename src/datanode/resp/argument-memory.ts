/**
 * Memory that a request's arguments are copied into: small requests share slabs of 8 KiB, because an
 * ArrayBuffer of its own costs more than a small request, and because a Buffer for the whole request
 * (which Node's own pool would give) is one object more for each of them.
 */
import { isAt, viewIn } from '../../common/bytes.ts';
import { listFor } from '../../common/list-for.ts';

/** An argument's object beside its bytes, and as much again for what millions cost the collector. */
export const ARGUMENT_BYTES = 256;

const SLAB_BYTES = 8_192;
/** Larger ones have memory of their own. */
const SHARED_MAX = SLAB_BYTES / 4;
/** So few bytes are copied sooner by a loop than by a call. */
const LOOPED_MAX = 32;

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
/** What it is a view of, from the first byte on. */
let slabMemory = slab.buffer;
let used = 0;
/** The name of a command before, as it was sent: that of most requests is the same. */
let name: Buffer = slab.subarray(0, 0);

/**
 * Copies of `bytes` from `bounds[0]` to `bounds[1]`, from `bounds[2]` to `bounds[3]`, and so on:
 * `count` of the bounds are meant.
 */
export function copiesOf(bytes: Buffer, bounds: readonly number[], count: number): Buffer[] {
  const total = totalOf(bounds, count);
  const isShared = total <= SHARED_MAX;
  if (isShared && used + total > SLAB_BYTES) beginSlab();
  const memory = isShared ? slab : Buffer.allocUnsafeSlow(total);
  const whole = isShared ? slabMemory : memory.buffer;
  let at = isShared ? used : 0;
  const copies = listFor<Buffer>(count >> 1, name);
  for (let next = 0; next < count; next += 2) {
    const from = bounds[next]!;
    const to = bounds[next + 1]!;
    if (next === 0 && isAt(bytes, from, to - from, name)) {
      copies[0] = name;
      continue;
    }
    const end = at + to - from;
    if (to - from > LOOPED_MAX) bytes.copy(memory, at, from, to);
    else for (let byte = from; byte < to; byte++) memory[at + byte - from] = bytes[byte]!;
    copies[next >> 1] = viewIn(whole, 0, at, end);
    at = end;
  }
  if (isShared) {
    used = at;
    name = copies[0] ?? name;
  }
  return copies;
}

function totalOf(bounds: readonly number[], count: number): number {
  let total = 0;
  for (let at = 0; at < count; at += 2) total += bounds[at + 1]! - bounds[at]!;
  return total;
}

function beginSlab(): void {
  slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  slabMemory = slab.buffer;
  used = 0;
}

/** From so many arguments on they count by themselves in what a request holds. */
const MANY_ARGUMENTS = 64;

/** Of a request in memory: many small arguments take more than they did on the wire. */
export function heldBytes({ length }: readonly Buffer[], wireBytes: number): number {
  return length < MANY_ARGUMENTS ? wireBytes : wireBytes + length * ARGUMENT_BYTES;
}
