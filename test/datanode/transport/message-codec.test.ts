import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import type { WireMessage } from '../../../src/datanode/raft/message.ts';
import { FRAME_HEADER_BYTES, FrameWriter } from '../../../src/datanode/transport/frame.ts';
import {
  decodeMessages,
  encodeMessage,
  isBulk,
  messageBytes,
} from '../../../src/datanode/transport/message-codec.ts';
import { everyMessage } from './messages.ts';

function encode(messages: readonly WireMessage[]): Buffer {
  const writer = new FrameWriter().begin(1);
  messages.forEach((message, group) => {
    encodeMessage(writer, group, message);
  });
  writer.end();
  return writer.take().subarray(FRAME_HEADER_BYTES);
}

test('a body holds messages of every type, in order', () => {
  const decoded = decodeMessages(encode(everyMessage));
  expect(decoded).toEqual(everyMessage.map((message, group) => ({ group, message })));
});

const vectors: Readonly<Record<WireMessage['type'], string>> = {
  append:
    '0100ac020581808080207f80017e03018001001064617461206f6620616e20656e747279' +
    '018101010002fdffffffffffff0f0203070707',
  appendResponse: '0200ac020581808080200102010304',
  heartbeat: '0300ac02058180808020fdffffffffffff0f8080808008',
  heartbeatResponse: '1800ac02058180808020ffffffff0f01',
  vote: '1400ac02058180808020808080808001ff7f017e02',
  preVote: '1500ac0205818080802000808001000000',
  voteResponse: '1600ac0205818080802000fdffffffffffff0f8080808020',
  preVoteResponse: '1700ac02058180808020017f8001',
  snapshot: '0900ac020581808080200a0203010203020102019003000108736e617073686f74',
  timeoutNow: '0a00ac02058180808020',
  forgetLeader: '0b00ac02058180808020',
  transferLeader: '0c00ac02058180808020',
  propose: '0d00ac0205818080802001001064617461206f6620616e20656e747279',
  readIndex: '0e00ac0205818080802000',
  readIndexResponse: '0f00ac02058180808020090c',
  gone: '1000ac02058180808020',
  sleep: '1100ac02058180808020ac02ab02',
  asleep: '1200ac02058180808020ac0201',
  sleepers: '1300ac0205818080802007ffffffff0f',
};

test('the format of every message is frozen: vectors', () => {
  for (const message of everyMessage) {
    expect(encode([message]).toString('hex'), message.type).toBe(vectors[message.type]);
    const [decoded] = decodeMessages(Buffer.from(vectors[message.type], 'hex'));
    expect(decoded).toEqual({ group: 0, message });
  }
  expect(everyMessage.map(({ type }) => type).sort()).toEqual(Object.keys(vectors).sort());
});

test('types of an earlier protocol version are refused, not read as something else', () => {
  for (const [type, rest] of [
    ['05', '01020101'],
    ['06', '01020100'],
    ['07', '00'],
    ['08', '01'],
  ]) {
    const body = Buffer.from(`${type}00ac0205818080802000${rest}`, 'hex');
    expect(() => decodeMessages(body)).toThrow(/unknown raft message type [5-8]/);
  }
});

test('the size said beforehand is never too small', () => {
  for (const message of everyMessage) {
    expect(encode([message]).length).toBeLessThanOrEqual(messageBytes(message));
  }
});

test('a heartbeat of a young cluster takes ten bytes or less', () => {
  const beat: WireMessage = {
    type: 'heartbeat',
    from: 9,
    to: 8,
    term: 5,
    commit: 900,
    readContext: 40,
  };
  expect(encode([beat]).length).toBeLessThanOrEqual(10);
});

test('snapshots and large appends are bulk, everything small is not', () => {
  for (const message of everyMessage) {
    expect(isBulk(message, messageBytes(message))).toBe(message.type === 'snapshot');
  }
  const data = Buffer.alloc(70_000);
  const append = everyMessage.find((m) => m.type === 'append')!;
  const large: WireMessage = { ...append, entries: [{ term: 1, index: 1, kind: 'normal', data }] };
  expect(isBulk(large, messageBytes(large))).toBe(true);
});

test('a body cut short or with bytes changed never does more than fail', () => {
  const body = encode(everyMessage);
  const tryDecode = (bytes: Buffer) => {
    try {
      decodeMessages(bytes);
    } catch (error) {
      expect(codeOf(error)).toBe('BAD_FRAME');
    }
  };
  for (let length = 0; length < body.length; length++) tryDecode(body.subarray(0, length));
  fc.assert(
    fc.property(fc.nat({ max: body.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Buffer.from(body);
      damaged[at]! ^= flip;
      tryDecode(damaged);
    }),
    { numRuns: 2_000 },
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (b) => tryDecode(Buffer.from(b))));
});

test('a frame holds no more messages, entries and ids than memory', () => {
  const write = (w: FrameWriter, ids: number) => {
    for (const field of [9, 1, 1, 1, 1, 1, 1]) w.varint(field); // a snapshot, up to its voters
    w.varint(ids).raw(Buffer.alloc(ids, 1));
  };
  const decode = (...counts: number[]) => {
    const w = new FrameWriter().begin(1);
    for (const count of counts) write(w, count);
    w.end();
    return decodeMessages(w.take().subarray(FRAME_HEADER_BYTES));
  };
  const text = /more than 1048576 items in a frame/;
  expect(() => decode(limits.frameItemsMax)).toThrow(text); // the message is an item as well
  expect(() => decode(limits.frameItemsMax - 1)).toThrow(/body ends early/);
});
