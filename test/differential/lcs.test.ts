/** LCS of strings with thousands of runs in common: more than a reply holds as single items. */
import { describe, expect, test } from 'vitest';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { besideRedis, openNode, Pair } from './beside-redis.ts';

const LENGTH = 4_000;
const [first, second] = ['abcde', 'bdfac'].map((text) => text.repeat(LENGTH / 5));

describe.skipIf(!hasRedis)('LCS beside redis-server', () => {
  const beside = besideRedis(openNode);

  test.each([2, 3] as const)('gives its runs, in RESP%i', async (protocol) => {
    const pair = await Pair.connect(beside, protocol);
    try {
      await pair.ask(['MSET', '{t}1', first!, '{t}2', second!]);
      const more = [[], ['LEN'], ['IDX'], ['IDX', 'WITHMATCHLEN'], ['IDX', 'MINMATCHLEN', '2']];
      for (const words of more) {
        const [ours, theirs] = await pair.ask(['LCS', '{t}1', '{t}2', ...words]);
        expect(ours.toString('latin1')).toBe(theirs.toString('latin1'));
      }
    } finally {
      pair.close();
    }
  });
});
