import { expect, test } from 'vitest';
import { parseOptions } from '../../bench/options.ts';
import {
  estimate,
  estimateSeconds,
  etcdLoads,
  isInTime,
  leaseLoads,
  orderOf,
  redisLoads,
  restOfFilling,
} from '../../bench/plan.ts';

test('both tests at both pipelines are always measured, with 50 clients and 100-byte values', () => {
  const standard = redisLoads(false).map(
    ({ test, pipeline, clients, valueBytes }) => `${test} ${pipeline} ${clients} ${valueBytes}`,
  );
  expect(standard.sort()).toEqual([
    'GET 1 50 100',
    'GET 16 50 100',
    'SET 1 50 100',
    'SET 16 50 100',
  ]);
  expect(redisLoads(true)).toEqual(expect.arrayContaining([...redisLoads(false)]));
  expect(redisLoads(true).length).toBeGreaterThan(4);
});

test('no gRPC client pipelines', () => {
  expect(etcdLoads(true).every(({ pipeline }) => pipeline === 1)).toBe(true);
  expect(etcdLoads(false)).toHaveLength(2);
});

test('leases are about reads, and belong to the full run', () => {
  expect(leaseLoads(true).map(({ test, pipeline }) => `${test} ${pipeline}`)).toEqual([
    'GET 1',
    'GET 16',
  ]);
  expect(redisLoads(true)).toEqual(expect.arrayContaining([...leaseLoads(true)]));
  expect(leaseLoads(false)).toEqual([]);
});

test('every other round goes backwards', () => {
  expect(orderOf(1, ['redis', 'kvorum', 'etcd'])).toEqual(['redis', 'kvorum', 'etcd']);
  expect(orderOf(2, ['redis', 'kvorum', 'etcd'])).toEqual(['etcd', 'kvorum', 'redis']);
});

test('a filling that would take too long is cut short', () => {
  expect(restOfFilling(1_000_000, 100_000, 50_000)).toBe(900_000);
  expect(restOfFilling(1_000_000, 100_000, 10_000)).toBe(350_000);
  expect(restOfFilling(1_000_000, 100_000, 100)).toBe(1);
});

test('the default takes at most eight minutes, and less when less is measured', () => {
  const of = (...args: string[]) => estimateSeconds(parseOptions(args));
  expect(of()).toBeLessThan(480);
  expect(of('--only', 'redis')).toBeLessThan(of('--only', 'kvorum'));
  expect(of('--no-check-perf')).toBe(of() - 65);
  expect(of('--rounds', '2', '--only', 'redis')).toBe(2 * of('--only', 'redis'));
  expect(of('--only', 'failover', '--kills', '11')).toBeLessThan(of('--only', 'failover,transfer'));
  expect(of('--full')).toBeGreaterThan(1_800);
});

test('all of --full ends within the minutes it may take, and each part has a line', () => {
  const full = parseOptions(['--full']);
  const parts = estimate(full);
  expect(isInTime(full, 0, estimateSeconds(full))).toBe(true);
  expect(parts.map(([name]) => name)).toEqual(
    expect.arrayContaining([...full.systems, ...full.scenarios, 'idle partitions']),
  );
  expect(parts.every(([, seconds]) => seconds > 0)).toBe(true);
  expect(isInTime(parseOptions(['--minutes', '2']), 61, 60)).toBe(false);
});
