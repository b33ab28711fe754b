/**
 * File of record: bodies of the pub/sub channel between datanodes. Numbers are frozen; vectors in
 * peer-codec.test.ts. A subscription kind is its place in `subscriptionKinds`.
 *
 *   counts   u8 1 · flag anew · varint version · of each name: u8 kind · bytes name · varint count
 *   message  u8 2 · u8 kind · bytes channel · the rest is the payload
 *   seen     u8 3 · varint version
 */
import { type SubscriptionKind, subscriptionKinds } from '../commands/pubsub/pubsub-port.ts';
import {
  BodyReader,
  badFrame,
  channels,
  FRAME_HEADER_BYTES,
  FrameWriter,
} from '../transport/frame.ts';

export interface NameCount {
  readonly kind: SubscriptionKind;
  readonly name: Buffer;
  readonly count: number;
}

export type PeerBody =
  | {
      readonly type: 'counts';
      /** What was told before holds no more. */
      readonly anew: boolean;
      /** To be answered with `seen`; 0: more follows. */
      readonly version: number;
      readonly counts: readonly NameCount[];
    }
  | {
      readonly type: 'message';
      readonly kind: 'channel' | 'shard';
      readonly channel: Buffer;
      readonly payload: Buffer;
    }
  | { readonly type: 'seen'; readonly version: number };

const types = { counts: 1, message: 2, seen: 3 } as const;

export function encodePeerBody(body: PeerBody): Buffer {
  const w = new FrameWriter(256).begin(channels.pubsub).u8(types[body.type]);
  switch (body.type) {
    case 'counts':
      w.u8(body.anew ? 1 : 0).varint(body.version);
      for (const { kind, name, count } of body.counts) {
        w.u8(subscriptionKinds.indexOf(kind)).bytes(name).varint(count);
      }
      break;
    case 'message':
      w.u8(subscriptionKinds.indexOf(body.kind)).bytes(body.channel).raw(body.payload);
      break;
    case 'seen':
      w.varint(body.version);
      break;
  }
  w.end();
  return w.take().subarray(FRAME_HEADER_BYTES);
}

/** Whether an encoded body is a message: others are told again when a link is made anew. */
export function isMessage(body: Buffer): boolean {
  return body[0] === types.message;
}

/** Throws KvorumError BAD_FRAME. Buffers are views of `bytes`. */
export function decodePeerBody(bytes: Buffer): PeerBody {
  const reader = new BodyReader(bytes);
  const type = reader.u8();
  switch (type) {
    case types.counts:
      return decodeCounts(reader);
    case types.message: {
      const kind = decodeKind(reader);
      if (kind === 'pattern') throw badFrame('a message is published to a channel, not a pattern');
      return { type: 'message', kind, channel: reader.bytes(), payload: reader.rest() };
    }
    case types.seen: {
      const version = reader.varint();
      reader.end();
      return { type: 'seen', version };
    }
    default:
      throw badFrame(`pub/sub body of type ${type}`);
  }
}

function decodeCounts(reader: BodyReader): PeerBody {
  const anew = reader.flag();
  const version = reader.varint();
  const counts: NameCount[] = [];
  while (reader.remaining > 0) {
    reader.items(1);
    counts.push({ kind: decodeKind(reader), name: reader.bytes(), count: reader.varint() });
  }
  return { type: 'counts', anew, version, counts };
}

function decodeKind(reader: BodyReader): SubscriptionKind {
  const at = reader.u8();
  const kind = subscriptionKinds[at];
  if (kind === undefined) throw badFrame(`subscription of kind ${at}`);
  return kind;
}
