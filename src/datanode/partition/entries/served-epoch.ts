/**
 * The context of a membership change in the log: which wanted record it serves (decision 17).
 * Frozen format, version 1:  u8 version · u64 epoch
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { Epoch } from '../../../common/ids.ts';

const VERSION = 1;

export function encodeServedEpoch(epoch: Epoch): Buffer {
  return new ByteWriter(16).u8(VERSION).u64(epoch).finish();
}

/** Throws KvorumError CORRUPT, or TOO_NEW. */
export function decodeServedEpoch(context: Uint8Array): Epoch {
  try {
    const reader = new ByteReader(Buffer.from(context));
    const version = reader.u8();
    if (version > VERSION) {
      const text = `a membership change in the log: the epoch it serves is of version ${version}`;
      throw new KvorumError('TOO_NEW', `${text}; upgrade kvorum on this node`);
    }
    if (version !== VERSION) throw new ByteRangeError(`unknown version ${version}`);
    const epoch = reader.u64();
    reader.end();
    return epoch;
  } catch (cause) {
    if (!(cause instanceof ByteRangeError)) throw cause;
    const text = `a membership change in the log: ${cause.message}`;
    throw new KvorumError('CORRUPT', text, { cause });
  }
}
