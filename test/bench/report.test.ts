import { describe, expect, test } from 'vitest';
import { disturbances, durability, floors, processes, throughput } from '../../bench/report.ts';
import { floorsOf } from '../../bench/results.ts';
import { inTerminal, type Sheet } from '../../bench/sheet.ts';
import { memoryOf, rowOf } from './rows.ts';

const shown = (sheets: readonly Sheet[]) => sheets.flatMap(inTerminal);

describe('a report', () => {
  const rows = [
    rowOf('redis', { perSecond: 50_000 }),
    rowOf('kvorum cluster', { perSecond: 20_000 }),
    rowOf('etcd', { perSecond: 1_000 }),
    rowOf('etcd check perf', { perSecond: 4_000, clients: 1_000, valueBytes: 1_024 }),
    rowOf('redis', { test: 'GET', perSecond: 100_000 }),
    rowOf('kvorum cluster', { test: 'GET', perSecond: 30_000 }),
  ];

  /** The cells of the line of `door` in the section of `title`. */
  function cellsOf(title: string, door: string): string[] {
    const lines = shown(throughput(rows));
    const from = lines.findIndex((line) => line.startsWith(title));
    const found = lines.slice(from).find((line) => line.startsWith(`  ${door}`));
    return (found ?? '').trim().split(/ {2,}/);
  }

  test('shows the ratio to each system that was measured with the load', () => {
    const set = cellsOf('SET, pipeline 1, 50 clients, 100-byte', 'kvorum cluster');
    expect(set.slice(1, 5)).toEqual(['20,000', '0.400', '20.0', '5.00']);
    const get = cellsOf('GET, pipeline 1, 50 clients, 100-byte', 'kvorum cluster');
    expect(get.slice(1, 3)).toEqual(['30,000', '0.300']);
  });

  test('tells the load of check perf beside its ratio', () => {
    const text = shown(throughput(rows)).join('\n');
    expect(text).toContain('1,000 clients, 276-byte keys, 1,024-byte values');
    expect(text).toContain('rate cap 15,000 writes/s');
    expect(text).not.toContain('reached its rate cap');
    const capped = [...rows.slice(0, 3), rowOf('etcd check perf', { perSecond: 14_900 })];
    expect(shown(throughput(capped)).join('\n')).toContain('reached its rate cap');
  });

  test('shows the lowest and highest of several rounds beside the median', () => {
    const rounds = [300, 100, 200].map((perSecond, at) =>
      rowOf('redis', { perSecond, round: at + 1 }),
    );
    expect(shown(throughput(rounds)).join('\n')).toContain('200 (100–300)');
  });

  test('adds up what each process cost, and shows the most it held', () => {
    const memory = [memoryOf('datanode1', 100e6, 120e6), memoryOf('datanode1', 90e6, 130e6)];
    const kvorum = [
      rowOf('kvorum cluster', { servers: { datanode1: 2 }, load: 0.5 }),
      rowOf('kvorum gateway', { servers: { datanode1: 3 }, load: 0.25 }),
      rowOf('redis', { servers: { 'redis-server': 7 }, load: 1 }),
    ];
    const lines = shown(processes(kvorum, memory)).map((line) => line.trim().split(/ {2,}/));
    expect(lines).toContainEqual(['datanode1', '5.0', '100', '130']);
    expect(lines).toContainEqual(['load on kvorum', '0.8']);
  });

  test('says of each floor whether it holds', () => {
    const memory = [memoryOf('datanode1', 100e6, 301e6)];
    const idle = {
      partitions: 100,
      seconds: 20,
      servers: { datanode1: 0.5, n2: 0.46 },
      otherCores: 0,
    };
    const text = shown(floors(floorsOf(rows, memory, idle), 2));
    const verdicts = text.slice(3).map((line) => line.trim().split(/ {2,}/).slice(1));
    expect(verdicts).toEqual([
      ['5.00 ×', 'pass'],
      ['0.300 ×', 'FAIL'],
      ['301 MB', 'FAIL'],
      ['4.80 %', 'pass'],
    ]);
    expect(text[1]).toBe('floors');
    expect(shown(floors(floorsOf(rows, memory), 8))[1]).toBe(
      'floors (set for 2 cores, this has 8)',
    );
    expect(
      shown(floors(floorsOf([], []), 2))
        .join('\n')
        .match(/not measured/g),
    ).toHaveLength(4);
  });

  test('says how each system syncs', () => {
    const [sheet] = durability({ redis: { version: '7.0', fsync: 'always' } });
    expect(inTerminal(sheet!)).toEqual(
      [
        '',
        'what is on disk before the answer',
        '           when a write is answered',
        '  redis 7.0  always',
      ].map((line) => expect.stringMatching(line.trim())),
    );
    expect(durability({})).toEqual([]);
  });

  test('warns of rows in which something else was busy', () => {
    expect(disturbances(rows)).toEqual([]);
    const disturbed = disturbances([...rows, rowOf('redis', { otherCores: 0.7 })]);
    expect(disturbed[0]!.title).toContain('in 1 of 7 rows other programs kept up to 0.7 cores');
  });
});
