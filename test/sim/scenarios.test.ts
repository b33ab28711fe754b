/** Scripted: each class of bug that others were found to have, played on whole nodes and judged. */
import { describe, expect, test } from 'vitest';
import { scenarios } from './scenarios/all.ts';
import { playScenario } from './scenarios/scenario.ts';

describe('scenarios', () => {
  test.each(scenarios.map((scenario) => ({ name: scenario.name, scenario })))(
    '$name',
    async ({ scenario }) => {
      const { violation, lines } = await playScenario(scenario, { trapped: false });
      expect(violation === undefined ? '' : `${violation.text}\n${lines.join('\n')}`).toBe('');
    },
    60_000,
  );

  test('have names of their own', () => {
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  });
});
