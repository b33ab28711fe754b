import { expect, test } from 'vitest';
import { drawPerformance } from '../../bench/performance-plot.ts';
import { drawBars } from '../../bench/plot.ts';
import { linesOf } from '../../bench/results.ts';
import { rowOf } from './rows.ts';

const bar = (value: number) => ({ label: `n${value}`, value, text: `${value}!`, color: '#000' });
const widths = (svg: string) =>
  [...svg.matchAll(/<rect x="\d+" y="[\d.]+" width="([\d.]+)"/g)].map(([, width]) => Number(width));

test('ten times as much is longer by the same length, wherever it begins', () => {
  const bars = [10, 100, 1_000, 10_000].map(bar);
  const lengths = widths(drawBars('t', [{ title: 'p', groups: [{ title: 'g', bars }] }]));
  expect(lengths).toHaveLength(4);
  const steps = lengths.slice(1).map((length, at) => length - lengths[at]!);
  for (const step of steps) expect(step).toBeCloseTo(steps[0]!, 0);
  expect(lengths.every((length) => length > 0)).toBe(true);
});

test('what was not measured is named and has no bar', () => {
  const bars = [bar(5), { ...bar(6), value: Number.NaN }];
  const svg = drawBars('t', [{ title: 'p', groups: [{ title: 'g', bars }] }]);
  expect(widths(svg)).toHaveLength(1);
  expect(svg).toContain('n6');
  expect(svg).not.toMatch(/NaN|Infinity/);
});

test('the plot of a run has a bar for each door and each target that was measured', () => {
  const rows = [
    rowOf('redis', { perSecond: 50_000 }),
    rowOf('kvorum cluster', { perSecond: 20_000 }),
  ];
  const target = { unit: 's', better: 'less', reach: 1, goal: 0.5 } as const;
  const svg = drawPerformance(linesOf(rows), [
    { text: 'reached <here>', ...target, measured: 0.8 },
    { text: 'missed', ...target, measured: 4 },
    { text: 'unknown', ...target, measured: undefined },
  ]);
  expect(widths(svg)).toHaveLength(4);
  expect(svg).toContain('20,000');
  expect(svg).toContain('reached &lt;here&gt;');
  expect(svg).toContain('0.250 of it');
  expect(svg).not.toMatch(/unknown|NaN|Infinity|undefined/);
});

test('a run without figures still has a plot', () => {
  expect(drawPerformance([], [])).toMatch(/^<svg[\s\S]*<\/svg>\n$/);
});
