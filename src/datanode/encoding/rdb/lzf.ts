/**
 * LZF as Redis compresses strings with it. A control byte below 32: that many bytes plus one follow
 * as they are. Otherwise its upper three bits plus two (7: plus the next byte) are copied from
 * earlier output, as far back as its lower five bits and the next byte say, plus one.
 */

/** Three bytes stand for 264 at most. */
const GROWTH_MAX = 88;

/** Whether so many bytes can stand for `length`: to be asked before that much memory is. */
export function mayBecome(compressedLength: number, length: number): boolean {
  return length <= compressedLength * GROWTH_MAX;
}

/** The `length` bytes that `compressed` stands for; undefined when it does not mean exactly those. */
export function decompressLzf(compressed: Buffer, length: number): Buffer | undefined {
  const result = Buffer.alloc(length);
  let [from, to] = [0, 0];
  while (from < compressed.length) {
    const control = compressed[from++]!;
    if (control < 32) {
      const end = from + control + 1;
      if (end > compressed.length || to + control + 1 > length) return undefined;
      compressed.copy(result, to, from, end);
      to += control + 1;
      from = end;
      continue;
    }
    let count = control >> 5;
    if (count === 7) count += compressed[from++] ?? Number.NaN;
    const back = (((control & 0x1f) << 8) | (compressed[from++] ?? Number.NaN)) + 1;
    count += 2;
    if (from > compressed.length || back > to || to + count > length) return undefined;
    // byte by byte: what is copied may overlap what it becomes
    for (const end = to + count; to < end; to++) result[to] = result[to - back]!;
  }
  return to === length ? result : undefined;
}
