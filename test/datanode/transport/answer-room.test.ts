/** How reads for a peer go on when it does not take what it is answered. */
import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { AnswerRoom } from '../../../src/datanode/transport/answer-room.ts';

function setup() {
  const link = { outputBytes: 0, closed: false, flushes: 0, requestFlush: () => link.flushes++ };
  return { link, room: new AnswerRoom(link) };
}

test('it is full while more is not taken than the bound', () => {
  const { link, room } = setup();
  expect([room.isFull, room.mayBeginLarge]).toEqual([false, true]);
  link.outputBytes = limits.peerAnswersPauseBytes + 1;
  expect([room.isFull, room.mayBeginLarge]).toEqual([true, false]);
});

test('few large answers are made at the same time', () => {
  const { link, room } = setup();
  room.begin();
  room.begin();
  expect([room.isFull, room.mayBeginLarge]).toEqual([false, false]);
  room.onceFree(() => {});
  const before = link.flushes;
  room.end();
  expect(room.mayBeginLarge).toBe(true);
  expect(link.flushes).toBe(before + 1);
});

test('who waits goes on in order, one at each look, and all once the peer has gone', () => {
  const { link, room } = setup();
  const ran: number[] = [];
  link.outputBytes = limits.peerAnswersPauseBytes + 1;
  for (const at of [0, 1, 2, 3]) room.onceFree(() => ran.push(at));
  room.look();
  expect(ran).toEqual([]);
  link.outputBytes = 0;
  room.look();
  expect(ran).toEqual([0]);
  room.look();
  expect(ran).toEqual([0, 1]);
  link.closed = true;
  room.look();
  expect(ran).toEqual([0, 1, 2, 3]);
});
