import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import { bulk, integer, NULL, type Reply } from '../../../src/datanode/resp/reply.ts';
import { replyBytes } from '../../../src/datanode/resp/reply-bytes.ts';
import { ReplyPile, ReplyTooLargeError } from '../../../src/datanode/resp/reply-pile.ts';

const item: fc.Arbitrary<Reply> = fc.oneof(
  { weight: 20, arbitrary: fc.string({ maxLength: 20 }).map(bulk) },
  fc.integer().map(integer),
  { weight: 1, arbitrary: fc.constant(NULL) },
  { weight: 1, arbitrary: fc.double().map((value) => ({ kind: 'double', value }) as const) },
  fc.constant<Reply>({ kind: 'array', items: [bulk('a'), NULL] }),
  fc.constant<Reply>({ kind: 'array', items: [bulk('a'), { kind: 'array', items: [bulk('b')] }] }),
);

test.each(['array', 'set', 'map', 'pairs'] as const)(
  'a %s is sent as if it were not packed',
  (shape) => {
    const paired = shape === 'map' || shape === 'pairs';
    fc.assert(
      fc.property(
        fc.array(fc.tuple(item, item), { minLength: 0, maxLength: 40 }),
        fc.constantFrom(1, 13, 40),
        (units, times) => {
          const all = Array.from({ length: times }, () => units).flat();
          const pile = new ReplyPile(shape, 'less');
          for (const [first, second] of all) pile.add(first, paired ? second : undefined);
          const data: Reply =
            shape === 'map' || shape === 'pairs'
              ? { kind: shape, pairs: all }
              : { kind: shape, items: all.map(([first]) => first) };
          const reply = pile.reply();
          expect(reply.kind === 'packed').toBe(all.length > 512);
          for (const protocol of [2, 3] as const) {
            expect(encodeReply(reply, protocol).equals(encodeReply(data, protocol))).toBe(true);
          }
        },
      ),
      { numRuns: 150, seed: 1 },
    );
  },
);

test('items that are the same in both protocols are kept once', () => {
  const pile = new ReplyPile('array', 'less');
  const entry: Reply = {
    kind: 'array',
    items: [bulk('1-0'), { kind: 'array', items: [bulk('field'), bulk('value')] }],
  };
  for (let added = 0; added < 1_000; added++) pile.add(entry);
  const reply = pile.reply();
  expect(reply.kind === 'packed' && reply.resp3 === reply.resp2).toBe(true);
});

test('a reply is refused while it grows, with its bound and what to use instead', () => {
  const pile = new ReplyPile('array', 'HSCAN');
  const large = bulk(Buffer.alloc(1_048_576));
  let added = 0;
  const fill = () => {
    for (; added < 1_000; added++) pile.add(large);
  };
  expect(fill).toThrow(ReplyTooLargeError);
  expect(fill).toThrow(/larger than reply-bytes-max \(67108864 bytes\); use HSCAN$/);
  expect(added).toBe(63);
  expect(added * replyBytes(large)).toBeLessThanOrEqual(limits.replyBytesMax);
});

test.each(['array', 'pairs'] as const)('items of a %s become bytes a few at a time', (shape) => {
  let looks = 0;
  const watched: Reply = {
    kind: 'bulk',
    get bytes() {
      looks++;
      return Buffer.from('x');
    },
  };
  const pile = new ReplyPile(shape, 'less');
  let most = 0;
  for (let at = 0; at < 2_000; at++) {
    const before = looks;
    pile.add(watched, shape === 'pairs' ? watched : undefined);
    most = Math.max(most, looks - before);
  }
  expect(most).toBeLessThanOrEqual(16);
  const before = looks;
  expect(pile.reply()).toMatchObject({ kind: 'packed', units: 2_000 });
  expect(looks).toBe(before);
});

test('small items are packed: a hundred thousand take little more than their bytes', () => {
  const pile = new ReplyPile('array', 'less');
  for (let at = 0; at < 100_000; at++) pile.add(bulk(`member ${at}`));
  const reply = pile.reply();
  expect(replyBytes(reply)).toBe(encodeReply(reply, 2).length - '*100000\r\n'.length + 16);
});
