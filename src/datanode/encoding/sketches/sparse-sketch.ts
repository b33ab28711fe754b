/**
 * Sparse registers of a HyperLogLog as Redis lays them out, runs one after the other:
 *
 *   00xxxxxx              1 + x registers are 0
 *   01xxxxxx yyyyyyyy     1 + xy registers are 0
 *   1vvvvvxx              1 + x registers are 1 + v
 *
 * A change splits one run and joins its neighbours exactly as Redis does, so that the same elements
 * make the same bytes.
 */
const REGISTERS = 16_384;
const SHORT_ZEROS_MAX = 64;
const VALUE_RUN_MAX = 4;
const SPARSE_VALUE_MAX = 32;
/** Runs that are looked at for joining, from the one before the change on. */
const JOIN_STEPS = 5;

interface Run {
  readonly value: number;
  readonly length: number;
  readonly bytes: 1 | 2;
}

/**
 * The sketch with the register at `index` raised to `value`: the same buffer changed in place, or
 * another. `lower`: it is as high already; `full`: only the dense form can hold it.
 */
export function patchSparse(
  sketch: Buffer,
  start: number,
  index: number,
  value: number,
  bytesMax: number,
): Buffer | 'lower' | 'full' | 'corrupt' {
  if (value > SPARSE_VALUE_MAX) return 'full';
  let [at, first, previous] = [start, 0, start];
  let run: Run | undefined;
  while (at < sketch.length) {
    run = runAt(sketch, at);
    if (index < first + run.length) break;
    previous = at;
    at += run.bytes;
    first += run.length;
  }
  if (run === undefined || at + run.bytes > sketch.length) return 'corrupt';
  if (run.value >= value) return 'lower';
  if (run.length === 1 && run.bytes === 1) {
    sketch[at] = valueRun(value, 1);
    return joined(sketch, previous);
  }
  const parts = [
    ...runBytes(run.value, index - first),
    valueRun(value, 1),
    ...runBytes(run.value, first + run.length - 1 - index),
  ];
  const grown = parts.length - run.bytes;
  if (grown > 0 && sketch.length + grown > bytesMax) return 'full';
  const tail = sketch.subarray(at + run.bytes);
  const patched = Buffer.concat([sketch.subarray(0, at), Buffer.from(parts), tail]);
  return joined(patched, previous);
}

/**
 * Raises each of `registers` to what the runs say; false when they are not runs of exactly all
 * registers.
 */
export function expandSparse(runs: Buffer, registers: Uint8Array): boolean {
  let [at, index] = [0, 0];
  while (at < runs.length) {
    const { value, length, bytes } = runAt(runs, at);
    if (value > 0) {
      if (index + length > REGISTERS) return false;
      for (let end = index + length, next = index; next < end; next++) {
        if (registers[next]! < value) registers[next] = value;
      }
    }
    index += length;
    at += bytes;
  }
  return index === REGISTERS;
}

function runAt(bytes: Buffer, at: number): Run {
  const byte = bytes[at]!;
  if (byte >= 0x80) return { value: ((byte >> 2) & 0x1f) + 1, length: (byte & 3) + 1, bytes: 1 };
  if (byte < 0x40) return { value: 0, length: byte + 1, bytes: 1 };
  return { value: 0, length: (((byte & 0x3f) << 8) | (bytes[at + 1] ?? 0)) + 1, bytes: 2 };
}

/** One run, or none when it has no registers. */
function runBytes(value: number, length: number): readonly number[] {
  if (length === 0) return [];
  if (value > 0) return [valueRun(value, length)];
  if (length <= SHORT_ZEROS_MAX) return [length - 1];
  return [((length - 1) >> 8) | 0x40, (length - 1) & 0xff];
}

function valueRun(value: number, length: number): number {
  return 0x80 | ((value - 1) << 2) | (length - 1);
}

/** Joins neighbouring runs of one value around a change; returns what is left of the buffer. */
function joined(sketch: Buffer, from: number): Buffer {
  let at = from;
  let end = sketch.length;
  for (let step = 0; step < JOIN_STEPS && at < end; step++) {
    const run = runAt(sketch, at);
    const next = at + 1 < end && run.value > 0 ? runAt(sketch, at + 1) : undefined;
    const length = run.length + (next?.length ?? 0);
    if (next?.value === run.value && length <= VALUE_RUN_MAX) {
      sketch[at + 1] = valueRun(run.value, length);
      sketch.copyWithin(at, at + 1, end);
      end--;
    } else {
      at += run.bytes;
    }
  }
  return sketch.subarray(0, end);
}
