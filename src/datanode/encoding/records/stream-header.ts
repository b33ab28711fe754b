/**
 * What a stream adds to its header, whose size is the number of its entries (a stream may have none).
 * Frozen format:
 *
 *   lastId 16 bytes · firstId 16 · maxDeletedId 16 · entriesAdded u64 · groups u32 · nextGroup u32
 */
import { copyInto, readU64, writeU32, writeU64 } from '../../../common/bytes.ts';
import { corruptRecord } from './record.ts';
import { MIN_STREAM_ID, readStreamId, STREAM_ID_BYTES, type StreamId } from './stream-id.ts';

export interface StreamExtra {
  /** The last one that an entry was given, or that XSETID has set: new ones are greater. */
  readonly lastId: StreamId;
  /** Of the first entry there is; 0-0 of none. Walks begin here, past all that was trimmed. */
  readonly firstId: StreamId;
  /** The greatest one that XDEL has removed; 0-0: none. */
  readonly maxDeletedId: StreamId;
  /** How many were ever added; below 2^53. */
  readonly entriesAdded: number;
  /** How many consumer groups there are. */
  readonly groups: number;
  /** The number of the next group. */
  readonly nextGroup: number;
}

export const EMPTY_STREAM: StreamExtra = {
  lastId: MIN_STREAM_ID,
  firstId: MIN_STREAM_ID,
  maxDeletedId: MIN_STREAM_ID,
  entriesAdded: 0,
  groups: 0,
  nextGroup: 0,
};

const FIRST_AT = STREAM_ID_BYTES;
const MAX_DELETED_AT = 2 * STREAM_ID_BYTES;
const ADDED_AT = 3 * STREAM_ID_BYTES;
const GROUPS_AT = ADDED_AT + 8;
const NEXT_GROUP_AT = GROUPS_AT + 4;
const EXTRA_BYTES = NEXT_GROUP_AT + 4;

export function encodeStreamExtra(extra: StreamExtra): Buffer {
  const encoded = Buffer.allocUnsafe(EXTRA_BYTES);
  copyInto(encoded, extra.lastId, 0);
  copyInto(encoded, extra.firstId, FIRST_AT);
  copyInto(encoded, extra.maxDeletedId, MAX_DELETED_AT);
  writeU64(encoded, extra.entriesAdded, ADDED_AT);
  writeU32(encoded, extra.groups, GROUPS_AT);
  writeU32(encoded, extra.nextGroup, NEXT_GROUP_AT);
  return encoded;
}

/** `place`, the key of the record, names it in the error. */
export function decodeStreamExtra(place: Buffer, extra: Buffer): StreamExtra {
  if (extra.length !== EXTRA_BYTES) throw corruptRecord(place, 'its stream header is cut');
  return {
    lastId: readStreamId(extra, 0),
    firstId: readStreamId(extra, FIRST_AT),
    maxDeletedId: readStreamId(extra, MAX_DELETED_AT),
    entriesAdded: readU64(extra, ADDED_AT),
    groups: extra.readUInt32BE(GROUPS_AT),
    nextGroup: extra.readUInt32BE(NEXT_GROUP_AT),
  };
}
