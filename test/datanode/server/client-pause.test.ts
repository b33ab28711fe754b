import { expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { ClientPause } from '../../../src/datanode/server/client-pause.ts';

test('a pause of writes weakens none of all commands that is there already', () => {
  const pause = new ClientPause(systemClock);
  const holds = (text: string) =>
    pause.holds(
      [...text.split(' ')].map((w) => Buffer.from(w)),
      () => [],
    );
  pause.pause(60_000, 'all');
  pause.pause(30_000, 'write');
  expect(holds('GET a')).toBe(true);
  pause.unpause();
  pause.pause(60_000, 'write');
  expect([holds('GET a'), holds('SET a 1')]).toEqual([false, true]);
  pause.unpause();
});
