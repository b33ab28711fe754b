/** When the table is looked up, and for whom. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { Lookup } from '../../src/sdk/lookup.ts';
import type { TableContent } from '../../src/sdk/table.ts';
import { SimClock } from '../sim/clock.ts';
import { Scheduler } from '../sim/scheduler.ts';

const content: TableContent = { epoch: 1, hash: 'slots', nodes: [], partitions: [], groups: true };

/** Looks up every second, and at least 50 ms apart; the table is there at once. */
function scene(onFetch: (elsewhere: boolean) => void) {
  const random = seededRandom(1);
  const scheduler = new Scheduler(random);
  const lookup = new Lookup({
    source: {
      fetch: async (epoch, _signal, elsewhere) => {
        onFetch(elsewhere);
        return epoch === undefined ? content : undefined;
      },
    },
    clock: new SimClock(scheduler),
    random,
    ...{ intervalMs: 1_000, restMs: 50 },
    changed: () => {},
    failed: () => {},
  });
  const pass = (ms: number) => scheduler.run(scheduler.nowMs + ms);
  return { lookup, pass };
}

test('whoever asks while there is a table has it looked up elsewhere, once', async () => {
  const asked: boolean[] = [];
  const { lookup, pass } = scene((elsewhere) => void asked.push(elsewhere));
  lookup.refresh();
  await pass(10);
  expect(asked).toEqual([false]);
  await pass(1_300);
  lookup.refresh();
  await pass(60);
  expect(asked).toEqual([false, false, true]);
  await pass(1_300);
  expect(asked).toEqual([false, false, true, false]);
  await lookup.stop();
});
