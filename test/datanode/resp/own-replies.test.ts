import { expect, test } from 'vitest';
import { ownReplies } from '../../../src/datanode/resp/own-replies.ts';
import { bulk, integer, NULL, OK, type Reply } from '../../../src/datanode/resp/reply.ts';

/** A view into 16 KiB. */
const piece = (text: string) => {
  const memory = Buffer.allocUnsafeSlow(16_384);
  return memory.subarray(100, 100 + memory.write(text, 100));
};
const item = (text: string): Reply => ({ kind: 'bulk', bytes: piece(text) });

function memoriesOf(value: unknown, found = new Set<ArrayBufferLike>()) {
  if (Buffer.isBuffer(value)) found.add(value.buffer);
  else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) memoriesOf(each, found);
  }
  return found;
}

test('views into large memory move to one that has no room for anything else', () => {
  const alike = piece('both');
  const chunks = [piece('one'), piece('two')];
  const replies: Reply[] = [
    item('a'),
    { kind: 'encoded', bytes: piece('+b\r\n') },
    { kind: 'kept', resp2: alike, resp3: alike },
    { kind: 'kept', resp2: piece('2'), resp3: piece('3') },
    { kind: 'array', items: [item('c'), { kind: 'set', items: [item('d'), NULL] }] },
    { kind: 'push', items: [item('e')] },
    { kind: 'map', pairs: [[item('f'), item('g')]] },
    { kind: 'pairs', pairs: [[item('h'), integer(1)]] },
    { kind: 'rows', pairs: [[item('i'), integer(1)]] },
    { kind: 'packed', shape: 'set', units: 2, resp2: chunks, resp3: chunks },
    { kind: 'packed', shape: 'set', units: 1, resp2: [piece('4')], resp3: [piece('5')] },
  ];
  const own = ownReplies(replies);
  expect(own).toEqual(replies);
  const memories = [...memoriesOf(own)];
  expect(memories).toHaveLength(1);
  const distinct = 'a' + '+b\r\n' + 'both' + '23' + 'cdefghi' + 'onetwo' + '45';
  expect(memories[0]!.byteLength).toBe(distinct.length);
});

test('what has memory of its own stays as it is', () => {
  const replies = [OK, integer(7), bulk(Buffer.allocUnsafeSlow(100)), item('v'.repeat(9_000))];
  expect(ownReplies(replies)).toBe(replies);
  const [large, small] = [bulk(Buffer.allocUnsafeSlow(50_000)), item('w')];
  const own = ownReplies([large, small]);
  expect(own[0]).toBe(large);
  expect(memoriesOf(own[1]!).values().next().value!.byteLength).toBe(1);
});
