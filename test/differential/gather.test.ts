/**
 * Reads over keys of several partitions, to the gateway port of a whole node and to a stock
 * redis-server: the same sequence gets the same replies, byte for byte.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { slotOfKey } from '../../src/common/hash.ts';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { scale } from '../scale.ts';
import { PARTITIONS } from '../storage/lone-node.ts';
import { besideRedis, openNode, Pair } from './beside-redis.ts';
import { inOrder, type Step } from './differential.ts';
import { comparable } from './order.ts';
import { compareSequences, SEQUENCES_TIMEOUT_MS } from './sequences.ts';
import { doubleWord, integerWord, member, option, words, wordsAndMore } from './words.ts';

/** Of both partitions, and some of one slot. */
const names = ['a', 'b', 'c', 'd', '{t}1', '{t}2'];
const key = fc.constantFrom(...names);
const keys = fc.array(key, { minLength: 2, maxLength: 4 });
const set = inOrder('set');
const scores = inOrder('scores');

const counted = fc
  .tuple(keys, fc.integer({ min: -1, max: 14 }))
  .map(([list, wrong]) => [String(wrong > 4 ? list.length : wrong), ...list]);
const phrase = (...parts: readonly fc.Arbitrary<string[]>[]) =>
  fc.tuple(...parts).map((lists) => lists.flat());
const maybe = (...parts: readonly fc.Arbitrary<string[]>[]) =>
  fc.array(fc.oneof(...parts), { maxLength: 2 }).map((lists) => lists.flat());
const score = fc.oneof(doubleWord, fc.constantFrom('0', '1', '1.5', '-2', '-0', 'inf', '-inf'));
const small = fc.constantFrom('a', 'b', 'c', 'd', '1', '2', '3', '');
const zsetOption = maybe(
  words(option('weights'), score, score),
  words(option('weights'), score, score, score),
  words(option('aggregate'), option('sum', 'min', 'max')),
  words(option('withscores')),
  words(option('limit'), integerWord),
);
const lcsOption = maybe(
  words(option('len')),
  words(option('idx')),
  words(option('withmatchlen')),
  words(option('minmatchlen'), integerWord),
);
/** Beyond one slice of a range, and beyond the first that a partition gives. */
const large = fc.tuple(key, fc.constantFrom(200, 3_000), fc.constantFrom(1, 2, 3));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: set(wordsAndMore(['SADD', key, small], small, 6)) },
  { weight: 6, arbitrary: scores(words('ZADD', key, score, small, score, small)) },
  { weight: 3, arbitrary: set(wordsAndMore(['PFADD', key, member], member, 6)) },
  { weight: 3, arbitrary: set(words('SET', key, fc.constantFrom('abcabd', 'xbcd', 'aXbXc', ''))) },
  {
    weight: 1,
    arbitrary: set(
      large.map(([name, count, by]) => [
        'SADD',
        name,
        ...Array.from({ length: count }, (_, at) => `member ${at * by}`.padEnd(100, '.')),
      ]),
    ),
  },
  {
    weight: 1,
    arbitrary: set(
      large.map(([name, count, by]) => [
        'ZADD',
        name,
        ...Array.from({ length: count }, (_, at) => [String(at % 7), `m${at * by}`]).flat(),
      ]),
    ),
  },
  set(words('HSET', key, small, small)),
  set(words('DEL', key)),
  set(words('PEXPIRE', key, fc.constantFrom('-1', '100000'))),
  {
    weight: 8,
    arbitrary: set(phrase(words(fc.constantFrom('SINTER', 'SUNION', 'SDIFF')), keys)),
  },
  {
    weight: 3,
    arbitrary: set(
      phrase(words('SINTERCARD'), counted, maybe(words(option('limit'), integerWord))),
    ),
  },
  {
    weight: 8,
    arbitrary: scores(
      phrase(words(fc.constantFrom('ZUNION', 'ZINTER', 'ZDIFF')), counted, zsetOption),
    ),
  },
  { weight: 3, arbitrary: scores(phrase(words('ZINTERCARD'), counted, zsetOption)) },
  { weight: 3, arbitrary: set(phrase(words('PFCOUNT'), keys)) },
  // MINMATCHLEN and all others with a key too many or too few are wrong for both
  { weight: 6, arbitrary: inOrder('exact')(phrase(words('LCS', key, key), lcsOption)) },
);

describe.skipIf(!hasRedis)('reads over several partitions as redis-server answers', () => {
  const servers = besideRedis(openNode);

  test('the keys are of several partitions', () => {
    const halves = names.map((name) => Math.floor(slotOfKey(Buffer.from(name)) / 8_192));
    expect(PARTITIONS).toBe(2);
    expect(new Set(halves).size).toBe(2);
  });

  test.each([2, 3] as const)(
    'RESP%i',
    async (protocol) => {
      const pair = await Pair.connect(servers, protocol);
      const name = `gatherings, RESP${protocol}`;
      await compareSequences(name, step, scale.gatherCommands / 2, async (steps) => {
        await pair.ask(['FLUSHALL']);
        return await compareAll(pair, steps);
      });
      pair.close();
    },
    SEQUENCES_TIMEOUT_MS,
  );
});

async function compareAll(pair: Pair, steps: readonly Step[]): Promise<number> {
  for (const { words: line, order = 'exact' } of steps) {
    const [ours, theirs] = await pair.ask(line);
    const shown = line.slice(0, 12).join(' ');
    expect(comparable(ours, order, theirs), shown).toBe(comparable(theirs, order, ours));
  }
  return steps.length;
}
