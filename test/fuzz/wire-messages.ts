/** Every kind of message and frame between datanodes, with any values. */
import fc from 'fast-check';
import type { WireMessage } from '../../src/datanode/raft/message.ts';
import {
  channels,
  controlKinds,
  FRAME_HEADER_BYTES,
  FrameWriter,
  requestKinds,
  streamKinds,
} from '../../src/datanode/transport/frame.ts';
import { encodeMessage } from '../../src/datanode/transport/message-codec.ts';
import type { GroupMessage } from '../../src/datanode/transport/transport.ts';

const number = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  fc.constantFrom(127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER),
);
const data = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const kind = fc.constantFrom('normal' as const, 'confChange' as const, 'confChangeV2' as const);
const envelope = { from: number, to: number, term: number };
/** The last entry that the sender knows to be committed. */
const mark = { commit: number, commitTerm: number };
const ids = fc.array(number, { maxLength: 5 });

type OfType<Message, Type> = Message extends { type: infer Own }
  ? Type extends Own
    ? Message
    : never
  : never;
type Fields<Type extends WireMessage['type']> = Omit<
  OfType<WireMessage, Type>,
  'type' | 'from' | 'to' | 'term'
>;

/** The fields of each type beside the envelope; a type that is missing does not compile. */
const fields: { readonly [Type in WireMessage['type']]: fc.Arbitrary<Fields<Type>> } = {
  append: fc.record({
    index: number,
    logTerm: number,
    commit: number,
    entries: fc.array(fc.record({ term: number, index: number, kind, data }), { maxLength: 5 }),
  }),
  appendResponse: fc.record({
    index: number,
    logTerm: number,
    reject: fc.boolean(),
    rejectHint: number,
    commit: number,
  }),
  heartbeat: fc.record({ commit: number, readContext: number }),
  heartbeatResponse: fc.record({ readContext: number }),
  vote: fc.record({ index: number, logTerm: number, transfer: fc.boolean(), ...mark }),
  preVote: fc.record({ index: number, logTerm: number, transfer: fc.boolean(), ...mark }),
  voteResponse: fc.record({ reject: fc.boolean(), ...mark }),
  preVoteResponse: fc.record({ reject: fc.boolean(), ...mark }),
  snapshot: fc.record({
    snapshot: fc.record({
      index: number,
      term: number,
      confState: fc.record({
        voters: ids,
        votersOutgoing: ids,
        learners: ids,
        learnersNext: ids,
        autoLeave: fc.boolean(),
      }),
      data,
    }),
  }),
  timeoutNow: fc.record({}),
  forgetLeader: fc.record({}),
  transferLeader: fc.record({}),
  propose: fc.record({ entries: fc.array(fc.record({ kind, data }), { maxLength: 5 }) }),
  readIndex: fc.record({ readContext: number }),
  readIndexResponse: fc.record({ readContext: number, index: number }),
  gone: fc.record({}),
  sleep: fc.record({ index: number, commit: number }),
  asleep: fc.record({ index: number, reject: fc.boolean() }),
  sleepers: fc.record({ count: number, digest: number }),
};

const anyMessage: fc.Arbitrary<WireMessage> = fc.oneof(
  ...Object.entries(fields).map(([type, rest]) =>
    fc.tuple(fc.record(envelope), rest as fc.Arbitrary<object>).map(([base, more]) => {
      return { type, ...base, ...more } as WireMessage;
    }),
  ),
);

export const groupMessages: fc.Arbitrary<GroupMessage[]> = fc.array(
  fc.record({ group: number, message: anyMessage }),
  { maxLength: 6 },
);

export interface Frame {
  readonly channel: number;
  readonly body: Buffer;
}

/** The body that `write` makes. */
export function bodyOf(write: (w: FrameWriter) => void): Buffer {
  const w = new FrameWriter().begin(channels.raft);
  write(w);
  w.end();
  return w.take().subarray(FRAME_HEADER_BYTES);
}

export function frameBytes(...frames: readonly Frame[]): Buffer {
  const w = new FrameWriter();
  for (const { channel, body } of frames) w.begin(channel).raw(body).end();
  return w.take();
}

export function raftBody(messages: readonly GroupMessage[]): Buffer {
  return bodyOf((w) => {
    for (const { group, message } of messages) encodeMessage(w, group, message);
  });
}

const id = fc.nat(4);

/** What an established connection may carry, to either side of it. */
export const anyFrame: fc.Arbitrary<Frame> = fc.oneof(
  groupMessages.map((messages) => ({ channel: channels.raft, body: raftBody(messages) })),
  fc
    .tuple(fc.constantFrom(...Object.values(requestKinds)), id, data)
    .map(([type, request, rest]) => ({
      channel: channels.request,
      body: bodyOf((w) => w.u8(type).varint(request).raw(rest)),
    })),
  fc
    .tuple(fc.constantFrom(...Object.values(streamKinds)), id, data, number)
    .map(([type, stream, rest, count]) => ({
      channel: channels.stream,
      body: bodyOf((w) => {
        w.u8(type).varint(stream);
        if (type === streamKinds.end) w.varint(count).u32(1);
        else if (type === streamKinds.credit) w.varint(count);
        else if (type === streamKinds.refused) w.text('BUSY').text('no room');
        else w.raw(rest);
      }),
    })),
  fc.tuple(fc.nat(4), data).map(([type, rest]) => ({
    channel: channels.pubsub,
    body: bodyOf((w) => w.u8(type).raw(rest)),
  })),
  fc.array(fc.double(), { minLength: 4, maxLength: 4 }).map((times) => ({
    channel: channels.control,
    body: bodyOf((w) => {
      w.u8(controlKinds.keepalive);
      for (const time of times) w.f64(time);
    }),
  })),
  fc.tuple(fc.constantFrom(...Object.values(controlKinds)), data).map(([type, rest]) => ({
    channel: channels.control,
    body: bodyOf((w) => w.u8(type).raw(rest)),
  })),
);
