import { expect, test } from 'vitest';
import { targets, verdictOf } from '../../bench/report.ts';
import { linesOf } from '../../bench/results.ts';
import { inTerminal } from '../../bench/sheet.ts';
import { type Judged, judgeTargets, shareOf } from '../../bench/targets.ts';
import { rowOf } from './rows.ts';

const judged = (rows: Parameters<typeof linesOf>[0]) => judgeTargets(linesOf(rows));
const ratio = { unit: '×', better: 'more' } as const;

test('a target is the ratio of two lines of the same load', () => {
  const found = judged([
    rowOf('redis', { perSecond: 50_000 }),
    rowOf('redis', { perSecond: 90_000, pipeline: 16 }),
    rowOf('kvorum cluster', { perSecond: 10_000 }),
    rowOf('kvorum cluster', { perSecond: 9_000, test: 'LPUSH' }),
    rowOf('kvorum cluster', { perSecond: 99_000, valueBytes: 4_096 }),
  ]);
  const measured = found.filter((one) => one.measured !== undefined);
  expect(measured).toEqual([
    {
      ...{ text: 'SET, pipeline 1: kvorum cluster against redis', ...ratio },
      ...{ reach: 0.25, goal: 0.5, measured: 0.2 },
    },
    {
      ...{ text: 'LPUSH, pipeline 1: kvorum cluster against its own SET', ...ratio },
      ...{ reach: 0.8, goal: 0.95, measured: 0.9 },
    },
  ]);
});

test('every target asks for something, and its goal for more', () => {
  for (const one of judged([]))
    expect(shareOf({ ...one, measured: one.goal }, one.reach)).toBeGreaterThan(1);
});

test('the report says which are reached and how near the others are, and nothing of the rest', () => {
  const [sheet] = targets([
    { text: 'a', ...ratio, reach: 0.25, goal: 0.5, measured: 0.2 },
    { text: 'b', unit: 'ms', better: 'less', reach: 80, goal: 20, measured: 80, note: '9 times' },
    { text: 'c', ...ratio, reach: 1, goal: 2, measured: undefined },
  ]);
  expect(inTerminal(sheet!)).toEqual([
    '',
    'targets',
    '     measured  must reach     goal',
    '  a   0.200 ×    ≥ 0.25 ×  ≥ 0.5 ×  0.800 of it',
    '  b   80.0 ms     ≤ 80 ms  ≤ 20 ms      reached  9 times',
  ]);
  expect(targets(judged([]))).toEqual([]);
});

test.each<[number, string]>([
  [160, '0.500 of it'],
  [80, 'reached'],
  [20.1, 'reached'],
  [20, 'goal'],
])('a pause of %d ms: %s', (measured, verdict) => {
  const one: Judged = { text: '', unit: 'ms', better: 'less', reach: 80, goal: 20, measured };
  expect(verdictOf(one)).toBe(verdict);
});
