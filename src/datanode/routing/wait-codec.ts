/**
 * Clients that wait, between datanodes: bodies of the transport's request channel. Frozen format,
 * version 2 (a place of version 1 has no group):
 *
 *   ask      u8 0x57 · u8 version · u8 1, or 3 to withdraw · place · id · u8 protocol
 *            · u32 arguments, each: u32 length, bytes
 *   confirm  u8 0x57 · u8 version · u8 2 · place · u32 ids, each as above
 *   place    text namespace · u32 partition · u64 group, 0: any · u64 term;  id: u32 length, bytes
 *   answer   u8 1 · u8 0 noted, 1 served: u32 length, RESP bytes of the asked protocol,
 *            2 withdrawn, 3 superseded, 4 failed: text error code, text message, or 5 concrete (of reads
 *            alone): arguments as above
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';
import { decodeErrorCode, decodeFrame } from '../../common/decode.ts';
import type { GroupId, Namespace, PartitionId, Term } from '../../common/ids.ts';
import { ownList } from '../../common/own-bytes.ts';
import type { WaitOutcome, WaitRequest } from '../partition/entries/wait.ts';
import { decodeList, encodeList } from '../partition/entries/waiter-codec.ts';
import { encodeReply } from '../resp/encode-reply.ts';
import type { Protocol } from '../resp/reply.ts';
import { requestTags } from '../transport/request-tags.ts';

const VERSION = 1;
const ASK_VERSION = 2;
const KIND = { ask: 1, confirm: 2, withdraw: 3 } as const;
const ANSWER = {
  noted: 0,
  served: 1,
  withdrawn: 2,
  superseded: 3,
  failed: 4,
  concrete: 5,
} as const;

export interface WaitPlace {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  /** As in CommandBatch. */
  readonly group?: GroupId | undefined;
}

export type WaitMessage = WaitPlace & { readonly term: Term } & (
    | { readonly kind: 'ask'; readonly request: WaitRequest }
    | { readonly kind: 'confirm'; readonly ids: readonly Buffer[] }
  );

export function isWaitMessage(body: Buffer): boolean {
  return body[0] === requestTags.wait;
}

export function encodeWaitMessage(message: WaitMessage): Buffer {
  const { namespace, partition, group = 0, term } = message;
  const asks = message.kind === 'ask';
  const kind = asks ? (message.request.withdraw ? KIND.withdraw : KIND.ask) : KIND.confirm;
  const writer = new ByteWriter(256)
    .u8(requestTags.wait)
    .u8(ASK_VERSION)
    .u8(kind)
    .text(namespace)
    .u32(partition)
    .u64(group)
    .u64(term);
  if (asks) {
    const { id, protocol, line } = message.request;
    writer.bytes(id).u8(protocol);
    encodeList(writer, line);
  } else encodeList(writer, message.ids);
  return writer.finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeWaitMessage(body: Buffer): WaitMessage {
  return decodeFrame('waiting client', () => {
    const reader = new ByteReader(body, 1);
    const version = reader.u8();
    if (version !== VERSION && version !== ASK_VERSION) {
      throw new ByteRangeError(`unknown version ${version}`);
    }
    const kind = reader.u8();
    const [namespace, partition] = [reader.text(), reader.u32()];
    const group = version === VERSION ? 0 : reader.u64();
    const place = { namespace, partition, ...(group !== 0 && { group }), term: reader.u64() };
    const message: WaitMessage =
      kind === KIND.confirm
        ? { ...place, kind: 'confirm', ids: decodeList(reader) }
        : { ...place, kind: 'ask', request: decodeRequest(reader, kind) };
    reader.end();
    return message;
  });
}

function decodeRequest(reader: ByteReader, kind: number): WaitRequest {
  if (kind !== KIND.ask && kind !== KIND.withdraw) throw new ByteRangeError(`kind ${kind}`);
  const id = reader.bytes();
  const protocol = reader.u8();
  const line = decodeList(reader);
  if (protocol !== 2 && protocol !== 3) throw new ByteRangeError(`protocol ${protocol}`);
  if (line.length === 0) throw new ByteRangeError('a request without a command');
  // of a frame that may share its memory with others; this may be kept for hours
  const [ownId, ...ownLine] = ownList([id, ...line]);
  return { id: ownId!, line: ownLine, protocol, withdraw: kind === KIND.withdraw };
}

/** `undefined`: a confirmation was noted. */
export function encodeWaitAnswer(outcome: WaitOutcome | undefined, protocol: Protocol): Buffer {
  const writer = new ByteWriter(64).u8(VERSION).u8(ANSWER[outcome?.kind ?? 'noted']);
  if (outcome?.kind === 'served') writer.bytes(encodeReply(outcome.reply, protocol));
  if (outcome?.kind === 'failed') writer.text(outcome.code).text(outcome.message);
  if (outcome?.kind === 'concrete') encodeList(writer, outcome.line);
  return writer.finish();
}

/** Undefined for a confirmation that was noted. Throws KvorumError BAD_FRAME. */
export function decodeWaitAnswer(body: Buffer): WaitOutcome | undefined {
  return decodeFrame('answer to a waiting client', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const outcome = decodeOutcome(reader, reader.u8());
    reader.end();
    return outcome;
  });
}

function decodeOutcome(reader: ByteReader, kind: number): WaitOutcome | undefined {
  switch (kind) {
    case ANSWER.noted:
      return undefined;
    case ANSWER.served:
      return { kind: 'served', reply: { kind: 'encoded', bytes: reader.bytes() } };
    case ANSWER.withdrawn:
      return { kind: 'withdrawn' };
    case ANSWER.superseded:
      return { kind: 'superseded' };
    case ANSWER.failed: {
      const code = decodeErrorCode(reader.text());
      return { kind: 'failed', code, message: reader.text() };
    }
    case ANSWER.concrete:
      return { kind: 'concrete', line: ownList(decodeList(reader)) };
    default:
      throw new ByteRangeError(`unknown outcome ${kind}`);
  }
}
