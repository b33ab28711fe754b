import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { RecentEntries } from '../../../../src/datanode/partition/applying/recent-entries.ts';
import { ValueRing } from '../../../../src/datanode/partition/remembering/value-ring.ts';
import { bulk, integer, OK, type Reply } from '../../../../src/datanode/resp/reply.ts';

let applied: { term: number; index: number };
/** Terms in the log that is left, by index. */
let log: Map<number, number>;
let recent: RecentEntries;

beforeEach(() => {
  applied = { term: 0, index: 0 };
  log = new Map();
  recent = new RecentEntries({
    applied: () => applied,
    termOf: (index) => log.get(index) ?? 'compacted',
  });
});

function apply(term: number, index: number, replies: readonly Reply[] = [], own?: number): void {
  applied = { term, index };
  recent.note([{ index, term, replies }], own);
}

const fate = (term: number, index: number) => recent.fateOf({ term, index });

test('what is applied tells its replies; what is not, nothing', () => {
  apply(1, 1);
  apply(1, 2, [OK, integer(7)]);
  expect(fate(1, 2)).toEqual({ kind: 'done', replies: [OK, integer(7)] });
  expect(fate(1, 3)).toEqual({ kind: 'open' });
  expect(fate(2, 3)).toEqual({ kind: 'open' });
});

test('another term’s entry in its place, or before it, means never', () => {
  apply(1, 1, [OK]);
  apply(3, 2, [OK]);
  expect(fate(1, 2)).toEqual({ kind: 'never' });
  expect(fate(1, 3)).toEqual({ kind: 'never' });
  // a leader of a later term may put it there
  expect(fate(3, 3)).toEqual({ kind: 'open' });
  expect(fate(4, 3)).toEqual({ kind: 'open' });
  expect(fate(2, 1)).toEqual({ kind: 'never' });
});

test('what a life before has applied is told by the log alone', () => {
  applied = { term: 2, index: 9 };
  log.set(9, 2).set(8, 1);
  expect(fate(2, 9)).toEqual({ kind: 'done', replies: undefined });
  expect(fate(2, 8)).toEqual({ kind: 'never' });
  expect(fate(1, 8)).toEqual({ kind: 'done', replies: undefined });
  expect(fate(1, 7)).toEqual({ kind: 'forgotten' });
  apply(2, 10, [OK]);
  expect(fate(2, 10)).toEqual({ kind: 'done', replies: [OK] });
});

test('a snapshot leaves a gap that nobody guesses at', () => {
  apply(1, 1, [OK]);
  applied = { term: 1, index: 5 };
  apply(1, 6, [integer(6)]);
  expect(fate(1, 3)).toEqual({ kind: 'forgotten' });
  expect(fate(1, 1)).toEqual({ kind: 'done', replies: [OK] });
  expect(fate(1, 6)).toEqual({ kind: 'done', replies: [integer(6)] });
});

test('a leader keeps nothing of its own term, and knows what it applied', () => {
  apply(4, 1, [OK], 4);
  apply(4, 2, [OK], 5);
  expect(fate(4, 1)).toEqual({ kind: 'done', replies: undefined });
  expect(fate(4, 2)).toEqual({ kind: 'done', replies: [OK] });
});

test('each term has its own room, and of its last entries the replies are there', () => {
  const large = bulk(Buffer.alloc(limits.recentTermBytesMax / 4));
  for (let index = 1; index <= 10; index++) apply(1, index, [large]);
  for (let index = 11; index <= 20; index++) apply(2, index, [large]);
  expect(fate(1, 10)).toEqual({ kind: 'done', replies: [large] });
  expect(fate(1, 2)).toEqual({ kind: 'done', replies: undefined });
  expect(fate(2, 20)).toEqual({ kind: 'done', replies: [large] });
  for (let term = 3; term <= 12; term++) apply(term, 18 + term, [OK]);
  expect(fate(1, 10)).toEqual({ kind: 'done', replies: [large] });
  for (let index = 31; index <= 60; index++) apply(10 + Math.ceil(index / 10), index, [large]);
  // all terms have so much at most: the oldest go first
  expect(fate(1, 10)).toEqual({ kind: 'done', replies: undefined });
  expect(fate(12, 30)).toEqual({ kind: 'done', replies: [OK] });
  expect(fate(14, 40)).toEqual({ kind: 'done', replies: [large] });
});

test('whose an entry was is known for a thousand terms', () => {
  const terms = limits.recentStretchesMax + 1;
  for (let term = 1; term <= terms; term++) apply(term, term, [OK]);
  expect(fate(2, 2)).toEqual({ kind: 'done', replies: [OK] });
  expect(fate(1, 2)).toEqual({ kind: 'never' });
  expect(fate(1, 1)).toEqual({ kind: 'forgotten' });
  // terms never fall along a log
  expect(fate(3, 1)).toEqual({ kind: 'never' });
});

test('in the gap that a snapshot left, only terms of both sides can be', () => {
  apply(3, 1, [OK]);
  apply(5, 9, [OK]);
  expect(fate(2, 4)).toEqual({ kind: 'never' });
  for (const term of [3, 4, 5]) expect(fate(term, 4)).toEqual({ kind: 'forgotten' });
  expect(fate(6, 4)).toEqual({ kind: 'never' });
});

test('small replies are bounded as well, and what was dropped is let go', () => {
  const count = 40_000;
  for (let index = 1; index <= count; index++) apply(1, index, [integer(index)]);
  expect(fate(1, count)).toEqual({ kind: 'done', replies: [integer(count)] });
  expect(fate(1, count - 8_000)).toEqual({
    kind: 'done',
    replies: [integer(count - 8_000)],
  });
  expect(fate(1, 1)).toEqual({ kind: 'done', replies: undefined });
});

test('no kept reply keeps memory alive that is much larger', () => {
  const ring = new ValueRing(seededRandom('ring'), 1_048_576);
  const engine = ring.newEngine();
  const key = Buffer.from('key');
  ring.keep(engine, key, Buffer.from('a value of 20 bytes.'));
  const count = 3_000;
  for (let index = 1; index <= count; index++) {
    // what other engines of the node read meanwhile
    for (let at = 0; at < 800; at++) ring.get(engine, key);
    apply(1, index, [bulk(ring.get(engine, key)!), OK, bulk(ring.get(engine, key)!)]);
  }
  const memories = new Set<ArrayBufferLike>();
  for (let index = 1; index <= count; index++) {
    const known = fate(1, index);
    if (known.kind !== 'done') throw new Error(known.kind);
    for (const reply of known.replies ?? []) {
      if (reply.kind !== 'bulk') continue;
      expect(reply.bytes.toString()).toBe('a value of 20 bytes.');
      memories.add(reply.bytes.buffer);
    }
  }
  const bytes = [...memories].reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(memories.size).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThan(limits.recentTermBytesMax);
});
