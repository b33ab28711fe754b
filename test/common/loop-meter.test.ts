import { expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { LoopMeter } from '../../src/common/loop-meter.ts';

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('notes how long the loop was held', async () => {
  const meter = new LoopMeter(systemClock);
  meter.start();
  await wait(200);
  expect(meter.delay.count).toBeGreaterThan(0);
  const untilMs = performance.now() + 400;
  while (performance.now() < untilMs);
  await wait(100);
  expect(meter.delay.percentile(100)).toBeGreaterThan(100_000);
  meter.stop();
  const { count } = meter.delay;
  await wait(150);
  expect(meter.delay.count).toBe(count);
});
