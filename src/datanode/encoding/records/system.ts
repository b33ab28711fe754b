/**
 * A replica's own records, apart from its users' data: name in, bytes out. They join the same
 * atomic batches, so what they say is always true of the data beside them.
 */
import { ByteReader, writeU64 } from '../../../common/bytes.ts';
import type { View, WriteView } from '../txn/view.ts';
import { unknownVersion } from './record.ts';
import { tags } from './tags.ts';

/** Names are ASCII and frozen: they are on disk. */
export function systemKey(name: string): Buffer {
  return Buffer.concat([Buffer.from([tags.system]), Buffer.from(name, 'latin1')]);
}

/** The replica's state (applied index and term, time, configuration): partition/storage/state.ts. */
export const STATE_KEY = systemKey('state');

/** Compared by identity: whoever reads or writes the counts has this one. */
export const COUNTS_KEY = systemKey('counts');
const COUNTS_VERSION = 1;
const COUNTS_BYTES = 17;

/** Keys of the partition, and those of them with a deadline; expired ones count until deleted. */
export interface Counts {
  readonly keys: number;
  readonly expires: number;
}

export function readCounts(view: View): Counts {
  const bytes = view.get(COUNTS_KEY);
  if (bytes === undefined) return { keys: 0, expires: 0 };
  if (bytes.length !== COUNTS_BYTES || bytes[0] !== COUNTS_VERSION) {
    throw unknownVersion(COUNTS_KEY, 'key counts', bytes[0], COUNTS_VERSION);
  }
  const reader = new ByteReader(bytes, 1);
  return { keys: reader.u64(), expires: reader.u64() };
}

export function writeCounts(view: WriteView, { keys, expires }: Counts): void {
  const bytes = Buffer.allocUnsafe(COUNTS_BYTES);
  bytes[0] = COUNTS_VERSION;
  writeU64(bytes, keys, 1);
  writeU64(bytes, expires, 9);
  view.put(COUNTS_KEY, bytes);
}
