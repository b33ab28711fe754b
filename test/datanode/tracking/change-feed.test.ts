/** One partition's feed, whose leader answers when the test says so, by a clock of the test's. */
import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import type { ChangesAnswer } from '../../../src/datanode/partition/entries/changes.ts';
import { ChangeFeed } from '../../../src/datanode/tracking/change-feed.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

interface Asked {
  readonly gone: AbortSignal;
  readonly answer: (answer: ChangesAnswer) => void;
}

const FAILED: ChangesAnswer = { kind: 'failed', code: 'BAD_FRAME', message: 'an older build' };

function open(answers?: ChangesAnswer) {
  const clock = new ManualClock();
  const asked: Asked[] = [];
  let missed = 0;
  const world = {
    clock,
    ask: (_place: object, _request: object, gone: AbortSignal) =>
      new Promise<ChangesAnswer>((answer) => {
        asked.push({ gone, answer });
        if (answers !== undefined) answer(answers);
      }),
    onChanges: () => {},
    onMissed: () => missed++,
  };
  const place = { namespace: 'default', partition: 0, group: 7 };
  const feed = new ChangeFeed(world, place, false, { keys: 0, items: 0 });
  return { clock, asked, feed, missed: () => missed };
}

const told = (upTo: number): ChangesAnswer => ({
  ...{ kind: 'told', upTo, anew: false, proven: true, changes: [] },
});

test('reads wait together for a leader that does not tell, and those that come later not at all', async () => {
  const { clock, feed } = open(FAILED);
  const first = feed.ready();
  await clock.until(Promise.resolve());
  while (clock.monotonicMs() < limits.trackingOpenMs / 2) await clock.step();
  const second = feed.ready();
  expect([first, second]).not.toContain(undefined);
  await clock.until(Promise.all([first, second]));
  expect(clock.monotonicMs()).toBeLessThanOrEqual(limits.trackingOpenMs + 50);
  expect(feed.ready()).toBeUndefined();
  feed.close();
});

test('one that is lost is waited for anew', async () => {
  const { clock, asked, feed, missed } = open();
  asked[0]!.answer(told(4));
  await clock.steps(1);
  expect(feed.isLive).toBe(true);
  clock.spend(limits.trackingProofMs);
  feed.look();
  expect([feed.isLive, missed()]).toEqual([false, 1]);
  expect(feed.ready()).toBeDefined();
  feed.close();
});

test('who does not answer is not waited for, also where it takes no notice of the signal', async () => {
  const { clock, asked, feed } = open();
  await clock.steps(1);
  feed.askAgain();
  for (let left = 9; asked.length === 1 && left > 0; left--) await clock.step();
  expect(asked).toHaveLength(2);
  asked[1]!.answer(told(4));
  await clock.steps(1);
  expect(feed.isLive).toBe(true);
  feed.close();
});

test('one that was never live asks again when no answer comes', async () => {
  const { clock, asked, feed } = open();
  clock.spend(limits.trackingProofMs - 1);
  feed.look();
  expect(asked[0]!.gone.aborted).toBe(false);
  clock.spend(1);
  feed.look();
  expect(asked[0]!.gone.aborted).toBe(true);
  feed.close();
});
