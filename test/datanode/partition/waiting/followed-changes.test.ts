import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { encodeKey } from '../../../../src/datanode/encoding/records/key.ts';
import type { ChangeSet } from '../../../../src/datanode/encoding/txn/change-set.ts';
import type { ChangesAnswer } from '../../../../src/datanode/partition/entries/changes.ts';
import {
  type ChangesRoom,
  FollowedChanges,
} from '../../../../src/datanode/partition/waiting/followed-changes.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

/** A replica whose log and state the test moves. */
function open(clock: Clock = systemClock, room?: ChangesRoom) {
  const at = { applied: 4, committed: 4, leads: true, failure: false };
  const changes = new FollowedChanges({
    clock,
    room,
    isLeader: () => at.leads,
    committed: () => at.committed,
    appliedIndex: () => at.applied,
    confirm: async () => (at.failure ? { code: 'NOT_LEADER', message: 'no quorum' } : undefined),
  });
  const apply = (index: number, keys: readonly string[], more: Partial<ChangeSet> = {}) => {
    at.applied = index;
    at.committed = Math.max(at.committed, index);
    const all = () => keys.map((key) => ({ key: encodeKey(Buffer.from(key)), after: undefined }));
    const changed = { all, get: () => undefined, elements: undefined, ...more };
    changes.note({ index, commands: 1, entries: 1, changed });
  };
  const ask = (after: number | undefined, proves = true, ofReplica = false) =>
    changes.ask({ after, proves, ofReplica });
  return { at, changes, apply, ask };
}

function told(answer: ChangesAnswer): string {
  if (answer.kind === 'failed') return answer.code;
  const changes = answer.changes.map(
    ({ index, all, keys }) => `${index}:${all ? '*' : keys.join()}`,
  );
  const words = [answer.anew ? 'anew' : '', answer.proven ? 'proven' : '', ...changes];
  return [answer.upTo, ...words.filter((word) => word !== '')].join(' ');
}

test('who asks first hears of what comes from then on', async () => {
  const { apply, ask, changes } = open();
  expect(changes.isFollowed).toBe(false);
  expect(told(await ask(undefined))).toBe('4 anew proven');
  expect(changes.isFollowed).toBe(true);
  const held = ask(4);
  apply(5, ['a', 'b']);
  expect(told(await held)).toBe('5 proven 5:a,b');
  apply(6, ['c']);
  apply(7, [], { touched: [Buffer.from('h'), Buffer.from('h')] });
  expect(told(await ask(5, false))).toBe('7 6:c 7:h');
  expect(told(await ask(6))).toBe('7 proven 7:h');
});

test('what was being applied when it asked is not known: it is told once that is over', async () => {
  const { at, apply, ask } = open();
  at.committed = 6;
  const first = ask(undefined);
  apply(6, ['half']);
  expect(told(await first)).toBe('6 anew proven');
  apply(7, ['a']);
  expect(told(await ask(6))).toBe('7 proven 7:a');
});

test('a partition that is emptied, and too many keys, are any key', async () => {
  const { apply, ask, changes } = open();
  await ask(undefined);
  changes.onClear();
  apply(5, ['left']);
  apply(
    6,
    Array.from({ length: limits.changes.lookedMax + 1 }, (_, at) => `k${at}`),
  );
  expect(told(await ask(4))).toBe('6 proven 5:* 6:*');
});

test('what was emptied before anybody asked is not told of as something that changes later', async () => {
  const { at, apply, ask, changes } = open();
  // a replica notes nothing that it applies while nobody asks
  changes.onClear();
  at.applied = 5;
  at.committed = 5;
  await ask(undefined);
  apply(6, ['a']);
  expect(told(await ask(5))).toBe('6 proven 6:a');
});

test('who asks too late is told that it missed something', async () => {
  const { apply, ask } = open();
  await ask(undefined);
  const many = Array.from({ length: 16_000 }, (_, at) => `key${at}`);
  for (let index = 5; index < 11; index++) apply(index, many);
  expect(told(await ask(4, true))).toBe('10 anew proven');
});

