import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  BEGIN,
  commandOf,
  END,
  keptPart,
  performancePage,
  type Written,
} from '../../bench/performance-page.ts';
import { durability, targets, throughput } from '../../bench/report.ts';
import type { Judged } from '../../bench/targets.ts';
import { rowOf } from './rows.ts';

const judged: readonly Judged[] = [
  { text: 'a', unit: '×', better: 'more', reach: 1, goal: 2, measured: 3 },
  { text: 'b', unit: 's', better: 'less', reach: 1, goal: 0.5, measured: 0.9, note: '12 kills' },
  { text: 'c', unit: 's', better: 'less', reach: 1, goal: 0.5, measured: 2 },
  { text: 'd', unit: 's', better: 'less', reach: 1, goal: 0.5, measured: undefined },
];

const written: Written = {
  machine: {
    ...{ cores: 2, processor: 'a processor', memoryBytes: 24e9, node: '20.0.0', system: 'Linux 6' },
    ...{ syncP50Ms: 0.5, syncP99Ms: 20, busyCoresBefore: 0 },
  },
  ...{ date: '2026-01-02', command: 'npm run bench -- --full --report', rounds: 3, seconds: 10 },
  targets: judged,
  sheets: [
    ...targets(judged),
    ...durability({ redis: { version: '7.0', fsync: 'appendfsync always' } }),
    ...throughput([rowOf('redis', { perSecond: 50_000 }), rowOf('kvorum cluster')]),
  ],
  leftOut: ['bulk: would take 300 min, and --minutes 60'],
};

describe('the page', () => {
  test('says where, when and how it was measured, and how to repeat it', () => {
    const page = performancePage(written, 'x');
    for (const text of [
      ...['`npm run bench -- --full --report`', '2026-01-02', '2 cores (a processor)', 'Linux 6'],
      ...['0.500 ms (median), 20.0 ms (p99)', 'appendfsync always', 'the median of 3 rounds'],
      ...['**2 of 3 targets', '1 of them at their goal', '| 12 kills |', '(performance.svg)'],
      ...['| kvorum cluster | 1,000 | 0.020 |', '- bulk: would take 300 min'],
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toMatch(/undefined|NaN/);
    expect(page).not.toContain('Other programs');
    const busy = { ...written, machine: { ...written.machine, busyCoresBefore: 1.4 } };
    expect(performancePage(busy, 'x')).toContain('Other programs kept 1.4 cores busy');
  });

  test('names the command without the places of one machine', () => {
    expect(commandOf([])).toBe('npm run bench');
    expect(commandOf(['--full', '--json', '/x/y', '--data=/z', '--report'])).toBe(
      'npm run bench -- --full --report',
    );
  });

  test('keeps what was written by hand, run after run', () => {
    const text = '## Where the time goes\n\n`read`: 8 µs.';
    const page = performancePage(written, text);
    expect(keptPart(page)).toBe(text);
    expect(performancePage(written, keptPart(page))).toBe(page);
    expect(keptPart(performancePage(written, keptPart(undefined)))).toContain('Nothing has been');
  });

  test('the page of today can be written over, and what is written there stays', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/performance.md'), 'utf8');
    const kept = keptPart(page);
    expect(kept).toMatch(/^## Where the time goes/);
    expect(performancePage(written, kept)).toContain(kept);
  });

  test.each([
    ['without marks', 'written by somebody else'],
    ['without an end', `${BEGIN}\ntext`],
    ['with the marks in the wrong order', `${END}\n${BEGIN}`],
    ['with a mark twice', `${BEGIN}\na\n${END}\n${BEGIN}\nb\n${END}`],
  ])('%s it is not written over', (_what, page) => {
    expect(() => keptPart(page)).toThrow('put them back, or move the file away');
  });
});
