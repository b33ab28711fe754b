/** The system's clock: what is asked for at the end of a turn. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';

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
