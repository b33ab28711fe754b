import { expect, test } from 'vitest';
import { parseCsv, warmUp } from '../../bench/redis-benchmark.ts';

const HEADER =
  '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms",' +
  '"p99_latency_ms","max_latency_ms"';

test('the figures of a test are found by the names of their columns', () => {
  const text = `${HEADER}\n"SET","51124.74","0.9","0.1","0.863","2.1","3.303","8.2"\n`;
  expect(parseCsv(text, 'SET')).toEqual({ perSecond: 51_124.74, p50Ms: 0.863, p99Ms: 3.303 });
});

test('lines before the table do not matter, as --cluster prints them', () => {
  const text =
    'Cluster has 3 master nodes:\r\nMaster 0: a 127.0.0.1:7001\r\n\r\n' +
    `${HEADER}\n"GET","900.5","1","1","1.5","2","3","4"\n`;
  expect(parseCsv(text, 'GET')).toEqual({ perSecond: 900.5, p50Ms: 1.5, p99Ms: 3 });
});

test('no figures are made up', () => {
  expect(parseCsv('', 'SET')).toBeUndefined();
  expect(parseCsv(`${HEADER}\n`, 'SET')).toBeUndefined();
  expect(parseCsv(`${HEADER}\n"GET","1","1","1","1","1","1","1"\n`, 'SET')).toBeUndefined();
  expect(parseCsv('"test","rps"\n"SET","1000"\n', 'SET')).toBeUndefined();
  expect(parseCsv(`${HEADER}\n"SET","nan?","1","1","1","1","1","1"\n`, 'SET')).toBeUndefined();
});

test('a server is warm when a run is hardly faster than the one before', async () => {
  const rates = [100, 1_000, 2_000, 2_100, 5_000];
  const asked: unknown[] = [];
  const perSecond = await warmUp(1.5, async (seconds, known) => {
    asked.push([seconds, known]);
    return { perSecond: rates[asked.length - 1]!, p50Ms: 1, p99Ms: 1 };
  });
  expect(perSecond).toBe(2_100);
  expect(asked).toEqual([
    [1.5, undefined],
    [1.5, 100],
    [1.5, 1_000],
    [1.5, 2_000],
  ]);
});

test('one that never gets warm is measured all the same', async () => {
  let runs = 0;
  const perSecond = await warmUp(1, async () => ({ perSecond: 2 ** runs++, p50Ms: 1, p99Ms: 1 }));
  expect(runs).toBe(7);
  expect(perSecond).toBe(64);
});
