import { describe, expect, test } from 'vitest';
import { help, parseOptions } from '../../bench/options.ts';
import { scenarioNames } from '../../bench/scenario.ts';

const names = ['redis', 'kvorum', 'etcd', ...scenarioNames].join(', ');

describe('the command line', () => {
  test('without options everything is measured once', () => {
    expect(parseOptions([])).toEqual({
      ...{ help: false, full: false, seconds: 7, rounds: 1, fill: 1_000_000, minutes: 60 },
      ...{ systems: ['redis', 'kvorum', 'etcd'], scenarios: [], checkPerf: true },
      ...{ kills: 10, transfers: 30, groups: 1_000, keys: 1_000_000, bulk: 1_000_000 },
      ...{ elements: 1_000_000, commands: undefined, profile: false },
      ...{ json: undefined, report: false, data: undefined },
    });
  });

  test('--full measures longer and more often, unless it is told how long', () => {
    expect(parseOptions(['--full'])).toMatchObject({ full: true, seconds: 10, rounds: 3 });
    const some = parseOptions(['--full', '--seconds', '1.5', '--rounds=2']);
    expect(some).toMatchObject({ full: true, seconds: 1.5, rounds: 2 });
  });

  test('--full has the scenarios as well, larger ones', () => {
    const { scenarios, bulk, kills } = parseOptions(['--full', '--kills', '7']);
    expect(scenarios).toEqual(scenarioNames);
    expect({ bulk, kills }).toEqual({ bulk: 10_000_000, kills: 7 });
  });

  test('systems come in one order, each once', () => {
    const { systems, scenarios } = parseOptions(['--only', 'etcd, redis,etcd']);
    expect({ systems, scenarios }).toEqual({ systems: ['redis', 'etcd'], scenarios: [] });
  });

  test('scenarios are chosen as systems are, and then no system is measured', () => {
    const { systems, scenarios } = parseOptions(['--full', '--only', 'transfer,failover']);
    expect({ systems, scenarios }).toEqual({ systems: [], scenarios: ['failover', 'transfer'] });
  });

  test('commands of holds are named in any case, and must be there', () => {
    const { commands } = parseOptions(['--commands', 'LPOP,zunionstore', '--profile']);
    expect(commands).toEqual(['lpop', 'zunionstore']);
    expect(() => parseOptions(['--commands', 'lpo'])).toThrow('--commands lpo: use ping, smembers');
  });

  test.each([
    [['--fast'], "Unknown option '--fast'"],
    [['now'], "Unexpected argument 'now'"],
    [['--json'], "Option '--json <value>' argument missing"],
    [['--only', 'redis,mongo'], `--only mongo: use ${names}`],
    [['--only', ''], `--only : use ${names}`],
    [['--seconds', '0.1'], '--seconds 0.1: must be a number from 0.5 to 300'],
    [['--seconds', 'ten'], '--seconds ten: must be a number from 0.5 to 300'],
    [['--seconds', ''], '--seconds : must be a number from 0.5 to 300'],
    [['--kills', '0'], '--kills 0: must be a number from 1 to 1000'],
    [['--bulk', 'all'], '--bulk all: must be a number from 20000 to 100000000'],
    [['--elements', '2000000'], '--elements 2000000: must be a number from 1000 to 1048576'],
    [['--rounds', '1.5'], '--rounds 1.5: must be a whole number'],
    [['--fill', '1e9'], '--fill 1e9: must be a number from 1000 to 10000000'],
  ])('%j: %s', (args, message) => {
    expect(() => parseOptions(args)).toThrow(new Error(message));
  });

  test('the help names every option that is understood', () => {
    const values: Record<string, string> = {
      N: '31',
      LIST: 'etcd',
      NAMES: 'lpop',
      DIR: 'x',
      FILE: 'x',
    };
    const named = [...help.matchAll(/^ {2}(--[a-z-]+)(?: ([A-Z]+))?/gm)];
    // --only chooses systems and scenarios
    expect(named).toHaveLength(Object.keys(parseOptions([])).length - 1);
    for (const [, option = '', value] of named) {
      const many = ['--fill', '--keys', '--bulk', '--elements'].includes(option);
      const given = many ? '20000' : (values[value ?? ''] ?? '');
      const args = value === undefined ? [option] : [option, given];
      expect(parseOptions(args), option).not.toEqual(parseOptions([]));
    }
  });
});
