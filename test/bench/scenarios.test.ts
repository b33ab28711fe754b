import { expect, test } from 'vitest';
import { parseOptions } from '../../bench/options.ts';
import { scenarioNames } from '../../bench/scenario.ts';
import { scenarios } from '../../bench/scenarios.ts';

test.each([
  ['failover', '--kills', '20'],
  ['transfer', '--transfers', '60'],
  ['groups', '--groups', '2000'],
  ['hot-groups', '--groups', '2000'],
  ['start', '--keys', '2000000'],
  ['catch-up', '--keys', '2000000'],
  ['bulk', '--bulk', '2000000'],
  ['memory', '--seconds', '14'],
  ['holds', '--elements', '1048576'],
] as const)('%s takes longer with a larger %s', (name, option, value) => {
  const of = (...args: string[]) => scenarios[name].seconds(parseOptions(args));
  expect(of(option, value)).toBeGreaterThan(of());
});

test('every scenario says what it measures', () => {
  for (const name of scenarioNames) expect(scenarios[name].text).not.toBe('');
});
