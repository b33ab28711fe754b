/** What an entry of a log carries. */
import { decodeEnvelope } from '../../../src/datanode/partition/envelope.ts';
import type { CarriedWaiter } from '../../../src/datanode/partition/waiter-codec.ts';

type Line = readonly Buffer[];

/** Its commands; none of the leader's own entries. */
export function linesOf(data: Uint8Array): readonly Line[] {
  const { body } = decodeEnvelope(data);
  return body.family === 'redis' ? body.lines : [];
}

/** The clients that wait. */
export function waitersOf(data: Uint8Array): readonly CarriedWaiter[] {
  const { body } = decodeEnvelope(data);
  return body.family === 'redis' ? (body.waiting?.waiters ?? []) : [];
}
