/**
 * The value of an entry that is pending in a group. Frozen format:
 *
 *   flags u8 (0) · consumer u32 · delivered u64 · deliveries u64
 */
import { readU64, writeU64 } from '../../../common/bytes.ts';
import { corruptRecord } from '../records/record.ts';

export interface PendingState {
  /** The number of the consumer it is pending for. */
  readonly consumer: number;
  /** When it was last given to one, in milliseconds since 1970. */
  readonly deliveredMs: number;
  /** How often; below 2^53. */
  readonly deliveries: number;
}

/** What the key by consumer leads to: that it is there is all it says. */
export const PENDING_OF_CONSUMER = Buffer.of(0);
const CONSUMER_AT = 1;
const DELIVERED_AT = 5;
const DELIVERIES_AT = 13;
const PENDING_BYTES = 21;

export function encodePending({ consumer, deliveredMs, deliveries }: PendingState): Buffer {
  const encoded = Buffer.alloc(PENDING_BYTES);
  encoded.writeUInt32BE(consumer, CONSUMER_AT);
  writeU64(encoded, deliveredMs, DELIVERED_AT);
  writeU64(encoded, deliveries, DELIVERIES_AT);
  return encoded;
}

/** `key` names it in the error. */
export function decodePending(key: Buffer, value: Buffer): PendingState {
  if (value[0] !== 0) throw corruptRecord(key, `flags ${value[0]} of a pending entry unknown`);
  if (value.length !== PENDING_BYTES) throw corruptRecord(key, 'a pending entry is cut');
  return {
    consumer: value.readUInt32BE(CONSUMER_AT),
    deliveredMs: readU64(value, DELIVERED_AT),
    deliveries: readU64(value, DELIVERIES_AT),
  };
}
