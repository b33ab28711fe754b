/**
 * The part of LevelDB's MANIFEST that verification needs: which logs are live, up to which
 * sequence number the tables reach at most, and which tables there must be.
 * Each record is a list of `tag varint | fields`; the last value of a field counts.
 */
import { ByteRangeError } from '../../common/bytes.ts';

const COMPARATOR = 'leveldb.BytewiseComparator';
const LEVELS = 7;

const tag = {
  comparator: 1,
  logNumber: 2,
  nextFileNumber: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  prevLogNumber: 9,
} as const;

export interface ManifestState {
  logNumber: number | undefined;
  nextFileNumber: number | undefined;
  lastSequence: number | undefined;
  /** File number → bytes of the live tables. */
  readonly tables: Map<number, number>;
}

export function emptyManifest(): ManifestState {
  return {
    logNumber: undefined,
    nextFileNumber: undefined,
    lastSequence: undefined,
    tables: new Map(),
  };
}

/** Applies one MANIFEST record to `state`; returns what is wrong with it, or undefined. */
export function applyEdit(state: ManifestState, record: Buffer): string | undefined {
  const reader = new VarintReader(record);
  const added: [number, number][] = [];
  try {
    while (reader.remaining > 0) {
      const what = applyField(state, reader, added);
      if (what !== undefined) return what;
    }
  } catch (error) {
    if (error instanceof ByteRangeError) return error.message;
    throw error;
  }
  for (const [number, size] of added) state.tables.set(number, size);
  return undefined;
}

function applyField(
  state: ManifestState,
  reader: VarintReader,
  added: [number, number][],
): string | undefined {
  const field = reader.varint();
  switch (field) {
    case tag.comparator: {
      const name = reader.bytes().toString('latin1');
      return name === COMPARATOR ? undefined : `comparator ${name}`;
    }
    case tag.logNumber:
      state.logNumber = reader.varint();
      return undefined;
    case tag.nextFileNumber:
      state.nextFileNumber = reader.varint();
      return undefined;
    case tag.lastSequence:
      state.lastSequence = reader.varint();
      return undefined;
    case tag.prevLogNumber:
      return reader.varint() === 0 ? undefined : 'a previous log number';
    case tag.compactPointer:
      reader.level();
      reader.bytes();
      return undefined;
    case tag.deletedFile:
      reader.level();
      state.tables.delete(reader.varint());
      return undefined;
    case tag.newFile: {
      reader.level();
      added.push([reader.varint(), reader.varint()]);
      reader.bytes();
      reader.bytes();
      return undefined;
    }
    default:
      return `unknown field ${field}`;
  }
}

class VarintReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new ByteRangeError('a field ends early');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new ByteRangeError('a number beyond 2^53');
  }

  level(): number {
    const level = this.varint();
    if (level >= LEVELS) throw new ByteRangeError(`level ${level}`);
    return level;
  }

  bytes(): Buffer {
    const length = this.varint();
    if (length > this.remaining) throw new ByteRangeError('a field ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
