import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { encodeKept } from '../../../../src/datanode/commands/sessions/kept-reply.ts';
import type { EntryFate } from '../../../../src/datanode/partition/entries/batch.ts';
import {
  decodeFate,
  decodeFateQuestion,
  encodeFate,
  encodeFateQuestion,
  isFateQuestion,
  replyOf,
} from '../../../../src/datanode/partition/entries/fate-codec.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { bulk, integer, OK } from '../../../../src/datanode/resp/reply.ts';

const question = { namespace: 'default', partition: 3, group: 9, term: 4, index: 77 };

test('a question survives its way, and its bytes are these', () => {
  const body = encodeFateQuestion(question);
  expect(isFateQuestion(body)).toBe(true);
  expect(decodeFateQuestion(body)).toEqual(question);
  expect(body.toString('hex')).toBe(
    `4601${'00000007'}${Buffer.from('default').toString('hex')}00000003${'0000000000000009'}${'0000000000000004'}${'000000000000004d'}`,
  );
});

test('what became of an entry survives its way', () => {
  for (const kind of ['open', 'never', 'forgotten'] as const) {
    expect(decodeFate(encodeFate({ kind }))).toEqual({ kind });
  }
  expect(decodeFate(encodeFate({ kind: 'done', replies: undefined }))).toEqual({
    kind: 'done',
    replies: undefined,
  });
  const fate = decodeFate(encodeFate({ kind: 'done', replies: [OK, integer(5)] }));
  expect(shown(fate, 0)).toBe('+OK\r\n');
  expect(shown(fate, 1)).toBe(':5\r\n');
});

test('of a reply that no session would keep it is told that the command took effect', () => {
  const large = bulk(Buffer.alloc(limits.sessionReplyBytesMax + 1));
  const fate = decodeFate(encodeFate({ kind: 'done', replies: [large, OK] }));
  expect(shown(fate, 0)).toMatch(/^-DONE /);
  expect(shown(fate, 1)).toBe('+OK\r\n');
  expect(shown({ kind: 'done', replies: undefined }, 3)).toMatch(/^-DONE /);
});

test('what does not decode is refused', () => {
  const body = encodeFateQuestion(question);
  expect(() => decodeFateQuestion(body.subarray(0, 9))).toThrow(/question about an entry/);
  expect(() => decodeFateQuestion(Buffer.from([0x46, 2]))).toThrow(/unknown version 2/);
  expect(() => decodeFate(Buffer.from([1, 9]))).toThrow(/unknown fate/);
  expect(() => decodeFate(Buffer.from([1, 1, 0]))).toThrow(/answer about an entry/);
  const kept = encodeKept([OK]);
  const many = Buffer.concat([
    Buffer.from([1, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]),
    u8(kept),
    kept,
  ]);
  expect(() => decodeFate(many)).toThrow(/4294967295 replies/);
});

function u8(bytes: Buffer): Buffer {
  return Buffer.from([bytes.length]);
}

function shown(fate: EntryFate, at: number): string {
  const reply = replyOf(fate as Extract<EntryFate, { kind: 'done' }>, at);
  return encodeReply(reply, 2).toString();
}
