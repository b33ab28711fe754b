import { describe, expect, test } from 'vitest';
import { floorsOf, linesOf, median } from '../../bench/results.ts';
import { memoryOf, rowOf } from './rows.ts';

test('the median of an even number of figures lies between the middle two', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test('rounds of a load at a door become one line; other loads and doors do not', () => {
  const lines = linesOf([
    rowOf('redis', { perSecond: 10, servers: { a: 1, b: 2 }, load: 5 }),
    rowOf('redis', { perSecond: 30, pipeline: 16 }),
    rowOf('redis', { perSecond: 20, round: 2, servers: { a: 3, b: 4 }, load: 7 }),
    rowOf('etcd', { perSecond: 40 }),
  ]);
  expect(lines.map(({ door, pipeline, perSecond }) => [door, pipeline, perSecond])).toEqual([
    ['redis', 1, 15],
    ['redis', 16, 30],
    ['etcd', 1, 40],
  ]);
  expect(lines[0]).toMatchObject({ rounds: [10, 20], serverSeconds: 5, loadSeconds: 6 });
});

describe('floors', () => {
  const redis = rowOf('redis', { test: 'GET', perSecond: 100_000 });
  const get = rowOf('kvorum cluster', { test: 'GET', perSecond: 40_000 });
  const set = rowOf('kvorum cluster', { perSecond: 16_000 });
  const client = rowOf('etcd', { perSecond: 1_000 });
  const checkPerf = rowOf('etcd check perf', { perSecond: 4_000, clients: 1_000 });

  const idle = (cpu: number) => {
    return { partitions: 100, seconds: 20, servers: { a: cpu }, otherCores: 0 };
  };

  test('hold at the floor itself', () => {
    const memory = [memoryOf('datanode1', 1e6, 299e6), memoryOf('placedriver1', 1e6, 900e6)];
    const all = floorsOf([redis, get, set, client, checkPerf], memory, idle(0.99));
    expect(all.map(({ measured }) => measured)).toEqual([4, 0.4, 299, 4.95]);
    expect(all.map(({ holds }) => holds)).toEqual([true, true, true, true]);
  });

  test('are missed just below it, by any datanode', () => {
    const slower = [
      { ...get, perSecond: 39_999 },
      { ...set, perSecond: 15_999 },
    ];
    const memory = [memoryOf('datanode1', 1e6, 9e6), memoryOf('datanode2', 1e6, 300e6)];
    const all = floorsOf([redis, client, checkPerf, ...slower], memory, idle(1));
    expect(all.map(({ holds }) => holds)).toEqual([false, false, false, false]);
  });

  test('are judged by the standard load on the cluster ports alone', () => {
    const others = [
      rowOf('kvorum gateway', { perSecond: 90_000 }),
      rowOf('kvorum cluster', { perSecond: 90_000, pipeline: 16 }),
      rowOf('kvorum cluster', { perSecond: 90_000, clients: 500 }),
      rowOf('kvorum cluster', { perSecond: 90_000, valueBytes: 1_000 }),
    ];
    expect(floorsOf([...others, set, checkPerf], [])[0]?.measured).toBe(4);
    expect(floorsOf([...others, checkPerf], [])[0]?.holds).toBeUndefined();
  });

  test('are judged against the gRPC clients when check perf was left out', () => {
    const [first] = floorsOf([set, client], []);
    expect(first).toMatchObject({ measured: 16, holds: true });
    expect(first?.text).toContain('× etcd');
    expect(first?.text).not.toContain('check perf');
  });
});
