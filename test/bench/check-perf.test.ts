import { expect, test } from 'vitest';
import { isCapped, parseCheckPerf } from '../../bench/check-perf.ts';

const bar = (done: number) => ` ${done} / 60 Boo  ${((done / 60) * 100).toFixed(2)}%`;

test('a run that etcd calls too slow is a measurement like any other', () => {
  const text =
    `${bar(0)}\r${bar(30)} 30s\r${bar(60)} 1m0s\n` +
    'FAIL: Throughput too low: 8451 writes/s\nSlowest request took too long: 0.786915s\n' +
    'PASS: Stddev is 0.063215s\nFAIL\n';
  expect(parseCheckPerf(text)).toEqual({
    ...{ perSecond: 8_451, slowestSeconds: 0.786915, stddevSeconds: 0.063215 },
    complaints: [
      'FAIL: Throughput too low: 8451 writes/s',
      'Slowest request took too long: 0.786915s',
    ],
  });
});

test('a run that passes has nothing to complain of', () => {
  const text =
    `${bar(60)}1m0s\rPASS: Throughput is 14974 writes/s\nPASS: Slowest request took 0.468174s\n` +
    'PASS: Stddev is 0.028241s\nPASS\n';
  expect(parseCheckPerf(text)).toEqual({
    ...{ perSecond: 14_974, slowestSeconds: 0.468174, stddevSeconds: 0.028241 },
    complaints: [],
  });
});

test('errors of requests are complaints', () => {
  const text =
    'FAIL: too many errors\nFAIL: ERROR(etcdserver: request timed out) -> 12\n' +
    'FAIL: Throughput too low: 91 writes/s\nSlowest request took too long: 7.1s\n' +
    'Stddev too high: 1.25s\nFAIL\n';
  const result = parseCheckPerf(text);
  expect(result).toMatchObject({ perSecond: 91, slowestSeconds: 7.1, stddevSeconds: 1.25 });
  expect(result?.complaints).toHaveLength(5);
});

test('a run that did not measure has no result', () => {
  expect(parseCheckPerf('')).toBeUndefined();
  expect(parseCheckPerf('Error: context deadline exceeded\n')).toBeUndefined();
});

test('close to its rate cap, the cap may be what slowed etcd down', () => {
  expect([13_499, 13_500, 15_000].map(isCapped)).toEqual([false, true, true]);
});
