/**
 * Forwarded batches between datanodes (decision 10), bodies of the transport's request channel.
 * Frozen format, version 2 (a request of version 1 has no group), 3 where the batch takes effect
 * once, 4 where whoever asks wants to know where in the log its commands are, or 5 where a replica of
 * the node that asks vouches for the leader's term (a node of an older build answers BAD_FRAME, and is
 * asked in version 2):
 *
 *   request  u8 version · text namespace · u32 partition · u64 group, 0: any · u8 kind · u8 protocol
 *            · u64 term · u32 milliseconds left · version 4: u8 1 if it takes effect once, else 0
 *            · version 3, and 4 then: u32 length, session id, u64 sequence, u64 lowest sequence
 *            without an answer · version 5: u64 replica · u32 lines, each: u32 arguments, each:
 *            u32 length, bytes
 *   answer   u8 1 · u32 lines, each: u8 1, u32 length, RESP bytes of the asked protocol
 *                                      or: u8 0, text error code, text message
 *                                      or, to version 4 alone: u8 2, u64 term, u64 index, u64 last
 *                                      index, u32 command of the entry from 1, 0: a read, and as u8 1
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';
import { decodeErrorCode, decodeFrame } from '../../common/decode.ts';
import { limits } from '../../common/limits.ts';
import { listFor } from '../../common/list-for.ts';
import type { CommandBatch, CommandLine, LineResult, Witness } from '../partition/entries/batch.ts';
import { lineBytes } from '../partition/entries/envelope.ts';
import { encodePassing } from '../resp/encode-reply.ts';
import { error, type Protocol, type Reply } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';

const VERSION = 1;
const REQUEST_VERSION = 2;
const ONCE_VERSION = 3;
const WITNESS_VERSION = 4;
const VOUCHED_VERSION = 5;
/** A line of an answer. */
const [FAILED, TOLD, WITNESSED] = [0, 1, 2] as const;
/** Of a frame, for all that is not a reply. */
const FRAME_ROOM_BYTES = 1_048_576;
/** Of a request, before its lines. */
const HEAD_ROOM_BYTES = 128;
const KINDS = ['read', 'write'] as const;
/** Longer replies are not compared with those before them. */
const ALIKE_BYTES_MAX = 32;
const NO_BYTES = Buffer.alloc(0);

/** `leftMs`: what is left of the batch's deadline, for a clock with another zero. */
export function encodeBatch(batch: CommandBatch, leftMs: number): Buffer {
  const linesBytes = batch.lines.reduce((sum, line) => sum + lineBytes(line), 0);
  const writer = new ByteWriter(HEAD_ROOM_BYTES + batch.namespace.length + linesBytes)
    .u8(versionOf(batch))
    .text(batch.namespace)
    .u32(batch.partition)
    .u64(batch.group ?? 0)
    .u8(KINDS.indexOf(batch.kind))
    .u8(batch.protocol)
    .u64(batch.term ?? 0)
    .u32(Math.max(0, Math.ceil(leftMs)));
  const { once, witness } = batch;
  if (witness) writer.u8(once === undefined ? 0 : 1);
  if (once !== undefined) writer.bytes(once.id).u64(once.sequence).u64(once.low);
  if (isVouched(batch)) writer.u64(batch.vouchedBy!);
  writer.u32(batch.lines.length);
  for (const line of batch.lines) {
    writer.u32(line.length);
    for (const argument of line) writer.bytes(argument);
  }
  return writer.finish();
}

function versionOf(batch: CommandBatch): number {
  if (batch.witness) return WITNESS_VERSION;
  if (isVouched(batch)) return VOUCHED_VERSION;
  return batch.once === undefined ? REQUEST_VERSION : ONCE_VERSION;
}

function isVouched({ kind, witness, vouchedBy }: CommandBatch): boolean {
  return kind === 'read' && !witness && vouchedBy !== undefined;
}

/** `nowMs`: this node's monotone clock. Throws KvorumError BAD_FRAME. */
export function decodeBatch(body: Buffer, nowMs: number): CommandBatch {
  return decodeFrame('forwarded request', () => {
    const reader = new ByteReader(body);
    const version = reader.u8();
    if (version < VERSION || version > VOUCHED_VERSION) {
      throw new ByteRangeError(`unknown version ${version}`);
    }
    const namespace = reader.text();
    const partition = reader.u32();
    const group = version === VERSION ? 0 : reader.u64();
    const kind = KINDS[reader.u8()];
    const protocol = reader.u8();
    const term = reader.u64();
    const leftMs = reader.u32();
    const witness = version === WITNESS_VERSION;
    const isOnce = witness ? isSet(reader.u8()) : version === ONCE_VERSION;
    const once = isOnce ? decodeOnce(reader) : undefined;
    const vouchedBy = version === VOUCHED_VERSION ? reader.u64() : undefined;
    if (vouchedBy !== undefined && kind !== 'read')
      throw new ByteRangeError('no read is vouched for');
    if (kind === undefined || (protocol !== 2 && protocol !== 3)) {
      throw new ByteRangeError('unknown kind or protocol');
    }
    const lines = decodeLines(reader);
    reader.end();
    return {
      namespace,
      partition,
      ...(group !== 0 && { group }),
      kind,
      lines,
      protocol: protocol satisfies Protocol,
      term: term === 0 ? undefined : term,
      ...(once && { once }),
      ...(vouchedBy !== undefined && { vouchedBy }),
      ...(witness && { witness }),
      deadlineMs: nowMs + leftMs,
    };
  });
}

