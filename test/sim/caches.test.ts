/** What clients keep, judged on histories made by hand, and replies of RESP3 out of chunks. */
import { describe, expect, test } from 'vitest';
import { encodeReply } from '../../src/datanode/resp/encode-reply.ts';
import { array, bulk, integer, OK, type Reply } from '../../src/datanode/resp/reply.ts';
import type { Call } from './call.ts';
import { checkCaches, checkQuietCaches, type Kept } from './checkers/caches.ts';
import { ReplyReader } from './resp.ts';

const call = (text: string, invokedMs: number, returnedMs: number): Call => {
  const reply = returnedMs === Number.POSITIVE_INFINITY ? undefined : OK;
  return { client: 1, words: text.split(' '), invokedMs, returnedMs, reply };
};
const history = [call('SET r old', 0, 10), call('SET r new', 100, 200)];
const kept = (value: string | null, untilMs: number, more: Partial<Kept> = {}): Kept => ({
  ...{ by: 'one', node: 'n1', key: 'r', value, sinceMs: 50, untilMs, end: 'it was told' },
  ...more,
});
const nothing = new Map<string, { fromMs: number; toMs: number }[]>();

describe('what a client keeps', () => {
  test.each([
    ['until so long after the write was acknowledged', kept('old', 1_199), nothing],
    ['of what is there', kept('new', 9_000), nothing],
    [
      'while its node stands still, and a moment longer',
      kept('old', 5_500),
      new Map([['n1', [{ fromMs: 300, toMs: 5_000 }]]]),
    ],
    [
      'while its node stands still twice',
      kept('old', 9_500),
      new Map([
        [
          'n1',
          [
            { fromMs: 300, toMs: 5_000 },
            { fromMs: 5_300, toMs: 9_000 },
          ],
        ],
      ]),
    ],
    [
      'that was on its way when its node stopped',
      kept('old', 5_500, { sinceMs: 305 }),
      new Map([['n1', [{ fromMs: 300, toMs: 5_000 }]]]),
    ],
    [
      'that was on its way when its node ended',
      kept('old', 5_500, { sinceMs: 305 }),
      new Map([['n1', [{ fromMs: 300, toMs: Number.POSITIVE_INFINITY }]]]),
    ],
    [
      'until it finds out that its node has ended',
      kept('old', 9_500),
      new Map([['n1', [{ fromMs: 300, toMs: Number.POSITIVE_INFINITY }]]]),
    ],
  ])('is right %s', (_, one, standstills) => {
    expect(() => checkCaches([one], history, standstills, 1_000)).not.toThrow();
  });

  test.each([
    ['longer', kept('old', 1_201), nothing],
    ['what nobody wrote', kept('other', 60), nothing],
    ['that there is nothing', kept(null, 1_201), nothing],
    [
      'long after its node went on',
      kept('old', 5_800),
      new Map([['n1', [{ fromMs: 300, toMs: 5_000 }]]]),
    ],
    [
      'while another node stands still',
      kept('old', 3_000),
      new Map([['n2', [{ fromMs: 300, toMs: 5_000 }]]]),
    ],
    [
      'what was too old when its node stopped',
      kept('old', 5_500),
      new Map([['n1', [{ fromMs: 1_500, toMs: 5_000 }]]]),
    ],
    [
      'at a node that ended before it was connected',
      kept('old', 5_500, { sinceMs: 300 }),
      new Map([['n1', [{ fromMs: 200, toMs: Number.POSITIVE_INFINITY }]]]),
    ],
  ])('is wrong %s', (_, one, standstills) => {
    expect(() => checkCaches([one], history, standstills, 1_000)).toThrow(/^caches: .*one kept r/);
  });

  test('is what is there, once all is quiet', () => {
    const left = new Map([['r', 'new']]);
    expect(() => checkQuietCaches([kept('new', 9_000)], left)).not.toThrow();
    expect(() => checkQuietCaches([kept('old', 9_000)], left)).toThrow('one keeps r: old');
  });
});

test('replies of RESP3 come whole out of any chunks', () => {
  const replies: Reply[] = [
    { kind: 'push', items: [bulk('invalidate'), array([bulk('a'), bulk('b')])] },
    { kind: 'push', items: [bulk('invalidate'), { kind: 'null' }] },
    { kind: 'map', pairs: [[bulk('proto'), integer(3)]] },
    { kind: 'set', items: [bulk('on')] },
    OK,
  ];
  const bytes = Buffer.concat(replies.map((reply) => encodeReply(reply, 3)));
  for (let size = 1; size <= bytes.length; size++) {
    const reader = new ReplyReader();
    const got: Reply[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      got.push(...reader.take(bytes.subarray(at, at + size)));
    }
    expect(got).toEqual(replies);
  }
});
