import fc from 'fast-check';
import RedisParser from 'redis-parser';
import { describe, expect, test } from 'vitest';
import { decodeReply } from '../../../src/datanode/resp/decode-reply.ts';
import {
  encodePassing,
  encodeReply,
  formatDouble,
  ReplyWriter,
} from '../../../src/datanode/resp/encode-reply.ts';
import {
  array,
  bulk,
  error,
  integer,
  NULL,
  NULL_ARRAY,
  OK,
  type Reply,
} from '../../../src/datanode/resp/reply.ts';
import { replyBytes } from '../../../src/datanode/resp/reply-bytes.ts';

const text = (reply: Reply, protocol: 2 | 3) => encodeReply(reply, protocol).toString('latin1');

const forms: readonly (readonly [string, Reply, string, string])[] = [
  ['simple', OK, '+OK\r\n', '+OK\r\n'],
  ['error', error('ERR no\r\nway'), '-ERR no  way\r\n', '-ERR no  way\r\n'],
  ['integer', integer(-5), ':-5\r\n', ':-5\r\n'],
  ['long integer', integer(2n ** 63n - 1n), ':9223372036854775807\r\n', ':9223372036854775807\r\n'],
  ['bulk', bulk('é'), '$2\r\nÃ©\r\n', '$2\r\nÃ©\r\n'],
  ['empty bulk', bulk(''), '$0\r\n\r\n', '$0\r\n\r\n'],
  ['null', NULL, '$-1\r\n', '_\r\n'],
  ['null array', NULL_ARRAY, '*-1\r\n', '_\r\n'],
  ['array', array([OK, array([])]), '*2\r\n+OK\r\n*0\r\n', '*2\r\n+OK\r\n*0\r\n'],
  ['set', { kind: 'set', items: [OK] }, '*1\r\n+OK\r\n', '~1\r\n+OK\r\n'],
  ['push', { kind: 'push', items: [OK] }, '*1\r\n+OK\r\n', '>1\r\n+OK\r\n'],
  ['map', { kind: 'map', pairs: [[OK, NULL]] }, '*2\r\n+OK\r\n$-1\r\n', '%1\r\n+OK\r\n_\r\n'],
  [
    'pairs',
    { kind: 'pairs', pairs: [[OK, NULL]] },
    '*2\r\n+OK\r\n$-1\r\n',
    '*1\r\n*2\r\n+OK\r\n_\r\n',
  ],
  [
    'rows',
    { kind: 'rows', pairs: [[OK, NULL]] },
    '*1\r\n*2\r\n+OK\r\n$-1\r\n',
    '%1\r\n+OK\r\n_\r\n',
  ],
  ['spelt double', { kind: 'double', value: 1, text: '1.0' }, '$3\r\n1.0\r\n', ',1.0\r\n'],
  ['double', { kind: 'double', value: 0.1 }, '$3\r\n0.1\r\n', ',0.1\r\n'],
  ['boolean', { kind: 'boolean', value: true }, ':1\r\n', '#t\r\n'],
  ['verbatim', { kind: 'verbatim', format: 'txt', text: 'hi' }, '$2\r\nhi\r\n', '=6\r\ntxt:hi\r\n'],
  ['big number', { kind: 'bigNumber', value: 7n }, '$1\r\n7\r\n', '(7\r\n'],
  ['encoded', { kind: 'encoded', bytes: Buffer.from('+raw\r\n') }, '+raw\r\n', '+raw\r\n'],
];

describe('each kind of reply', () => {
  test.each(forms)('%s', (_name, reply, two, three) => {
    expect(text(reply, 2)).toBe(two);
    expect(text(reply, 3)).toBe(three);
  });
});

