/** IDs as arguments of stream commands (redis.io, XADD, XRANGE). */
import {
  idAfter,
  idBefore,
  MAX_STREAM_ID,
  MIN_STREAM_ID,
  parseStreamId,
  parseU64,
  type StreamId,
} from '../../encoding/records/stream-id.ts';
import { textBytes } from '../rows/args.ts';
import { ArgumentError } from '../rows/command.ts';

export const INVALID_ID = 'ERR Invalid stream ID specified as stream command argument';
const SEQUENCE_MAX = 2n ** 64n - 1n;
const EXCLUSIVE = 0x28;
const STAR = 0x2a;

export function invalid(): ArgumentError {
  return new ArgumentError(INVALID_ID);
}

/** An ID, not `-` or `+`; milliseconds alone get `sequence`. */
export function idArgument(arg: Buffer, sequence = 0n): StreamId {
  const id = parseStreamId(arg, sequence);
  if (id === undefined) throw invalid();
  return id;
}

/** What a new entry is to be called; `milliseconds` without a sequence: the next one in them. */
export type NewId =
  | { readonly kind: 'given'; readonly id: StreamId }
  | { readonly kind: 'in'; readonly milliseconds: bigint }
  | { readonly kind: 'next' };

const NEXT: NewId = { kind: 'next' };

/** `*`, `ms-*`, `ms-seq` or `ms`. */
export function newIdArgument(arg: Buffer): NewId {
  if (arg.length === 1 && arg[0] === STAR) return NEXT;
  const text = textBytes(arg).toString('latin1');
  if (text === '*') return NEXT;
  if (text.endsWith('-*') && text.indexOf('-') === text.length - 2) {
    const milliseconds = parseU64(text.slice(0, -2));
    if (milliseconds === undefined) throw invalid();
    return { kind: 'in', milliseconds };
  }
  return { kind: 'given', id: idArgument(arg) };
}

/** The first ID of an interval: `-`, `+`, an ID, or `(` and an ID that is not part of it. */
export function intervalStart(arg: Buffer): StreamId {
  const { id, exclusive } = boundArgument(arg, 0n);
  const start = exclusive ? idAfter(id) : id;
  if (start === undefined) throw new ArgumentError('ERR invalid start ID for the interval');
  return start;
}

/** The same for the last one, where milliseconds alone mean all of their sequences. */
export function intervalEnd(arg: Buffer): StreamId {
  const { id, exclusive } = boundArgument(arg, SEQUENCE_MAX);
  const end = exclusive ? idBefore(id) : id;
  if (end === undefined) throw new ArgumentError('ERR invalid end ID for the interval');
  return end;
}

function boundArgument(arg: Buffer, sequence: bigint) {
  if (arg[0] === EXCLUSIVE && arg.length > 1) {
    return { id: idArgument(arg.subarray(1), sequence), exclusive: true };
  }
  return { id: edgeOrIdArgument(arg, sequence), exclusive: false };
}

/** An ID, or `-` and `+` for the least and the greatest possible. */
export function edgeOrIdArgument(arg: Buffer, sequence = 0n): StreamId {
  const text = textBytes(arg).toString('latin1');
  if (text === '-') return MIN_STREAM_ID;
  return text === '+' ? MAX_STREAM_ID : idArgument(arg, sequence);
}
