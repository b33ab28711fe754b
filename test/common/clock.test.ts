/** The system's clock: what is asked for at the end of a turn. */
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { sleep, systemClock } from '../../src/common/clock.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('what is asked for at the end of a turn comes at the end of the next', async () => {
  const seen: string[] = [];
  systemClock.endOfTurn(() => {
    seen.push('first');
    systemClock.endOfTurn(() => seen.push('asked for by the first'));
  });
  systemClock.endOfTurn(() => seen.push('second'));
  expect(seen).toEqual([]);
  await nextTurn();
  expect(seen).toEqual(['first', 'second']);
  await nextTurn();
  expect(seen).toEqual(['first', 'second', 'asked for by the first']);
});

test('one that throws takes no other with it', async () => {
  const seen: string[] = [];
  const thrown = new Promise((resolve) => {
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', (error) => {
      for (const listener of listeners) process.on('uncaughtException', listener);
      resolve(error);
    });
  });
  const failure = new Error('of the first');
  systemClock.endOfTurn(() => {
    systemClock.endOfTurn(() => seen.push('of the next turn'));
    throw failure;
  });
  systemClock.endOfTurn(() => seen.push('second'));
  expect(await thrown).toBe(failure);
  while (seen.length < 2) await nextTurn();
  expect(seen).toEqual(['second', 'of the next turn']);
});

test('a sleep leaves no timer when it is aborted, and no listener when it is over', async () => {
  const timers = new Set<{ readonly run: () => void }>();
  const setTimer = (_delayMs: number, run: () => void) => {
    const timer = { run };
    timers.add(timer);
    return { cancel: () => void timers.delete(timer) };
  };
  const clock = { ...systemClock, setTimer };
  const abort = new AbortController();
  const given = sleep(clock, 1_000, abort.signal);
  const over = sleep(clock, 1_000, abort.signal);
  const [, last] = timers;
  last!.run();
  await over;
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
  abort.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  expect([...timers]).toEqual([last]);
  await expect(sleep(clock, 1_000, abort.signal)).rejects.toThrow('enough');
  expect(timers.size).toBe(1);
});
