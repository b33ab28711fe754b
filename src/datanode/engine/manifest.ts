/**
 * The part of LevelDB's MANIFEST that verification needs: which logs are live, up to which
 * sequence number the tables reach at most, and which tables there must be.
 * Each record is a list of `tag varint | fields`; the last value of a field counts.
 */
import { ByteRangeError } from '../../common/bytes.ts';
import { VarintReader } from './varint.ts';

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
      readLevel(reader);
      reader.bytes();
      return undefined;
    case tag.deletedFile:
      readLevel(reader);
      state.tables.delete(reader.varint());
      return undefined;
    case tag.newFile: {
      readLevel(reader);
      added.push([reader.varint(), reader.varint()]);
      reader.bytes();
      reader.bytes();
      return undefined;
    }
    default:
      return `unknown field ${field}`;
  }
}

function readLevel(reader: VarintReader): number {
  const level = reader.varint();
  if (level >= LEVELS) throw new ByteRangeError(`level ${level}`);
  return level;
}
