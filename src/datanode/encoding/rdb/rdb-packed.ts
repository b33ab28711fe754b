/**
 * The packed forms within Redis's serialized values: ziplists, listpacks, integer sets and zipmaps.
 * Each is checked as a whole: its own counts, offsets and end.
 */
import { RdbError, type RdbReader } from './rdb-reader.ts';

const END = 0xff;
/** Counts that do not fit are said to be this. */
const UNKNOWN_COUNT = 0xffff;
const BIG_PREVIOUS = 0xfe;

/** bytes u32 · last entry u32 · count u16 · entries (previous length · encoding · data) · 0xff */
export function* ziplistEntries(reader: RdbReader, ziplist: Buffer): Generator<Buffer> {
  const inner = reader.within(ziplist);
  const start = ziplist.length;
  check(inner.u32() === start, 'a ziplist says another length');
  const last = inner.u32();
  const count = inner.u16();
  let [entries, previousBytes, lastAt] = [0, 0, start - inner.remaining];
  while (inner.peek() !== END) {
    lastAt = start - inner.remaining;
    const first = inner.u8();
    const previous = first === BIG_PREVIOUS ? inner.u32() : first;
    check(previous === previousBytes, 'a ziplist entry says another length before it');
    yield inner.element(ziplistEntry(inner));
    previousBytes = start - inner.remaining - lastAt;
    entries++;
  }
  inner.u8();
  inner.end();
  check(last === lastAt, 'a ziplist says another last entry');
  check(count === UNKNOWN_COUNT || count === entries, 'a ziplist says another count');
}

function ziplistEntry(reader: RdbReader): Buffer {
  const first = reader.u8();
  switch (first >> 6) {
    case 0:
      return reader.raw(first);
    case 1:
      return reader.raw(((first & 0x3f) << 8) | reader.u8());
    case 2:
      check(first === 0x80, 'a ziplist entry has an unknown encoding');
      return reader.raw(reader.raw(4).readUInt32BE(0));
  }
  switch (first) {
    case 0xc0:
      return reader.decimal(2);
    case 0xd0:
      return reader.decimal(4);
    case 0xe0:
      return reader.decimal(8);
    case 0xf0:
      return reader.decimal(3);
    case 0xfe:
      return reader.decimal(1);
  }
  check(first >= 0xf1 && first <= 0xfd, 'a ziplist entry has an unknown encoding');
  return decimal((first & 0x0f) - 1);
}

/**
 * bytes u32 · count u16 · entries (encoding · data · their length backwards) · 0xff. Whoever keeps only what
 * it makes of the entries counts that instead (`isCounted` false).
 */
export function* listpackEntries(
  reader: RdbReader,
  listpack: Buffer,
  isCounted = true,
): Generator<Buffer> {
  const inner = reader.within(listpack);
  check(inner.u32() === listpack.length, 'a listpack says another length');
  const count = inner.u16();
  let entries = 0;
  while (inner.peek() !== END) {
    const before = inner.remaining;
    const entry = listpackEntry(inner);
    yield isCounted ? inner.element(entry) : entry;
    const backwards = backwardsLength(before - inner.remaining);
    check(inner.raw(backwards.length).equals(backwards), 'a listpack entry says another length');
    entries++;
  }
  inner.u8();
  inner.end();
  check(count === UNKNOWN_COUNT || count === entries, 'a listpack says another count');
}

function listpackEntry(reader: RdbReader): Buffer {
  const first = reader.u8();
  if (first < 0x80) return decimal(first);
  if (first < 0xc0) return reader.raw(first & 0x3f);
  if (first < 0xe0) {
    const value = ((first & 0x1f) << 8) | reader.u8();
    return decimal(value >= 0x1000 ? value - 0x2000 : value);
  }
  if (first < 0xf0) return reader.raw(((first & 0x0f) << 8) | reader.u8());
  switch (first) {
    case 0xf0:
      return reader.raw(reader.u32());
    case 0xf1:
      return reader.decimal(2);
    case 0xf2:
      return reader.decimal(3);
    case 0xf3:
      return reader.decimal(4);
    case 0xf4:
      return reader.decimal(8);
  }
  throw new RdbError('a listpack entry has an unknown encoding');
}

/** Seven bits a byte, the most significant first; all but the first byte are marked. */
function backwardsLength(length: number): Buffer {
  // The bounds are Redis's: from two bytes on, one less than the bits would hold.
  const bounds = [127, 16_382, 2_097_150, 268_435_454];
  const found = bounds.findIndex((bound) => length <= bound);
  const bytes = found < 0 ? 5 : found + 1;
  const encoded = Buffer.alloc(bytes);
  for (let at = bytes - 1, rest = length; at >= 0; at--, rest = Math.floor(rest / 128)) {
    encoded[at] = (rest % 128) | (at === 0 ? 0 : 0x80);
  }
  return encoded;
}

/** bytes per number u32 (2, 4, 8) · count u32 · the numbers, ascending */
export function* intsetEntries(reader: RdbReader, intset: Buffer): Generator<Buffer> {
  const inner = reader.within(intset);
  const width = inner.u32();
  const count = inner.u32();
  if (width !== 2 && width !== 4 && width !== 8) throw new RdbError(`integers of ${width} bytes`);
  check(inner.remaining === count * width, 'an integer set says another count');
  let before: bigint | undefined;
  for (let at = 0; at < count; at++) {
    const text = inner.decimal(width);
    const value = BigInt(text.toString('latin1'));
    check(before === undefined || value > before, 'an integer set is not in order');
    before = value;
    yield inner.element(text);
  }
}

/** count u8 · fields (length · bytes · length · unused u8 · bytes · unused bytes) · 0xff */
export function* zipmapEntries(reader: RdbReader, zipmap: Buffer): Generator<Buffer> {
  const inner = reader.within(zipmap);
  const count = inner.u8();
  let fields = 0;
  while (inner.peek() !== END) {
    yield inner.element(inner.raw(zipmapLength(inner)));
    const length = zipmapLength(inner);
    const unused = inner.u8();
    yield inner.element(inner.raw(length));
    inner.raw(unused);
    fields++;
  }
  inner.u8();
  inner.end();
  check(count >= BIG_PREVIOUS || count === fields, 'a zipmap says another count');
}

function zipmapLength(reader: RdbReader): number {
  const first = reader.u8();
  check(first !== END, 'a zipmap ends within a field');
  return first === BIG_PREVIOUS ? reader.u32() : first;
}

function decimal(value: number): Buffer {
  return Buffer.from(String(value), 'latin1');
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new RdbError(otherwise);
}
