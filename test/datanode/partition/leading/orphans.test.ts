import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/common/random.ts';
import { Orphans } from '../../../../src/datanode/partition/leading/orphans.ts';

/** A replica that follows replica 7 on `n7` and has promised to, and what is waited for. */
function setUp(promiseMs: number) {
  const waits: { readonly delayMs: number; readonly run: () => void }[] = [];
  const stood: number[] = [];
  const orphan = {
    leader: 7,
    promiseMs,
    forgotten: 0,
    campaign() {},
    forgetLeader() {
      if (this.promiseMs > 0) return this.promiseMs;
      this.forgotten++;
      this.leader = 0;
      return 0;
    },
  };
  const orphans = new Orphans({
    stand: { for: (_, delayMs = 0) => void stood.push(delayMs) },
    random: seededRandom('orphans'),
    campaignMs: 100,
    after: (delayMs, run) => void waits.push({ delayMs, run }),
  });
  return { orphan, orphans, waits, stood };
}

test('who promised nothing forgets its leader and stands at once', () => {
  const { orphan, orphans, waits, stood } = setUp(0);
  orphans.onPeer('n7', false);
  orphans.seek(orphan, 7, 'n7');
  expect([orphan.forgotten, waits.length, stood.length]).toEqual([1, 0, 1]);
  expect(stood[0]).toBeLessThan(100);
});

test('who promised does so when the promise is over, as often as it was made anew', () => {
  const { orphan, orphans, waits, stood } = setUp(400);
  orphans.onPeer('n7', false);
  orphans.seek(orphan, 7, 'n7');
  expect(waits.map(({ delayMs }) => delayMs)).toEqual([400]);
  orphan.promiseMs = 29.4;
  waits[0]!.run();
  expect(waits.map(({ delayMs }) => delayMs)).toEqual([400, 30]);
  orphan.promiseMs = 0;
  waits[1]!.run();
  expect([orphan.forgotten, waits.length, stood.length]).toEqual([1, 2, 1]);
});

test.each([
  ['the node is back', (orphans: Orphans) => orphans.onPeer('n7', true), 7],
  ['it follows another', () => {}, 8],
])('nothing is done once %s', (_why, happen, leader) => {
  const { orphan, orphans, waits, stood } = setUp(400);
  orphans.onPeer('n7', false);
  orphans.seek(orphan, 7, 'n7');
  happen(orphans);
  orphan.leader = leader;
  orphan.promiseMs = 0;
  waits[0]!.run();
  expect([orphan.forgotten, waits.length, stood.length]).toEqual([0, 1, 0]);
});
