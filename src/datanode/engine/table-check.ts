/**
 * Verification of one LevelDB table file, every byte of it: LevelDB checks no block's checksum on
 * a plain read. A table is data blocks, filter block, metaindex block, index block, footer. Each
 * block is followed by `type u8 | masked CRC-32C of block and type u32`; the footer (48 bytes)
 * holds the places of metaindex and index, and a magic number; the indexes hold the places of the
 * other blocks, which must fill the file without a gap.
 */
import { ByteRangeError } from '../../common/bytes.ts';
import type { DiskFile } from '../../common/disk.ts';
import { limits } from '../../common/limits.ts';
import { crc32c, unmaskCrc } from './crc32c.ts';
import { VarintReader } from './varint.ts';

const FOOTER_BYTES = 48;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');
const TRAILER_BYTES = 5;
const PLAIN = 0;
const READ_BYTES = 256 * 1024;
/** A block holds at least one pair, and a table's filter block is far smaller. */
const BLOCK_BYTES_MAX = 2 * limits.requestBulkBytesMax;

interface BlockPlace {
  readonly offset: number;
  readonly bytes: number;
}

export interface TableDamage {
  readonly offset: number;
  readonly what: string;
}

/** Awaited before each read with the number of bytes to be read: the caller bounds the rate. */
export type Pace = (bytes: number) => Promise<void>;

/** Reads the table and returns its first damage, or undefined. */
export async function checkTable(file: DiskFile, pace: Pace): Promise<TableDamage | undefined> {
  const table = new TableReader(file, pace);
  try {
    const places = await readPlaces(file, table);
    let end = 0;
    for (const place of places) {
      if (place.offset !== end) return { offset: end, what: 'no block where one must be' };
      await readBlock(table, place);
      end = place.offset + place.bytes + TRAILER_BYTES;
    }
    const footer = (await file.size()) - FOOTER_BYTES;
    return end === footer ? undefined : { offset: end, what: 'no block where one must be' };
  } catch (error) {
    if (error instanceof DamageError) return { offset: error.offset, what: error.message };
    throw error;
  }
}

class DamageError extends Error {
  readonly offset: number;

  constructor(offset: number, what: string) {
    super(what);
    this.offset = offset;
  }
}

/** Reads in large pieces: blocks are small and follow each other. */
class TableReader {
  readonly #file: DiskFile;
  readonly #pace: Pace;
  #piece: Buffer = Buffer.alloc(0);
  #from = 0;

  constructor(file: DiskFile, pace: Pace) {
    this.#file = file;
    this.#pace = pace;
  }

  /** A view; shorter only at the end of the file. */
  async read(offset: number, length: number): Promise<Buffer> {
    const from = offset - this.#from;
    if (from < 0 || from + length > this.#piece.length) {
      const bytes = Math.max(length, READ_BYTES);
      await this.#pace(bytes);
      this.#piece = await this.#file.pread(offset, bytes);
      this.#from = offset;
    }
    const start = offset - this.#from;
    return this.#piece.subarray(start, start + length);
  }
}

/** The places of all blocks, in the order of the file. */
async function readPlaces(file: DiskFile, table: TableReader): Promise<BlockPlace[]> {
  const at = (await file.size()) - FOOTER_BYTES;
  if (at < 0) throw new DamageError(0, 'too short for a table');
  const footer = await table.read(at, FOOTER_BYTES);
  if (!footer.subarray(-MAGIC.length).equals(MAGIC)) throw new DamageError(at, 'no table footer');
  const reader = new VarintReader(footer);
  const metaindex = within(at, () => readPlace(reader));
  const index = within(at, () => readPlace(reader));
  const places = [metaindex, index];
  for (const list of [metaindex, index]) {
    const block = await readBlock(table, list);
    const listed = within(list.offset, () => placesIn(block));
    for (const place of listed) places.push(place);
  }
  return places.sort((a, b) => a.offset - b.offset);
}

/** Reads a block and checks its trailer. */
async function readBlock(table: TableReader, place: BlockPlace): Promise<Buffer> {
  const length = place.bytes + TRAILER_BYTES;
  if (length > BLOCK_BYTES_MAX) throw new DamageError(place.offset, 'block beyond its bound');
  const block = await table.read(place.offset, length);
  if (block.length < length) throw new DamageError(place.offset, 'the file ends inside a block');
  const expected = unmaskCrc(block.readUInt32LE(place.bytes + 1));
  if (crc32c(block, 0, place.bytes + 1) !== expected) {
    throw new DamageError(place.offset, 'checksum mismatch');
  }
  if (block[place.bytes] !== PLAIN) throw new DamageError(place.offset, 'a compressed block');
  return block.subarray(0, place.bytes);
}

/** The block places that an index block's entries hold. */
function placesIn(block: Buffer): BlockPlace[] {
  const restarts = block.length >= 4 ? block.readUInt32LE(block.length - 4) : 0;
  const end = block.length - 4 - 4 * restarts;
  if (end < 0) throw new ByteRangeError('too many restarts');
  const reader = new VarintReader(block.subarray(0, end));
  const places: BlockPlace[] = [];
  while (reader.remaining > 0) {
    reader.varint(); // bytes shared with the key before
    const keyBytes = reader.varint();
    const valueBytes = reader.varint();
    reader.raw(keyBytes);
    places.push(readPlace(new VarintReader(reader.raw(valueBytes))));
  }
  return places;
}

function readPlace(reader: VarintReader): BlockPlace {
  return { offset: reader.varint(), bytes: reader.varint() };
}

function within<T>(offset: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ByteRangeError) throw new DamageError(offset, error.message);
    throw error;
  }
}
