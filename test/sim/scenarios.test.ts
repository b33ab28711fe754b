/** Scripted: each class of bug that others were found to have, played on whole nodes and judged. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutations } from './mutations.ts';
import { scenarios } from './scenarios/all.ts';
import { playScenario } from './scenarios/scenario.ts';

const root = join(import.meta.dirname, '..', '..');

describe('scenarios', () => {
  test.each(scenarios.map((scenario) => ({ name: scenario.name, scenario })))(
    '$name',
    async ({ scenario }) => {
      const { violation, lines } = await playScenario(scenario, { trapped: false });
      expect(violation === undefined ? '' : `${violation.text}\n${lines.join('\n')}`).toBe('');
    },
    60_000,
  );

  test('have names of their own, and stand in the table of bug classes', () => {
    const names = scenarios.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const table = readFileSync(join(root, 'docs', 'bug-classes.md'), 'utf8');
    expect(names.filter((name) => !table.includes(name))).toEqual([]);
    const begins = mutations.flatMap((mutation) => mutation.scenarios ?? []);
    const astray = begins.filter((begin) => !names.some((name) => name.startsWith(begin)));
    expect(astray).toEqual([]);
  });
});
