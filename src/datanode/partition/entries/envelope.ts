/**
 * What a log entry holds (decision 6): the commands proposed to a group in one turn, with the time
 * and the random seed that every replica uses instead of its own. Frozen format, version 1:
 *
 *   u8 version · u8 family · u16 apply version · u64 time (ms since 1970) · u32 seed · body
 *   redis body:    u32 commands, each: u8 flags (0; bits reserved for session, origin),
 *                  u32 arguments, each: u32 length, bytes; from apply version 2 on, which an entry
 *                  has only if there are any: waiters (waiter-codec.ts); from apply version 3 on,
 *                  which an entry has only if there are any: u32 batches that take effect once,
 *                  each: u32 first command, u32 commands, u32 length, session id, u64 sequence,
 *                  u64 lowest sequence without an answer; apply version 4, which an entry has only
 *                  if there are such commands: DUMP and RESTORE know the deadlines of hash fields;
 *                  apply version 5 likewise: commands and options newer than Redis 7.4; 6: scripts, whose
 *                  entries have the highest that all members of the group apply; 7: streams; 8:
 *                  functions; 9 and 10: what later versions of Redis do and have, and Lua does
 *   internal body: u8 operation; `time`: nothing · `expire`: u32 keys, each: u64 deadline, u32
 *                  length, engine key of the header
 */
import {
  asBuffer,
  ByteRangeError,
  ByteReader,
  ByteWriter,
  readU64,
} from '../../../common/bytes.ts';
import { hasRoom, surround } from '../../../common/bytes-with-room.ts';
import { KvorumError } from '../../../common/errors.ts';
import { listFor } from '../../../common/list-for.ts';
import { newestIn } from '../../commands/table/applies-from.ts';
import type { OnceMark } from '../../encoding/sessions/sessions.ts';
import type { Pacing } from '../../encoding/steps/slices.ts';
import type { CommandLine } from './batch.ts';
import { decodeWaiting, encodeWaiting, type WaitingPart } from './waiter-codec.ts';

const ENVELOPE_VERSION = 1;
/** Highest apply version this build executes; a replica that meets a newer one stops. */
export const APPLY_VERSION = 10;
/** What nodes are taken to execute that do not say it: the last build that did not had this one. */
export const UNTOLD_APPLY_VERSION = 4;
/** That of entries without what came later: older builds apply them as well. */
const PLAIN_VERSION = 1;
const WAITING_VERSION = 2;
const ONCE_VERSION = 3;

const FAMILY = { redis: 1, topic: 2, schema: 3, internal: 4 } as const;
const INTERNAL = { time: 1, expire: 2 } as const;
const TIME_OFFSET = 4;
const HEADER_BYTES = 16;
/** Of the body, without commands. */
const LINES_BYTES = 4;
/** Room to begin with, where it is not counted. */
const INTERNAL_BYTES = 64;
const AROUND_BYTES = 256;
/** Entries from this size on may have an argument that is worth to be looked for. */
const LARGE_BYTES = 262_144;
const NO_BYTES = Buffer.alloc(0);

/** A key that is due: its user key and the deadline it had when the leader saw it. */
export interface DueKey {
  readonly key: Buffer;
  readonly deadlineMs: number;
}

/** Consecutive commands of the entry that take effect once, all together. */
export interface OnceLines extends OnceMark {
  readonly first: number;
  readonly count: number;
}

export type EnvelopeBody =
  | {
      readonly family: 'redis';
      readonly lines: readonly CommandLine[];
      readonly waiting?: WaitingPart;
      readonly once?: readonly OnceLines[];
      /** Told by decoding, where commands ask for one: all builds that apply it know as much. */
      readonly applyVersion?: number;
    }
  | { readonly family: 'internal'; readonly operation: 'time' }
  | {
      readonly family: 'internal';
      readonly operation: 'expire';
      readonly keys: readonly DueKey[];
    };

export interface Envelope {
  readonly timeMs: number;
  readonly seed: number;
  readonly body: EnvelopeBody;
}

/** Bytes one command adds to an entry. */
export function lineBytes(line: CommandLine): number {
  let total = 5;
  for (const argument of line) total += 4 + argument.length;
  return total;
}

/** The highest apply version that all who are to apply an entry know. */
export type KnownToAll = () => number;

/**
 * A large argument with room around it is not copied: the entry is made where it is. What a script is
 * to run cannot be seen, so its entry is of the highest version that is `knownToAll`; and so is one with a
 * command that has changed.
 */
export function encodeEnvelope(envelope: Envelope, knownToAll?: KnownToAll): Buffer {
  const { body } = envelope;
  const version = applyVersionOf(body, knownToAll);
  if (body.family !== 'redis') return encode(envelope, version, INTERNAL_BYTES).entry;
  const bytes = body.lines.reduce((sum, line) => sum + lineBytes(line), LINES_BYTES);
  const large = bytes < LARGE_BYTES ? undefined : findRoomy(body.lines, bytes);
  return (
    (large && encodeAround(large, envelope, version)) ?? encode(envelope, version, bytes).entry
  );
}

