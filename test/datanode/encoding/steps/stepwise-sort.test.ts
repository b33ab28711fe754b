import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/common/random.ts';
import { SteadyList } from '../../../../src/common/steady-list.ts';
import { sortStepwise } from '../../../../src/datanode/encoding/steps/stepwise-sort.ts';

test.each([0, 1, 2_047, 2_048, 2_049, 6_144, 10_000, 16_385])('%i items, stably', (length) => {
  const random = seededRandom(`sort ${length}`);
  const items = Array.from({ length }, (_, at) => ({ at, weight: Math.floor(random.float() * 9) }));
  const list = new SteadyList<(typeof items)[number]>();
  for (const item of items) list.push(item);
  let compared = 0;
  let comparedAtOnce = 0;
  const compare = (a: { weight: number }, b: { weight: number }) => {
    compared++;
    return a.weight - b.weight;
  };
  const run = sortStepwise(list, compare, function* () {
    yield;
  });
  let step = run.next();
  while (!step.done) {
    comparedAtOnce = Math.max(comparedAtOnce, compared);
    compared = 0;
    step = run.next();
  }
  expect([...step.value]).toEqual(items.toSorted((a, b) => a.weight - b.weight || a.at - b.at));
  expect(comparedAtOnce).toBeLessThan(2_048 * 12);
});
