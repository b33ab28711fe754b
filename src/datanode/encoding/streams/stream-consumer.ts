/**
 * The value of a consumer of a group. Frozen format:
 *
 *   flags u8 (0) · number u32 · seen u64 · active u64 (0: never) · pending u64
 */
import { readU64, writeU64 } from '../../../common/bytes.ts';
import { corruptRecord } from '../records/record.ts';

export interface ConsumerState {
  /** Stands for its name in what is pending for it. */
  readonly number: number;
  /** When it last asked for anything, in milliseconds since 1970. */
  readonly seenMs: number;
  /** When it was last given or claimed something; 0: never. */
  readonly activeMs: number;
  /** How many entries are pending for it. */
  readonly pending: number;
}

const NUMBER_AT = 1;
const SEEN_AT = 5;
const ACTIVE_AT = 13;
const PENDING_AT = 21;
const CONSUMER_BYTES = 29;

export function encodeConsumer({ number, seenMs, activeMs, pending }: ConsumerState): Buffer {
  const encoded = Buffer.alloc(CONSUMER_BYTES);
  encoded.writeUInt32BE(number, NUMBER_AT);
  writeU64(encoded, seenMs, SEEN_AT);
  writeU64(encoded, activeMs, ACTIVE_AT);
  writeU64(encoded, pending, PENDING_AT);
  return encoded;
}

/** `key` names the consumer in the error. */
export function decodeConsumer(key: Buffer, value: Buffer): ConsumerState {
  if (value[0] !== 0) throw corruptRecord(key, `flags ${value[0]} of a consumer unknown`);
  if (value.length !== CONSUMER_BYTES) throw corruptRecord(key, 'a consumer is cut');
  return {
    number: value.readUInt32BE(NUMBER_AT),
    seenMs: readU64(value, SEEN_AT),
    activeMs: readU64(value, ACTIVE_AT),
    pending: readU64(value, PENDING_AT),
  };
}

/** What the key of a consumer's number leads to: flags u8 (0) · its name. */
export function encodeConsumerName(name: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0), name]);
}

export function decodeNumberedName(key: Buffer, value: Buffer): Buffer {
  if (value[0] !== 0) throw corruptRecord(key, `flags ${value[0]} of a consumer's name unknown`);
  return Buffer.from(value.subarray(1));
}
