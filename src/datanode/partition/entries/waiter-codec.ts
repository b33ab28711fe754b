/**
 * What an entry carries of clients that wait (see waiters.ts), behind the commands of its body.
 * Frozen format:
 *
 *   u32 keys that are ready, each: u32 length, key
 *   u32 waiters, each: u8 flags (1: asked, 2: RESP3) · u32 length, id · u32 arguments, each:
 *     u32 length, bytes
 *   u32 confirmed ids, each: u32 length, id
 */
import { ByteRangeError, type ByteReader, type ByteWriter } from '../../../common/bytes.ts';
import type { Protocol } from '../../resp/reply.ts';
import type { CommandLine } from './batch.ts';

const ASKED = 1;
const RESP3 = 2;

/** A client's request that waits, under an id that no other ever has. */
export interface CarriedWaiter {
  readonly id: Buffer;
  readonly line: CommandLine;
  /** Its reply is kept as bytes of this. */
  readonly protocol: Protocol;
  /** Whether it has something to wait for is not known yet: it runs, as if sent just now. */
  readonly asked: boolean;
}

export interface WaitingPart {
  /** Keys that had something for those who wait before the entry. */
  readonly ready: readonly Buffer[];
  /** The longest waiting first. */
  readonly waiters: readonly CarriedWaiter[];
  /** Ids whose replies have arrived: they need not be kept. */
  readonly confirmed: readonly Buffer[];
}

/** Bytes that a waiter adds to an entry. */
export function waiterBytes({ id, line }: Pick<CarriedWaiter, 'id' | 'line'>): number {
  return line.reduce((sum, argument) => sum + 4 + argument.length, 9 + id.length);
}

export function encodeWaiting(writer: ByteWriter, part: WaitingPart): void {
  encodeList(writer, part.ready);
  writer.u32(part.waiters.length);
  for (const { id, line, protocol, asked } of part.waiters) {
    writer.u8((asked ? ASKED : 0) | (protocol === 3 ? RESP3 : 0)).bytes(id);
    encodeList(writer, line);
  }
  encodeList(writer, part.confirmed);
}

/** Throws ByteRangeError. */
export function decodeWaiting(reader: ByteReader): WaitingPart {
  const ready = decodeList(reader);
  const waiters: CarriedWaiter[] = [];
  for (let left = reader.u32(); left > 0; left--) {
    const flags = reader.u8();
    if ((flags & ~(ASKED | RESP3)) !== 0) throw new ByteRangeError(`waiter flags ${flags}`);
    const id = reader.bytes();
    const line = decodeList(reader);
    if (line.length === 0) throw new ByteRangeError('a waiter without a command');
    const protocol = (flags & RESP3) === 0 ? 2 : 3;
    waiters.push({ id, line, protocol, asked: (flags & ASKED) !== 0 });
  }
  return { ready, waiters, confirmed: decodeList(reader) };
}

export function encodeList(writer: ByteWriter, items: readonly Buffer[]): void {
  writer.u32(items.length);
  for (const item of items) writer.bytes(item);
}

export function decodeList(reader: ByteReader): Buffer[] {
  const items: Buffer[] = [];
  for (let left = reader.u32(); left > 0; left--) items.push(reader.bytes());
  return items;
}
