import { describe, expect, test } from 'vitest';
import { help, parseOptions } from '../../bench/options.ts';

describe('the command line', () => {
  test('without options everything is measured once', () => {
    expect(parseOptions([])).toEqual({
      ...{ help: false, full: false, seconds: 7, rounds: 1, fill: 1_000_000 },
      ...{ only: ['redis', 'kvorum', 'etcd'], checkPerf: true, json: undefined, data: undefined },
    });
  });

  test('--full measures longer and more often, unless it is told how long', () => {
    expect(parseOptions(['--full'])).toMatchObject({ full: true, seconds: 10, rounds: 3 });
    const some = parseOptions(['--full', '--seconds', '1.5', '--rounds=2']);
    expect(some).toMatchObject({ full: true, seconds: 1.5, rounds: 2 });
  });

  test('systems come in one order, each once', () => {
    expect(parseOptions(['--only', 'etcd, redis,etcd']).only).toEqual(['redis', 'etcd']);
  });

  test.each([
    [['--fast'], "Unknown option '--fast'"],
    [['now'], "Unexpected argument 'now'"],
    [['--json'], "Option '--json <value>' argument missing"],
    [['--only', 'redis,mongo'], '--only mongo: use redis, kvorum, etcd'],
    [['--only', ''], '--only : use redis, kvorum, etcd'],
    [['--seconds', '0.1'], '--seconds 0.1: must be a number from 0.5 to 300'],
    [['--seconds', 'ten'], '--seconds ten: must be a number from 0.5 to 300'],
    [['--seconds', ''], '--seconds : must be a number from 0.5 to 300'],
    [['--rounds', '1.5'], '--rounds 1.5: must be a whole number'],
    [['--fill', '1e9'], '--fill 1e9: must be a number from 1000 to 10000000'],
  ])('%j: %s', (args, message) => {
    expect(() => parseOptions(args)).toThrow(new Error(message));
  });

  test('the help names every option that is understood', () => {
    const values: Record<string, string> = { N: '10', LIST: 'etcd', DIR: 'x', FILE: 'x' };
    const named = [...help.matchAll(/^ {2}(--[a-z-]+)(?: ([A-Z]+))?/gm)];
    expect(named).toHaveLength(Object.keys(parseOptions([])).length);
    for (const [, option = '', value] of named) {
      const given = option === '--fill' ? '1000' : (values[value ?? ''] ?? '');
      const args = value === undefined ? [option] : [option, given];
      expect(parseOptions(args), option).not.toEqual(parseOptions([]));
    }
  });
});
