/**
 * Which keys of a partition change, between datanodes: bodies of the transport's request channel. A
 * node of an older build answers BAD_FRAME: clients of this one cache nothing of what it leads. Frozen
 * format, version 1:
 *
 *   question  u8 0x43 · u8 version · text namespace · u32 partition · u64 group · u8 1 if it is to be
 *             proven, else 0 · u64 index behind which they are asked for + 1, 0: none
 *   answer    u8 version · u8 1 told: u64 up to · u8 bits: 1 anew, 2 proven · u32 changes, each: u64 index
 *             · u8 bits: 1 alone, 2 all · u32 keys, each: u32 length, bytes
 *             or u8 2 failed: text error code, text message
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';
import { decodeErrorCode, decodeFrame } from '../../common/decode.ts';
import type { GroupId, Namespace, PartitionId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ChangedKeys, ChangesAnswer, ChangesRequest } from '../partition/entries/changes.ts';
import { requestTags } from '../transport/request-tags.ts';

const VERSION = 1;
const [TOLD, FAILED] = [1, 2] as const;

export interface ChangesPlace {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly group: GroupId;
}

export type ChangesQuestion = ChangesPlace & Omit<ChangesRequest, 'ofReplica'>;

export function isChangesQuestion(body: Buffer): boolean {
  return body[0] === requestTags.changes;
}

export function encodeChangesQuestion(question: ChangesQuestion): Buffer {
  const { namespace, partition, group, proves, after } = question;
  const writer = new ByteWriter(64).u8(requestTags.changes).u8(VERSION).text(namespace);
  writer
    .u32(partition)
    .u64(group)
    .u8(proves ? 1 : 0);
  return writer.u64(after === undefined ? 0 : after + 1).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeChangesQuestion(body: Buffer): ChangesQuestion {
  return decodeFrame('question about changes', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const [namespace, partition, group] = [reader.text(), reader.u32(), reader.u64()];
    const proves = decodeBits(reader.u8(), 1) === 1;
    const behind = reader.u64();
    reader.end();
    return { namespace, partition, group, proves, after: behind === 0 ? undefined : behind - 1 };
  });
}

export function encodeChangesAnswer(answer: ChangesAnswer): Buffer {
  const writer = new ByteWriter(256).u8(VERSION);
  if (answer.kind === 'failed') {
    return writer.u8(FAILED).text(answer.code).text(answer.message).finish();
  }
  const { upTo, anew, proven, changes } = answer;
  writer
    .u8(TOLD)
    .u64(upTo)
    .u8((anew ? 1 : 0) | (proven ? 2 : 0))
    .u32(changes.length);
  for (const { index, alone, all, keys } of changes) {
    writer
      .u64(index)
      .u8((alone ? 1 : 0) | (all ? 2 : 0))
      .u32(keys.length);
    for (const key of keys) writer.bytes(key);
  }
  return writer.finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeChangesAnswer(body: Buffer): ChangesAnswer {
  return decodeFrame('answer about changes', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const form = reader.u8();
    if (form === FAILED) {
      const failed = { code: decodeErrorCode(reader.text()), message: reader.text() };
      reader.end();
      return { kind: 'failed', ...failed };
    }
    if (form !== TOLD) throw new ByteRangeError(`form ${form}`);
    const upTo = reader.u64();
    const bits = decodeBits(reader.u8(), 3);
    const changes: ChangedKeys[] = [];
    for (let left = decodeCount(reader); left > 0; left--) changes.push(decodeChange(reader));
    reader.end();
    return { kind: 'told', upTo, anew: (bits & 1) !== 0, proven: (bits & 2) !== 0, changes };
  });
}

function decodeChange(reader: ByteReader): ChangedKeys {
  const index = reader.u64();
  const bits = decodeBits(reader.u8(), 3);
  const keys: Buffer[] = [];
  for (let left = decodeCount(reader); left > 0; left--) keys.push(reader.bytes());
  return { index, alone: (bits & 1) !== 0, all: (bits & 2) !== 0, keys };
}

function decodeCount(reader: ByteReader): number {
  const count = reader.u32();
  if (count > 2 * limits.changes.kept) throw new ByteRangeError(`a count of ${count}`);
  return count;
}

function decodeBits(bits: number, highest: number): number {
  if (bits > highest) throw new ByteRangeError(`bits ${bits}`);
  return bits;
}