/** The argument of `lines`, which take `bytes`, that has room around it for the rest. */
function findRoomy(lines: readonly CommandLine[], bytes: number): Buffer | undefined {
  for (const line of lines) {
    const found = line.find((argument) => hasRoom(argument, bytes - argument.length));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Undefined where there is not room enough for the rest. */
function encodeAround(large: Buffer, envelope: Envelope, version: number): Buffer | undefined {
  const { entry, cut } = encode(envelope, version, AROUND_BYTES, large);
  return surround(large, entry.subarray(0, cut), entry.subarray(cut));
}

/** The entry; without the bytes of `apart`, which belong at `cut`. */
function encode(
  { timeMs, seed, body }: Envelope,
  version: number,
  bytes: number,
  apart?: Buffer,
): { readonly entry: Buffer; readonly cut: number } {
  const { waiting, once } = body.family === 'redis' ? body : NEITHER;
  const writer = new ByteWriter(HEADER_BYTES + bytes)
    .u8(ENVELOPE_VERSION)
    .u8(FAMILY[body.family])
    .u16(version)
    .u64(timeMs)
    .u32(seed);
  let cut = 0;
  if (body.family === 'redis') cut = encodeLines(writer, body.lines, apart);
  else encodeInternal(writer, body);
  if (version >= WAITING_VERSION) encodeWaiting(writer, waiting ?? NOBODY);
  if (version >= ONCE_VERSION) encodeOnce(writer, once ?? []);
  return { entry: writer.finish(), cut };
}

/** The lowest of which all that is in it can be told. */
function applyVersionOf(body: EnvelopeBody, knownToAll?: KnownToAll): number {
  if (body.family !== 'redis') return PLAIN_VERSION;
  let version = body.waiting === undefined ? PLAIN_VERSION : WAITING_VERSION;
  if (body.once !== undefined) version = ONCE_VERSION;
  let ofHighest = false;
  const look = (line: CommandLine) => {
    const newest = newestIn(line);
    version = Math.max(version, newest.version);
    ofHighest ||= newest.ofHighest === true;
  };
  for (const line of body.lines) look(line);
  // whoever does not know what a client waits by cannot serve it
  for (const { line } of body.waiting?.waiters ?? []) look(line);
  return ofHighest && knownToAll !== undefined ? Math.max(version, knownToAll()) : version;
}

const NEITHER = { waiting: undefined, once: undefined };
const NOBODY: WaitingPart = { ready: [], waiters: [], confirmed: [] };

function encodeOnce(writer: ByteWriter, batches: readonly OnceLines[]): void {
  writer.u32(batches.length);
  for (const { first, count, id, sequence, low } of batches) {
    writer.u32(first).u32(count).bytes(id).u64(sequence).u64(low);
  }
}

/** Where the bytes of `apart` belong, which it leaves out once. */
function encodeLines(
  writer: ByteWriter,
  lines: readonly CommandLine[],
  apart: Buffer | undefined,
): number {
  let cut = 0;
  writer.u32(lines.length);
  for (const line of lines) {
    writer.u8(0).u32(line.length);
    for (const argument of line) {
      if (argument !== apart || cut > 0) writer.bytes(argument);
      else cut = writer.u32(argument.length).length;
    }
  }
  return cut;
}

function encodeInternal(
  writer: ByteWriter,
  body: Extract<EnvelopeBody, { family: 'internal' }>,
): void {
  writer.u8(INTERNAL[body.operation]);
  if (body.operation === 'time') return;
  writer.u32(body.keys.length);
  for (const due of body.keys) writer.u64(due.deadlineMs).bytes(due.key);
}

/** The time of an encoded entry, without decoding the rest. */
export function envelopeTimeMs(data: Uint8Array): number {
  return readU64(asBuffer(data), TIME_OFFSET);
}

/** Commands that were read before the rest of their entry. */
interface ReadLines {
  readonly lines: readonly CommandLine[];
  /** That they take. */
  readonly bytes: number;
}

/** Arguments that are read before others may have their turn. */
const ARGUMENTS_STEP = 512;

/** `decodeEnvelope`, giving way in between: for entries with thousands of arguments. */
export async function decodeEnvelopeInSteps(data: Uint8Array, pace: Pacing): Promise<Envelope> {
  if (data[1] !== FAMILY.redis) return decodeEnvelope(data);
  const reader = new ByteReader(data, HEADER_BYTES);
  const { remaining } = reader;
  try {
    const lines = linesOf(reader);
    let read = lines.next();
    for (; !read.done; read = lines.next()) if (pace.isDue()) await pace.pause();
    return decodeEnvelope(data, { lines: read.value, bytes: remaining - reader.remaining });
  } catch (failure) {
    if (!(failure instanceof ByteRangeError)) throw failure;
    return decodeEnvelope(data); // tells what is wrong with it
  }
}

/** Throws KvorumError CORRUPT for bytes no version of kvorum wrote, TOO_NEW for a newer version's. */
export function decodeEnvelope(data: Uint8Array, known?: ReadLines): Envelope {
  try {
    const reader = new ByteReader(data);
    const version = reader.u8();
    const family = reader.u8();
    const applyVersion = reader.u16();
    if (version > ENVELOPE_VERSION || applyVersion > APPLY_VERSION) {
      throw new KvorumError(
        'TOO_NEW',
        `log entry of version ${version}/${applyVersion}, this build applies up to ` +
          `${ENVELOPE_VERSION}/${APPLY_VERSION}; upgrade kvorum on this node`,
      );
    }
    const timeMs = reader.u64();
    const seed = reader.u32();
    const body = decodeBody(reader, family, applyVersion, known);
    reader.end();
    return { timeMs, seed, body };
  } catch (cause) {
    if (!(cause instanceof ByteRangeError)) throw cause;
    throw new KvorumError('CORRUPT', `log entry does not decode: ${cause.message}`, { cause });
  }
}

function decodeBody(
  reader: ByteReader,
  family: number,
  applyVersion: number,
  known: ReadLines | undefined,
): EnvelopeBody {
  if (family === FAMILY.redis) return decodeRedisBody(reader, applyVersion, known);
  if (family === FAMILY.internal) return decodeInternalBody(reader);
  throw new ByteRangeError(`unknown entry family ${family}`);
}

/** `known`: its lines, where they were read in steps. */
function decodeRedisBody(
  reader: ByteReader,
  applyVersion: number,
  known: ReadLines | undefined,
): EnvelopeBody {
  const lines = known?.lines ?? decodeLines(reader);
  if (known !== undefined) reader.raw(known.bytes);
  if (applyVersion < WAITING_VERSION) return { family: 'redis', lines };
  const waiting = decodeWaiting(reader);
  if (applyVersion < ONCE_VERSION) return { family: 'redis', lines, waiting };
  const once = decodeOnce(reader, lines.length);
  return {
    family: 'redis',
    lines,
    ...(!isNobody(waiting) && { waiting }),
    ...(once.length > 0 && { once }),
    ...(applyVersion > ONCE_VERSION && { applyVersion }),
  };
}

function decodeInternalBody(reader: ByteReader): EnvelopeBody {
  const operation = reader.u8();
  if (operation === INTERNAL.time) return { family: 'internal', operation: 'time' };
  if (operation !== INTERNAL.expire) {
    throw new ByteRangeError(`unknown internal operation ${operation}`);
  }
  const keys: DueKey[] = [];
  for (let left = reader.u32(); left > 0; left--) {
    const deadlineMs = reader.u64();
    keys.push({ deadlineMs, key: reader.bytes() });
  }
  return { family: 'internal', operation: 'expire', keys };
}

function isNobody({ ready, waiters, confirmed }: WaitingPart): boolean {
  return ready.length + waiters.length + confirmed.length === 0;
}

/** In order, and none of them over another. */
function decodeOnce(reader: ByteReader, lines: number): OnceLines[] {
  const batches: OnceLines[] = [];
  let end = 0;
  for (let left = reader.u32(); left > 0; left--) {
    const [first, count] = [reader.u32(), reader.u32()];
    if (first < end || count === 0 || first + count > lines) {
      throw new ByteRangeError(`a batch of ${count} commands at ${first}`);
    }
    end = first + count;
    batches.push({ first, count, id: reader.bytes(), sequence: reader.u64(), low: reader.u64() });
  }
  return batches;
}

function decodeLines(reader: ByteReader): readonly CommandLine[] {
  const lines = linesOf(reader);
  for (;;) {
    const read = lines.next();
    if (read.done) return read.value;
  }
}

/** Yields once in a while. */
function* linesOf(reader: ByteReader): Generator<undefined, readonly CommandLine[], undefined> {
  const lines: CommandLine[] = [];
  let read = 0;
  // the commands of an entry are mostly the same
  let name: Buffer = NO_BYTES;
  for (let left = reader.u32(); left > 0; left--) {
    const flags = reader.u8();
    if (flags !== 0) throw new ByteRangeError(`unknown command flags ${flags}`);
    const count = reader.u32();
    const line = listFor<Buffer>(count, NO_BYTES);
    for (let at = 0; at < count; at++) {
      if (at > 0) line[at] = reader.bytes();
      else line[0] = name = reader.bytesOr(name);
      if (++read % ARGUMENTS_STEP === 0) yield;
    }
    lines.push(line);
  }
  return lines;
}
