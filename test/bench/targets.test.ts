import { expect, test } from 'vitest';
import { targets } from '../../bench/report.ts';
import { linesOf } from '../../bench/results.ts';
import { judgeTargets } from '../../bench/targets.ts';
import { rowOf } from './rows.ts';

const judged = (rows: Parameters<typeof linesOf>[0]) => judgeTargets(linesOf(rows));

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
    { text: 'SET, pipeline 1: kvorum cluster ≥ 0.25 × redis', atLeast: 0.25, measured: 0.2 },
    { text: 'LPUSH, pipeline 1: kvorum cluster ≥ 0.8 × its own SET', atLeast: 0.8, measured: 0.9 },
  ]);
});

test('the report says which are reached and how near the others are, and nothing of the rest', () => {
  const lines = targets([
    { text: 'a', atLeast: 0.25, measured: 0.2 },
    { text: 'b', atLeast: 0.8, measured: 0.8 },
    { text: 'c', atLeast: 1, measured: undefined },
  ]);
  expect(lines).toEqual([
    '',
    'targets',
    '     measured',
    '  a   0.200 ×  0.800 of it',
    '  b   0.800 ×      reached',
  ]);
  expect(targets(judged([]))).toEqual([]);
});