test('doubles have the shortest form that reads back', () => {
  const forms: readonly (readonly [number, string])[] = [
    [3, '3'],
    [0.1, '0.1'],
    [-0, '-0'],
    [1 / 0, 'inf'],
    [-1 / 0, '-inf'],
    [Number.NaN, 'nan'],
    [-1.5, '-1.5'],
    [1e17, '100000000000000000'],
    [2 ** 62, '4611686018427387904'],
    [-(2 ** 61), '-2305843009213693952'],
    [1e19, '1e+19'],
    [12345678901234567000, '12345678901234567000'],
    [-1.25e21, '-1.25e+21'],
    [1e21, '1e+21'],
    [1e100, '1e+100'],
    [0.000125, '0.000125'],
    [0.001, '0.001'],
    [1e-6, '0.000001'],
    [1e-7, '1e-7'],
    [1.25e-7, '1.25e-7'],
    [5e-324, '5e-324'],
    [0.00012345678901, '1.2345678901e-4'],
    [12345.678901234, '1.2345678901234e+4'],
    [1234.5678901234, '1234.5678901234'],
    [12345.678901, '12345.678901'],
  ];
  expect(forms.map(([value]) => formatDouble(value))).toEqual(forms.map(([, form]) => form));
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(Number(formatDouble(value))).toBe(value);
    }),
  );
});

/** Replies whose RESP3 form says everything about them. */
const { reply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Reply>(OK, NULL, error('ERR x')),
    fc.integer().map((value) => integer(value)),
    fc.uint8Array({ maxLength: 30 }).map((bytes) => bulk(Buffer.from(bytes))),
    fc.boolean().map((value): Reply => ({ kind: 'boolean', value })),
    fc.array(tie('reply'), { maxLength: 4 }).map((items) => array(items)),
    fc
      .array(fc.tuple(tie('reply'), tie('reply')), { maxLength: 3 })
      .map((pairs): Reply => ({ kind: 'map', pairs })),
  ),
}));

describe('encoded replies', () => {
  test('decode to what they were', () => {
    fc.assert(
      fc.property(reply, (each) => {
        expect(encodeReply(decodeReply(encodeReply(each, 3)), 3)).toEqual(encodeReply(each, 3));
        expect(encodeReply(decodeReply(encodeReply(each, 2)), 2)).toEqual(encodeReply(each, 2));
      }),
    );
  });

  test('in RESP2 are what a stock parser reads', () => {
    fc.assert(
      fc.property(fc.array(reply, { minLength: 1, maxLength: 5 }), (replies) => {
        let count = 0;
        const parser = new RedisParser({
          returnReply: () => count++,
          returnError: () => count++,
          returnFatalError: (failure: Error) => {
            throw failure;
          },
        });
        parser.execute(Buffer.concat(replies.map((each) => encodeReply(each, 2))));
        expect(count).toBe(replies.length);
      }),
    );
  });

  test('weigh about what is estimated', () => {
    fc.assert(
      fc.property(reply, (each) => {
        const exact = encodeReply(each, 3).length;
        expect(replyBytes(each)).toBeGreaterThanOrEqual(exact - 8);
      }),
    );
  });
});

test('a writer gathers replies and begins anew after each take', () => {
  const writer = new ReplyWriter(4);
  for (let at = 0; at < 100; at++) writer.append(bulk('x'.repeat(at)), 2);
  const first = writer.take();
  expect(first.toString().match(/\$/g)).toHaveLength(100);
  writer.append(OK, 2);
  expect(writer.take().toString()).toBe('+OK\r\n');
  expect(first.toString().startsWith('$0\r\n\r\n$1\r\nx')).toBe(true);
});

test.each([
  ['encoded to be kept', encodeReply],
  ['encoded in passing', encodePassing],
])('a large packed reply %s gets its room at once, in RESP3 as well', (_how, encode) => {
  const resp2 = [Buffer.alloc(200_000, '2')];
  const resp3 = [Buffer.alloc(150_000, '3'), Buffer.alloc(150_000, '3')];
  const packed: Reply = { kind: 'packed', shape: 'pairs', units: 10, resp2, resp3 };
  for (const protocol of [2, 3] as const) {
    const bytes = encode(packed, protocol);
    expect(bytes.buffer.byteLength - bytes.length).toBeLessThan(100);
  }
});

test('what is encoded in passing is good until the next call', () => {
  const first = encodePassing(bulk('one'), 2);
  expect(first.toString()).toBe('$3\r\none\r\n');
  expect(encodePassing(bulk('two'), 2).toString()).toBe('$3\r\ntwo\r\n');
  expect(first.toString()).toBe('$3\r\ntwo\r\n');
});
