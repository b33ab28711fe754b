import { expect, test } from 'vitest';
import { parseConfig } from '../../src/cli/config-file.ts';
import { placedriverConfigSchema, placementSettingsOf } from '../../src/placedriver/config.ts';
import { defaultPlacementSettings } from '../../src/placedriver/term.ts';

function settings(placement: string) {
  const text = `name: p\ndata-dir: d\nmeta: { endpoints: ["a:1"] }\n${placement}\n`;
  return placementSettingsOf(parseConfig(text, 'p.yaml', placedriverConfigSchema));
}

test('without a section placement is as in the seed: ten minutes of wait, at any time', () => {
  expect(settings('')).toEqual(defaultPlacementSettings);
  expect(settings('').migrateWaitMs).toBe(600_000);
  expect(settings('')).not.toHaveProperty('balanceWindow');
});

test('every setting of placement is taken', () => {
  const text = 'migrate-wait-ms: 5000, move-stall-ms: 7000, moves-at-once: 3, plan-delay-ms: 0';
  expect(settings(`placement: { ${text}, balance-window: 22:30-05:00 }`)).toEqual({
    ...{ migrateWaitMs: 5_000, leaderWaitMs: 5_000, moveStallMs: 7_000 },
    ...{ movesAtOnceMax: 3, planDelayMs: 0 },
    balanceWindow: { fromMinute: 1_350, toMinute: 300 },
  });
});

test.each([
  ['migrate-wait-ms: 0', /placement\.migrate-wait-ms: /],
  ['move-stall-ms: 999', /placement\.move-stall-ms: /],
  ['moves-at-once: 0', /placement\.moves-at-once: /],
  ['plan-delay-ms: -1', /placement\.plan-delay-ms: /],
  ['balance-window: 1-5', /placement\.balance-window: a time of the day in UTC as 01:00-05:00/],
  ['balance-window: 01:00-01:00', /placement\.balance-window: a time of the day/],
  ['wait: 1', /placement/],
])('%s is refused by its name', (text, message) => {
  expect(() => settings(`placement: { ${text} }`)).toThrow(message);
});
