/**
 * Asking a node whether replicas of groups run there, or whether it knows that the group was given
 * up for one that was rebuilt. Frozen formats, version 1, in the transport's request channel:
 *
 *   query   u8 0x53 · u8 version · u16 count · each: u64 group · u64 replica
 *   answer  u8 version · each: u8 0 not here, 1 runs, 2 the group was given up
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { decodeFrame } from '../../../common/decode.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { GroupId, ReplicaId } from '../../../common/ids.ts';
import { requestTags } from '../../transport/request-tags.ts';

const VERSION = 1;
/** Of one query. */
export const STANDINGS_MAX = 4_096;

const standings = ['absent', 'runs', 'given-up'] as const;
export type Standing = (typeof standings)[number];

export interface Asked {
  readonly group: GroupId;
  readonly replica: ReplicaId;
}

export function isStandingQuery(body: Buffer): boolean {
  return body[0] === requestTags.standing;
}

export function encodeStandingQuery(asked: readonly Asked[]): Buffer {
  const writer = new ByteWriter(16 + 16 * asked.length)
    .u8(requestTags.standing)
    .u8(VERSION)
    .u16(asked.length);
  for (const { group, replica } of asked) writer.u64(group).u64(replica);
  return writer.finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeStandingQuery(body: Buffer): Asked[] {
  return decodeFrame('standing query', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const count = reader.u16();
    if (count > STANDINGS_MAX) throw new ByteRangeError(`${count} replicas asked for`);
    const asked = Array.from({ length: count }, () => ({
      group: reader.u64(),
      replica: reader.u64(),
    }));
    reader.end();
    return asked;
  });
}

export function encodeStandings(answers: readonly Standing[]): Buffer {
  const writer = new ByteWriter(8 + answers.length).u8(VERSION);
  for (const answer of answers) writer.u8(standings.indexOf(answer));
  return writer.finish();
}

/** As many as were asked for; throws KvorumError BAD_FRAME. */
export function decodeStandings(body: Buffer, count: number): Standing[] {
  return decodeFrame('standings', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const answers = Array.from({ length: count }, () => {
      const standing = standings[reader.u8()];
      if (standing === undefined) throw new KvorumError('BAD_FRAME', 'standings: unknown answer');
      return standing;
    });
    reader.end();
    return answers;
  });
}
