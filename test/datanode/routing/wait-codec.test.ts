import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import type { WaitOutcome } from '../../../src/datanode/partition/entries/wait.ts';
import { bulk } from '../../../src/datanode/resp/reply.ts';
import {
  decodeWaitAnswer,
  decodeWaitMessage,
  encodeWaitAnswer,
  encodeWaitMessage,
  isWaitMessage,
  type WaitMessage,
} from '../../../src/datanode/routing/wait-codec.ts';

const bytes = fc.uint8Array({ maxLength: 20 }).map((each) => Buffer.from(each));
const place = {
  namespace: fc.constantFrom('default', 'ünder'),
  partition: fc.nat(1_000),
  term: fc.integer({ min: 1, max: 2 ** 50 }),
};
const message: fc.Arbitrary<WaitMessage> = fc.oneof(
  fc.record({
    ...place,
    kind: fc.constant('ask' as const),
    request: fc.record({
      id: bytes,
      line: fc.array(bytes, { minLength: 1, maxLength: 4 }),
      protocol: fc.constantFrom(2 as const, 3 as const),
      withdraw: fc.boolean(),
    }),
  }),
  fc.record({ ...place, kind: fc.constant('confirm' as const), ids: fc.array(bytes) }),
);

test('what a waiting client asks arrives as it was sent, and cut bytes do not', () => {
  fc.assert(
    fc.property(message, fc.nat(), (each, at) => {
      const body = encodeWaitMessage(each);
      expect(isWaitMessage(body)).toBe(true);
      expect(decodeWaitMessage(body)).toEqual(each);
      expect(
        failureOf(() => decodeWaitMessage(body.subarray(0, 1 + (at % (body.length - 1))))),
      ).toBe('BAD_FRAME');
    }),
  );
});

const bytesOf = (word: string) => Buffer.from(word);

test('and so do the answers', () => {
  const outcomes: readonly (WaitOutcome | undefined)[] = [
    undefined,
    { kind: 'withdrawn' },
    { kind: 'superseded' },
    { kind: 'concrete', line: ['XREAD', 'BLOCK', '0', 'STREAMS', 'k', '1-1'].map(bytesOf) },
    { kind: 'failed', code: 'NOT_LEADER', message: 'no' },
  ];
  for (const outcome of outcomes) {
    expect(decodeWaitAnswer(encodeWaitAnswer(outcome, 2))).toEqual(outcome);
  }
  const served = { kind: 'served', reply: bulk('x') } as const;
  expect(decodeWaitAnswer(encodeWaitAnswer(served, 2))).toEqual({
    kind: 'served',
    reply: { kind: 'encoded', bytes: Buffer.from('$1\r\nx\r\n') },
  });
  expect(failureOf(() => decodeWaitAnswer(Buffer.from([1, 9])))).toBe('BAD_FRAME');
});

test('the bytes are these for ever', () => {
  const words = ['BLPOP', 'k', '0'].map((word) => Buffer.from(word));
  const request = { id: Buffer.from('id'), line: words, protocol: 2, withdraw: false } as const;
  const ask = { namespace: 'ns', partition: 3, term: 9, kind: 'ask', request } as const;
  const [place, group] = [`${'000000026e73'}${'00000003'}`, '0000000000000007'];
  const rest =
    `${'0000000000000009'}${'000000026964'}${'02'}` +
    `${'00000003'}${'00000005424c504f50'}${'000000016b'}${'0000000130'}`;
  expect(encodeWaitMessage({ ...ask, group: 7 }).toString('hex')).toBe(
    `570201${place}${group}${rest}`,
  );
  expect(decodeWaitMessage(Buffer.from(`570201${place}${group}${rest}`, 'hex'))).toEqual({
    ...ask,
    group: 7,
  });
  expect(decodeWaitMessage(Buffer.from(`570101${place}${rest}`, 'hex'))).toEqual(ask);
});

test('what may be kept for long does not keep the frame alive', () => {
  const words = ['BLPOP', 'k', '0'].map((word) => Buffer.from(word));
  const request = { id: Buffer.from('id'), line: words, protocol: 2, withdraw: false } as const;
  const bytes = encodeWaitMessage({ namespace: 'ns', partition: 3, term: 9, kind: 'ask', request });
  const body = Buffer.allocUnsafeSlow(8_192).subarray(0, bytes.length);
  bytes.copy(body);
  const decoded = decodeWaitMessage(body);
  if (decoded.kind !== 'ask') throw new Error(decoded.kind);
  expect(decoded.request).toEqual(request);
  const { id, line } = decoded.request;
  for (const { buffer } of [id, ...line]) expect(buffer.byteLength).toBeLessThan(100);
});

function failureOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (failure) {
    return codeOf(failure);
  }
}
