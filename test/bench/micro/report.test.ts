import { describe, expect, test } from 'vitest';
import { count, noInstructions, parseCount } from '../../../bench/micro/instructions.ts';
import { microHelp, parseMicroOptions } from '../../../bench/micro/options.ts';
import { microSheet } from '../../../bench/micro/report.ts';
import { roomNames } from '../../../bench/micro/rooms.ts';

describe('the command line of micro-benchmarks', () => {
  test('measures all rooms for three seconds each', () => {
    const expected = { help: false, only: roomNames, seconds: 3 };
    expect(parseMicroOptions([])).toMatchObject(expected);
    expect(parseMicroOptions(['--only', 'raft,parse']).only).toEqual(['parse', 'raft']);
    for (const name of roomNames) expect(microHelp).toContain(name);
  });

  test.each([
    [['--only', 'disk'], /^--only disk: use parse, /],
    [['--seconds', '0'], /^--seconds 0: must be a number from 0.1 to 600$/],
  ])('%j', (args, message) => {
    expect(() => parseMicroOptions(args)).toThrow(message);
  });
});

describe('instructions', () => {
  test.each<[string, number | string]>([
    ['123456,,instructions:u,1000,100.00,,', 123_456],
    ['<not supported>,,instructions:u,0,100.00,,', 'perf says: <not supported>'],
    ['<not counted>,,instructions:u,0,0.00,,\n', 'perf says: <not counted>'],
    ['Error:\nNo permission to enable', 'perf says: Error:'],
  ])('%j: %s', (text, found) => {
    expect(parseCount(text)).toBe(found);
  });

  test('are counted, or it is said why not', async () => {
    const why = await noInstructions();
    if (why === undefined) expect(await count('true', [])).toBeGreaterThan(1_000);
    else expect(why).not.toBe('');
  });
});

describe('the figures', () => {
  const figure = { room: 'parse', leastNs: 150, medianNs: 200 } as const;

  test('stand beside those of an earlier run, by instructions where both have them', () => {
    const rowOf = (...args: Parameters<typeof microSheet>) => microSheet(...args).rows[0]!;
    expect(rowOf([figure], [], undefined).slice(0, 4)).toEqual(['parse', '150', '200', '–']);
    const before = [{ ...figure, leastNs: 100 }];
    expect(rowOf([figure], before, undefined)[4]).toBe('+50.0 %');
    const counted = [{ ...figure, instructions: 990 }];
    expect(rowOf(counted, before, undefined)[4]).toBe('+50.0 %');
    expect(rowOf(counted, [{ ...figure, instructions: 1_000 }], undefined)[4]).toBe('−1.0 %');
    expect(rowOf([figure], [{ ...figure, room: 'raft' }], undefined)[4]).toBe('–');
  });

  test('say why no instructions were counted', () => {
    expect(microSheet([], [], 'perf says no').notes).toEqual([
      'No instructions counted: perf says no.',
    ]);
    expect(microSheet([], [], undefined).notes).toEqual([]);
  });
});