test('a snapshot in the place of entries is something missed', async () => {
  const { at, ask, changes } = open();
  await ask(undefined);
  at.applied = 20;
  changes.skipTo(20);
  expect(told(await ask(4))).toBe('20 anew proven');
});

test('only who leads answers for the leader, and who is confirmed proves', async () => {
  const { at, ask, apply, changes } = open();
  await ask(undefined);
  at.failure = true;
  expect(told(await ask(4))).toBe('NOT_LEADER');
  const held = ask(4, false);
  at.leads = false;
  changes.stepDown();
  expect(told(await held)).toBe('NOT_LEADER');
  expect(told(await ask(4))).toBe('NOT_LEADER');
  apply(5, ['a']);
  // what it applies it tells whoever asks for that
  expect(told(await ask(4, true, true))).toBe('5 proven 5:a');
  changes.stop('the replica stops');
  expect(told(await ask(5, true, true))).toBe('STOPPING');
});

test('where nobody asks any more and nothing is written, all is forgotten', async () => {
  const clock = new ManualClock();
  const { apply, ask, changes } = open(clock);
  await clock.until(ask(undefined));
  apply(5, ['a']);
  clock.spend(limits.changesForgottenMs / 2);
  expect(told(await clock.until(ask(4)))).toBe('5 proven 5:a');
  for (let left = 5; changes.isFollowed && left > 0; left--) await clock.step();
  expect(changes.isFollowed).toBe(false);
  expect(clock.monotonicMs()).toBeGreaterThan(1.5 * limits.changesForgottenMs);
  expect(await clock.step()).toBe(false);
});

test('who went while its question was proven is not held', async () => {
  const clock = new ManualClock();
  const { apply, changes, ask } = open(clock);
  apply(5, ['a']);
  await clock.until(ask(undefined));
  const gone = new AbortController();
  const asked = changes.ask({ after: 5, proves: true, ofReplica: false }, gone.signal);
  gone.abort();
  expect(told(await clock.until(asked))).toBe('NOT_LEADER');
  expect(clock.monotonicMs()).toBe(0);
});

test('all replicas of a node keep so much together, and each a little in any case', async () => {
  const { keptBytes, nodeBytes } = limits.changes;
  const room = { bytes: 0 };
  const clock = new ManualClock();
  const large = { touched: [Buffer.alloc(keptBytes / 8)] };
  const many = Array.from({ length: nodeBytes / keptBytes + 4 }, () => open(clock, room));
  for (const one of many) {
    await clock.until(one.ask(undefined));
    for (let index = 5; index < 12; index++) one.apply(index, [], large);
    one.apply(12, ['small']);
    expect(room.bytes).toBeLessThanOrEqual(nodeBytes + keptBytes / 8);
  }
  expect(room.bytes).toBeGreaterThan(0.9 * nodeBytes);
  const last = many.at(-1)!;
  expect(told(await clock.until(last.ask(11)))).toBe('12 proven 12:small');
  expect(told(await clock.until(last.ask(9)))).toBe('12 anew proven');
  for (const one of many) one.changes.stop('the node stops');
  expect(room.bytes).toBe(0);
});

test('what everybody who asks has been told by now is not kept, whether more is written or not', async () => {
  const clock = new ManualClock();
  const room = { bytes: 0 };
  const { apply, ask } = open(clock, room);
  await clock.until(ask(undefined));
  apply(5, ['a']);
  clock.spend(limits.trackingProofMs + 2_000);
  apply(6, ['b']);
  expect(told(await clock.until(ask(4)))).toBe('6 proven 5:a 6:b');
  clock.spend(1_500);
  apply(7, ['c']);
  expect(told(await clock.until(ask(5)))).toBe('7 proven 6:b 7:c');
  expect(told(await clock.until(ask(4)))).toBe('7 anew proven');
  for (let left = 3; room.bytes > 0 && left > 0; left--) {
    void ask(7, false);
    clock.spend(limits.changesForgottenMs / 2);
    await clock.step();
  }
  expect(room.bytes).toBe(0);
  expect(told(await clock.until(ask(7)))).toBe('7 proven');
});
