import { expect, test } from 'vitest';
import { roomNames, rooms } from '../../../bench/micro/rooms.ts';
import { measureSlices } from '../../../bench/micro/slices.ts';

test.each(roomNames)('%s does what it says, again and again', async (name) => {
  const work = await rooms[name].prepare();
  for (const commands of [1, 200]) {
    const done = await work(commands);
    expect(done).toBeGreaterThanOrEqual(commands);
    expect(done).toBeLessThan(commands + 200);
  }
});

test('the time of a command is that of the shortest slice', async () => {
  let calls = 0;
  const busy = (ms: number) => {
    for (const until = performance.now() + ms; performance.now() < until; );
  };
  // every slice takes a millisecond more than its commands do, but for one in five
  const micro = {
    text: 'waits',
    prepare: async () => (commands: number) => {
      busy(commands * 0.02 + (++calls % 5 === 0 ? 0 : 1));
      return commands;
    },
  };
  const { leastNs, medianNs, slices } = await measureSlices(micro, 0.2);
  expect(slices).toBeGreaterThanOrEqual(20);
  expect(leastNs).toBeGreaterThanOrEqual(20_000);
  expect(medianNs).toBeGreaterThan(leastNs);
});
