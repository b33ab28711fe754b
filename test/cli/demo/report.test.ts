import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { busiestLeader, isWhole } from '../../../src/cli/demo/leaders.ts';
import { grouped, isClean, makeReport, reportLines } from '../../../src/cli/demo/report.ts';
import { Screen } from '../../../src/cli/demo/screen.ts';
import type { PartitionLine } from '../../../src/cli/status.ts';

const CLEAN = { acknowledged: 123_456, lost: 0, duplicates: 0, unexpected: 0, findings: [] };
const run = { seconds: 15, partitions: 8, kills: [] };
const reported = (verdict = {}, more = {}) =>
  makeReport(run, {
    ...{ verdict: { ...CLEAN, ...verdict }, clientErrors: 0, longestPauseMs: 287.4, errors: [] },
    ...more,
  });

describe('what a demonstration has come to', () => {
  test('five lines when all is well', () => {
    expect(isClean(reported())).toBe(true);
    expect(reportLines(reported(), false)).toEqual([
      '  acknowledged writes       123,456',
      '  acknowledged writes lost        0',
      '  duplicates                      0',
      '  client errors                   0',
      '  longest pause                 287 ms',
    ]);
  });

  test('colours change nothing but colours', () => {
    const plain = reportLines(reported({ lost: 1 }), false);
    const colored = reportLines(reported({ lost: 1 }), true);
    expect(colored).not.toEqual(plain);
    expect(colored.map(stripVTControlCharacters)).toEqual(plain);
  });

  test.each([
    ['a loss', reported({ lost: 1 })],
    ['a duplicate', reported({ duplicates: 1 })],
    ['a value nobody wrote', reported({ unexpected: 1 })],
    ['an error of a client', reported({}, { clientErrors: 1 })],
    ['nothing written', reported({ acknowledged: 0 })],
  ])('%s is not clean', (_name, report) => {
    expect(isClean(report)).toBe(false);
  });

  test('findings and errors are shown, not hundreds of them', () => {
    const findings = Array.from({ length: 30 }, (_, at) => `finding ${at}`);
    const lines = reportLines(reported({ lost: 30, findings }, { errors: ['an error'] }), false);
    expect(lines).toContain('  finding 9');
    expect(lines).not.toContain('  finding 10');
    expect(lines.at(-1)).toBe('  … and 21 more');
    expect(reportLines(reported({ unexpected: 2 }), false)[3]).toMatch(/values nobody wrote +2$/);
  });

  test('thousands are told apart', () => {
    expect([0, 999, 1_000, 1_234_567].map(grouped)).toEqual(['0', '999', '1,000', '1,234,567']);
  });
});

describe('leaders', () => {
  const line = (partition: number, leader: string | null, state = 'running'): PartitionLine => ({
    ...{ namespace: 'default', partition, leader, term: 1, commit: 1, applied: 1, lag: 0 },
    replicas: [{ node: 'datanode1', id: 1, role: 'leader', match: 1, state }],
  });

  test('the busiest is the one with most partitions, of equals the first', () => {
    const lines = ['b', 'a', 'b', null, 'c', 'c'].map((leader, at) => line(at, leader));
    expect(busiestLeader(lines)).toEqual({ name: 'b', led: 2 });
    expect(busiestLeader([line(0, 'z'), line(1, 'y')])).toEqual({ name: 'y', led: 1 });
    expect(busiestLeader([line(0, null)])).toBeUndefined();
  });

  test('a cluster is whole when each partition is led and all replicas run', () => {
    expect(isWhole([line(0, 'a'), line(1, 'b')], 2)).toBe(true);
    expect(isWhole([line(0, 'a')], 2)).toBe(false);
    expect(isWhole([line(0, 'a'), line(1, null)], 2)).toBe(false);
    expect(isWhole([line(0, 'a'), line(1, 'b', 'unreachable')], 2)).toBe(false);
  });
});

describe('the screen', () => {
  const shown = (isTTY: boolean, quiet = false) => {
    let written = '';
    const write = (text: string) => {
      written += text;
      return true;
    };
    const screen = new Screen({ isTTY, columns: 20, write } as never, quiet);
    screen.live('first');
    screen.event('event');
    screen.live('a line that is too long for it');
    screen.result(['done']);
    return written;
  };

  test('a terminal has one line that changes, below the events', () => {
    const clear = '\r\x1b[2K';
    const long = 'a line that is too ';
    expect(shown(true)).toBe(`first${clear}event\nfirst${clear}${long}${clear}done\n`);
  });

  test('elsewhere there are events and the result; asked to be quiet, the result', () => {
    expect(shown(false)).toBe('event\ndone\n');
    expect(shown(true, true)).toBe('done\n');
  });
});
