/**
 * The mark of an entry with a FLUSHALL while the partition's range is cleared: from here on the
 * engine's data is that of no index until the entry is in it as a whole. What the commands before
 * the FLUSHALL leave is in the engine with the mark, so whoever applies the entry again, after a
 * loss of power or on a snapshot, does not run them on what is left of the data. Frozen format:
 *
 *   system  `emptying` → u8 version · index of the entry u64 · random numbers drawn by then u64
 */
import { ByteReader, writeU64 } from '../../../common/bytes.ts';
import type { LogIndex } from '../../../common/ids.ts';
import { unknownVersion } from '../records/record.ts';
import { systemKey } from '../records/system.ts';
import type { View, WriteView } from '../txn/view.ts';

const EMPTYING_KEY = systemKey('emptying');
const VERSION = 1;
const BYTES = 17;

export interface Emptying {
  readonly index: LogIndex;
  /** How many random numbers the commands before the FLUSHALL have taken. */
  readonly draws: number;
}

/** Undefined: the data is that of the applied index. Throws KvorumError CORRUPT. */
export function findEmptying(view: View): Emptying | undefined {
  const bytes = view.get(EMPTYING_KEY);
  if (bytes === undefined) return undefined;
  if (bytes.length !== BYTES || bytes[0] !== VERSION) {
    throw unknownVersion(EMPTYING_KEY, 'mark of a FLUSHALL', bytes[0], VERSION);
  }
  const reader = new ByteReader(bytes, 1);
  return { index: reader.u64(), draws: reader.u64() };
}

export function markEmptying(view: WriteView, { index, draws }: Emptying): void {
  const bytes = Buffer.allocUnsafe(BYTES);
  bytes[0] = VERSION;
  writeU64(bytes, index, 1);
  writeU64(bytes, draws, 9);
  view.put(EMPTYING_KEY, bytes);
}

/** The entry is in the engine with this change. */
export function unmarkEmptying(view: WriteView): void {
  view.del(EMPTYING_KEY);
}
