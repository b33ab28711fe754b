import { expect, test } from 'vitest';
import { MetricsPage } from '../../../src/common/http/metrics-page.ts';
import { LatencyHistogram } from '../../../src/common/latency-histogram.ts';
import { parseMetrics } from './parse-metrics.ts';

interface Source {
  readonly size: number;
  readonly calls: ReadonlyMap<string, number>;
  readonly latency: LatencyHistogram;
}

function page(source: () => Source | undefined) {
  return new MetricsPage<Source>({
    process: false,
    source,
    families: [
      { type: 'gauge', name: 'a_size_bytes', help: 'size', read: ({ size }) => size },
      { type: 'gauge', name: 'an_absence', help: 'nothing to tell', read: () => undefined },
      {
        type: 'counter',
        name: 'calls_total',
        help: 'calls',
        labels: ['name'],
        read: ({ calls }) => [...calls].map(([name, value]) => ({ labels: { name }, value })),
      },
      {
        type: 'histogram',
        name: 'latency_seconds',
        help: 'latency',
        labels: ['kind'],
        read: ({ latency }) => [{ labels: { kind: 'x' }, value: latency }],
      },
    ],
  });
}

test('prints what the source has at that moment, every time anew', async () => {
  const latency = new LatencyHistogram();
  latency.record(100);
  latency.record(3_000_000);
  let source: Source | undefined = {
    size: 5,
    calls: new Map([
      ['get', 1],
      ['a"b\\c\n', 2],
    ]),
    latency,
  };
  const metrics = page(() => source);
  const first = parseMetrics(await metrics.text());
  expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(first.types.get('calls_total')).toBe('counter');
  expect(first.value('a_size_bytes')).toBe(5);
  expect(first.samples('an_absence')).toEqual([]);
  expect(first.value('calls_total', { name: 'a\\"b\\\\c\\n' })).toBe(2);
  expect(first.value('latency_seconds_bucket', { kind: 'x', le: '0.000064' })).toBe(0);
  expect(first.value('latency_seconds_bucket', { kind: 'x', le: '0.000128' })).toBe(1);
  expect(first.value('latency_seconds_bucket', { kind: 'x', le: '+Inf' })).toBe(2);
  expect(first.value('latency_seconds_sum')).toBeCloseTo(3.0001);

  source = { ...source, size: 0, calls: new Map([['set', 7]]) };
  const second = parseMetrics(await metrics.text());
  expect(second.value('a_size_bytes')).toBe(0);
  expect(second.samples('calls_total').map(({ labels }) => labels)).toEqual([{ name: 'set' }]);

  source = undefined;
  const third = parseMetrics(await metrics.text());
  for (const name of ['a_size_bytes', 'calls_total', 'latency_seconds_count']) {
    expect(third.samples(name)).toEqual([]);
  }
});

test('pages share nothing: two of one process have the same names and other values', async () => {
  const source = (size: number) => ({ size, calls: new Map(), latency: new LatencyHistogram() });
  const [one, two] = [page(() => source(1)), page(() => source(2))];
  expect(parseMetrics(await one.text()).value('a_size_bytes')).toBe(1);
  expect(parseMetrics(await two.text()).value('a_size_bytes')).toBe(2);
});

test('two families of one name are refused', () => {
  const family = { type: 'gauge', name: 'twice', help: 'x', read: () => 1 } as const;
  const options = { process: false, source: () => 0, families: [family, family] };
  expect(() => new MetricsPage(options)).toThrow(/twice has already been registered/);
});

test('tells of the process when asked to, but for the delay of the loop', async () => {
  const metrics = new MetricsPage({ process: true, source: () => 0, families: [] });
  const told = parseMetrics(await metrics.text());
  expect(told.value('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(told.value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  expect(told.value('nodejs_heap_size_used_bytes')).toBeGreaterThan(1_000_000);
  expect([...told.types.keys()].filter((name) => name.includes('eventloop'))).toEqual([]);
});
