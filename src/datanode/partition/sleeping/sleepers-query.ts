/**
 * Asking a node which of the groups that sleep here under its lead sleep there as well. Frozen
 * formats, version 1, in the transport's request channel:
 *
 *   query   u8 0x5a · u8 version · u16 count · each: u64 group · u64 term
 *   answer  u8 version · each: u8 0 no, 1 its leader of that term is there and sleeps
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { decodeFrame } from '../../../common/decode.ts';
import type { GroupId, Term } from '../../../common/ids.ts';
import { requestTags } from '../../transport/request-tags.ts';

const VERSION = 1;
/** Of one query; of more groups it is not asked which. */
export const SLEEPERS_MAX = 16_384;

export interface SleepingGroup {
  readonly group: GroupId;
  readonly term: Term;
}

export function isSleepersQuery(body: Buffer): boolean {
  return body[0] === requestTags.sleepers;
}

/** Up to `SLEEPERS_MAX` groups. */
export function encodeSleepersQuery(groups: readonly SleepingGroup[]): Buffer {
  const writer = new ByteWriter(16 + 16 * groups.length)
    .u8(requestTags.sleepers)
    .u8(VERSION)
    .u16(groups.length);
  for (const { group, term } of groups) writer.u64(group).u64(term);
  return writer.finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeSleepersQuery(body: Buffer): SleepingGroup[] {
  return decodeFrame('query about sleepers', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const count = reader.u16();
    if (count > SLEEPERS_MAX) throw new ByteRangeError(`${count} groups asked for`);
    const groups = Array.from({ length: count }, () => ({
      group: reader.u64(),
      term: reader.u64(),
    }));
    reader.end();
    return groups;
  });
}

export function encodeSleepersAnswer(asleep: readonly boolean[]): Buffer {
  const writer = new ByteWriter(8 + asleep.length).u8(VERSION);
  for (const one of asleep) writer.u8(one ? 1 : 0);
  return writer.finish();
}

/** As many as were asked for; throws KvorumError BAD_FRAME. */
export function decodeSleepersAnswer(body: Buffer, count: number): boolean[] {
  return decodeFrame('answer about sleepers', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const asleep = Array.from({ length: count }, () => {
      const answer = reader.u8();
      if (answer > 1) throw new ByteRangeError(`unknown answer ${answer}`);
      return answer === 1;
    });
    reader.end();
    return asleep;
  });
}
