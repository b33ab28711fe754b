/**
 * The value of a consumer group. Frozen format:
 *
 *   flags u8 (0) · number u32 · lastId 16 bytes · earliestId 16 · furthestId 16 · entriesRead u64 (all ones:
 *   not known) · pending u64 · consumers u32 · nextConsumer u32
 */
import { readU64, writeU64 } from '../../../common/bytes.ts';
import { corruptRecord } from '../records/record.ts';
import { readStreamId, STREAM_ID_BYTES, type StreamId } from '../records/stream-id.ts';

export interface GroupState {
  /** Stands for its name in the keys of what it has. */
  readonly number: number;
  /** The last entry that one of its consumers was given, or the ID it was told to begin behind. */
  readonly lastId: StreamId;
  /** Nothing before this ID is pending: walks begin here, past all that was acknowledged. */
  readonly earliestId: StreamId;
  /** The greatest ID that was ever pending: none behind it is, which need not be looked up. */
  readonly furthestId: StreamId;
  /** How many entries of the stream it has read; undefined: not known. Below 2^53. */
  readonly entriesRead: number | undefined;
  /** How many entries are pending. */
  readonly pending: number;
  readonly consumers: number;
  /** The number of its next consumer. */
  readonly nextConsumer: number;
}

const NUMBER_AT = 1;
const LAST_AT = 5;
const EARLIEST_AT = LAST_AT + STREAM_ID_BYTES;
const FURTHEST_AT = EARLIEST_AT + STREAM_ID_BYTES;
const READ_AT = FURTHEST_AT + STREAM_ID_BYTES;
const PENDING_AT = READ_AT + 8;
const CONSUMERS_AT = PENDING_AT + 8;
const NEXT_AT = CONSUMERS_AT + 4;
const GROUP_BYTES = NEXT_AT + 4;

export function encodeGroup(group: GroupState): Buffer {
  const encoded = Buffer.alloc(GROUP_BYTES);
  encoded.writeUInt32BE(group.number, NUMBER_AT);
  encoded.set(group.lastId, LAST_AT);
  encoded.set(group.earliestId, EARLIEST_AT);
  encoded.set(group.furthestId, FURTHEST_AT);
  if (group.entriesRead === undefined) encoded.fill(0xff, READ_AT, READ_AT + 8);
  else writeU64(encoded, group.entriesRead, READ_AT);
  writeU64(encoded, group.pending, PENDING_AT);
  encoded.writeUInt32BE(group.consumers, CONSUMERS_AT);
  encoded.writeUInt32BE(group.nextConsumer, NEXT_AT);
  return encoded;
}

/** `key` names the group in the error. */
export function decodeGroup(key: Buffer, value: Buffer): GroupState {
  if (value[0] !== 0) throw corruptRecord(key, `flags ${value[0]} of a consumer group unknown`);
  if (value.length !== GROUP_BYTES) throw corruptRecord(key, 'a consumer group is cut');
  return {
    number: value.readUInt32BE(NUMBER_AT),
    lastId: readStreamId(value, LAST_AT),
    earliestId: readStreamId(value, EARLIEST_AT),
    furthestId: readStreamId(value, FURTHEST_AT),
    entriesRead: isUnknown(value) ? undefined : readU64(value, READ_AT),
    pending: readU64(value, PENDING_AT),
    consumers: value.readUInt32BE(CONSUMERS_AT),
    nextConsumer: value.readUInt32BE(NEXT_AT),
  };
}

function isUnknown(value: Buffer): boolean {
  return value.readUInt32BE(READ_AT) === 0xffff_ffff;
}
