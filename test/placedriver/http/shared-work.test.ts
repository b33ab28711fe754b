import { expect, test } from 'vitest';
import { SharedWork } from '../../../src/placedriver/http/shared-work.ts';

/** Work that takes as long as it is told to. */
function workOf(tookMs: number) {
  let nowMs = 0;
  let runs = 0;
  const shared = new SharedWork({ monotonicMs: () => nowMs }, async () => {
    runs++;
    await Promise.resolve();
    nowMs += tookMs;
    return runs;
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { shared, pass };
}

test('who asks at the same time gets the same, done once', async () => {
  const { shared } = workOf(500);
  expect(await Promise.all([shared.ask(), shared.ask(), shared.ask()])).toEqual([1, 1, 1]);
});

test('long work rests four times as long, and is then done anew', async () => {
  const { shared, pass } = workOf(500);
  expect(await shared.ask()).toBe(1);
  pass(1_999);
  expect(await shared.ask()).toBe(1);
  pass(1);
  expect(await shared.ask()).toBe(2);
});

test('short work is done whenever it is asked for', async () => {
  const { shared } = workOf(50);
  expect(await shared.ask()).toBe(1);
  expect(await shared.ask()).toBe(2);
});

test('what failed is tried again', async () => {
  let failing = true;
  const shared = new SharedWork({ monotonicMs: () => 0 }, async () => {
    if (failing) throw new Error('away');
    return 'done';
  });
  await expect(shared.ask()).rejects.toThrow('away');
  failing = false;
  expect(await shared.ask()).toBe('done');
});