/** Equal names, one after the other, become one Buffer. */
function decodeLines(reader: ByteReader): CommandLine[] {
  const lines: CommandLine[] = [];
  let name: Buffer = NO_BYTES;
  for (let left = bounded(reader.u32(), limits.requestArgumentsMax); left > 0; left--) {
    const count = bounded(reader.u32(), limits.requestArgumentsMax);
    if (count === 0) throw new ByteRangeError('a command without a name');
    name = reader.bytesOr(name);
    const line = listFor(count, name);
    line[0] = name;
    for (let at = 1; at < count; at++) line[at] = reader.bytes();
    lines.push(line);
  }
  return lines;
}

function isSet(flag: number): boolean {
  if (flag > 1) throw new ByteRangeError(`a flag of ${flag}`);
  return flag === 1;
}

function decodeOnce(reader: ByteReader): NonNullable<CommandBatch['once']> {
  return { id: reader.bytes(), sequence: reader.u64(), low: reader.u64() };
}

/** A reply that does not fit the frame with those before it becomes an error. */
export function encodeResults(results: readonly LineResult[], protocol: Protocol): Buffer {
  const writer = new ByteWriter(sizeOf(results)).u8(VERSION).u32(results.length);
  for (const result of results) {
    if (!result.ok) {
      writer.u8(FAILED).text(result.code).text(result.message);
      continue;
    }
    if (result.witness === undefined) writer.u8(TOLD);
    else encodeWitness(writer.u8(WITNESSED), result.witness);
    writer.bytes(fitting(result.reply, writer.length, protocol));
  }
  return writer.finish();
}

function encodeWitness(writer: ByteWriter, { term, index, upTo, at }: Witness): void {
  writer
    .u64(term)
    .u64(index)
    .u64(upTo)
    .u32(at + 1);
}

function decodeWitness(reader: ByteReader): Witness {
  const place = { term: reader.u64(), index: reader.u64(), upTo: reader.u64() };
  return { ...place, at: reader.u32() - 1 };
}

/** Near enough, so that large replies are not copied as the writer grows. */
function sizeOf(results: readonly LineResult[]): number {
  const bytes = results.reduce((sum, one) => sum + (one.ok ? replyBytes(one.reply) : 256), 256);
  return Math.min(bytes, limits.frameBytesMax);
}

/** To be copied at once. */
function fitting(reply: Reply, before: number, protocol: Protocol): Buffer {
  if (before + replyBytes(reply) <= limits.frameBytesMax - FRAME_ROOM_BYTES) {
    return encodePassing(reply, protocol);
  }
  const text =
    `DONE the command was carried out, but its reply of ${replyBytes(reply)} bytes and ` +
    `those before it do not fit the ${limits.frameBytesMax} bytes that nodes send each other at once`;
  return encodePassing(error(text), protocol);
}

/** `count`: how many results the batch must have. Throws KvorumError BAD_FRAME. */
export function decodeResults(body: Buffer, count: number): LineResult[] {
  return decodeFrame('forwarded answer', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const found = reader.u32();
    if (found !== count) throw new ByteRangeError(`${found} results for ${count} commands`);
    const results: LineResult[] = [];
    let bytes: Buffer = NO_BYTES;
    for (let left = count; left > 0; left--) {
      const form = reader.u8();
      if (form === TOLD || form === WITNESSED) {
        const witness = form === WITNESSED ? decodeWitness(reader) : undefined;
        // of many writes all replies are the same
        bytes = reader.bytesOr(bytes.length > ALIKE_BYTES_MAX ? NO_BYTES : bytes);
        const reply = { kind: 'encoded', bytes } as const;
        results.push(witness === undefined ? { ok: true, reply } : { ok: true, reply, witness });
        continue;
      }
      const code = decodeErrorCode(reader.text());
      results.push({ ok: false, code, message: reader.text() });
    }
    reader.end();
    return results;
  });
}

function bounded(count: number, highest: number): number {
  if (count > highest) throw new ByteRangeError(`a count of ${count}`);
  return count;
}
