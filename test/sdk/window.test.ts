import { expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { Client } from '../../src/sdk/index.ts';
import { laneOf, Window } from '../../src/sdk/window.ts';
import { bulk, Peer, scriptedPlacedriver } from './peer.ts';

/** Ends as soon as it begins, or when it is told to. */
function entrant(window: Window, began: number[], number: number, atOnce = true) {
  return {
    begin() {
      began.push(number);
      if (atOnce) window.leave(0);
    },
  };
}

test('any number that end as soon as their turn comes', () => {
  const count = 50_000;
  const window = new Window(1, count);
  const began: number[] = [];
  expect(window.enter(0, entrant(window, began, -1, false))).toBe(true);
  let entered = 0;
  for (let at = 0; at < count; at++) if (window.enter(0, entrant(window, began, at))) entered++;
  expect(entered).toBe(count);
  expect(window.enter(0, entrant(window, began, count))).toBe(false);
  window.leave(0);
  expect(began).toHaveLength(count + 1);
  expect([window.inFlight, window.waiting]).toEqual([0, 0]);
});

test('closed: who waits is not begun because others end', () => {
  const window = new Window(1, 10);
  const began: number[] = [];
  const waits = entrant(window, began, 2);
  window.enter(0, entrant(window, began, 1, false));
  window.enter(0, waits);
  window.close();
  window.leave(0);
  expect(window.withdraw(0, waits)).toBe(true);
  expect(began).toEqual([1]);
});

test('there is room when nothing may wait and nothing is under way', async () => {
  const window = new Window(1, 0);
  await window.room();
  const began: number[] = [];
  window.enter(0, entrant(window, began, 1, false));
  const room = window.room();
  window.leave(0);
  await room;
});

test('what blocks takes no place from the others, and is held back with them', () => {
  const window = new Window(1, 10);
  const began: string[] = [];
  const enter = (name: string, blocking: boolean) =>
    window.enter(laneOf(0, blocking), { begin: () => void began.push(name) });
  window.hold(0);
  for (const name of ['a', 'b']) enter(`pop ${name}`, true);
  for (const name of ['a', 'b']) enter(`push ${name}`, false);
  expect(began).toEqual([]);
  window.letGo(0);
  expect(began).toEqual(['push a', 'pop a']);
  window.leave(laneOf(0, false));
  expect(began.at(-1)).toBe('push b');
  window.leave(laneOf(0, true));
  expect(began.at(-1)).toBe('pop b');
  expect([window.inFlight, window.waiting]).toEqual([2, 0]);
});

test('whoever comes while others are begun goes behind those that wait', () => {
  const window = new Window(2, 10);
  const began: string[] = [];
  const one = (name: string, then = () => {}) => ({
    begin() {
      began.push(name);
      then();
    },
  });
  window.enter(0, one('a'));
  window.enter(0, one('b'));
  const last = one('d');
  window.enter(
    0,
    one('c', () => {
      window.leave(0);
      window.enter(0, last);
    }),
  );
  window.enter(0, one('waits'));
  window.leave(0);
  expect(began).toEqual(['a', 'b', 'c', 'waits']);
  window.leave(0);
  expect(began).toEqual(['a', 'b', 'c', 'waits', 'd']);
});

test('there is room when those that waited have left, and when what held them is let go', async () => {
  const window = new Window(1, 2);
  const waits = [entrant(window, [], 2), entrant(window, [], 3)];
  window.enter(0, entrant(window, [], 1, false));
  for (const one of waits) window.enter(0, one);
  let told = 0;
  const room = () => window.room().then(() => void told++);
  void room();
  await Promise.resolve();
  expect(told).toBe(0);
  window.withdraw(0, waits[0]!);
  await Promise.resolve();
  expect(told).toBe(1);

  const held = new Window(1, 0);
  held.hold(0);
  const open = held.room();
  held.letGo(0);
  await open;
});

test('whose time is over as its turn comes is not sent', async () => {
  const peer = await Peer.start(([name]) => (name === 'GET' ? bulk('ready') : 'hang'));
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'n0', port: peer.port }],
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  });
  // stands still while they are given, so that the time of all of them is over at once
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const options = { placedrivers: ['p:1'], maxInFlight: 1, timeoutMs: 500, sessions: false };
  const client = new Client(options, { get, clock });
  try {
    await client.get('a');
    const calls = ['a', 'b', 'c'].map((key) => client.set(key, 1).then(String, ({ code }) => code));
    await expect.poll(() => peer.commands.length).toBe(2);
    nowMs += 500;
    expect(await Promise.all(calls)).toEqual(['OUTCOME_UNKNOWN', 'TIMEOUT', 'TIMEOUT']);
    expect(peer.commands).toEqual(['GET a', 'SET a 1']);
  } finally {
    client.disconnect();
    await peer.stop();
  }
});
