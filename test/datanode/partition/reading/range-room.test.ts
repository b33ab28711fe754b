/** Who among reads of ranges may go on, and who waits. */
import { beforeEach, expect, test } from 'vitest';
import { must } from '../../../../src/common/assert.ts';
import {
  type RangePlace,
  RangeRoom,
} from '../../../../src/datanode/partition/reading/range-room.ts';

const bounds = { smallMax: 2, smallBytes: 10, largeMax: 2, largeBytes: 100 };
const turn = () => new Promise((resolve) => setImmediate(resolve));

let room: RangeRoom;
beforeEach(() => {
  room = new RangeRoom(bounds as never);
});

const begin = () => must(room.begin('small'), 'there is a place');

/** A read that has become a large one. */
function large(bytes = 11): RangePlace {
  const place = begin();
  expect(place.holds(bytes)).toBe(true);
  return place;
}

test('so many small ones are under way, the others wait, first come first served', async () => {
  const [first] = [begin(), begin()];
  expect(room.begin('small')).toBeUndefined();
  const came: number[] = [];
  for (const at of [0, 1, 2]) room.wait('small', () => came.push(at));
  await turn();
  expect([came, room.waiting]).toEqual([[], 3]);
  first!.end();
  first!.end();
  // it is for those who wait, not for who comes now
  expect(room.begin('small')).toBeUndefined();
  await turn();
  expect([came, room.waiting, room.underWay]).toEqual([[0], 2, 2]);
});

test('small ones do not wait for large ones, however many of these do', async () => {
  large();
  large();
  const outgrown = begin();
  expect(outgrown.holds(10)).toBe(true);
  expect(outgrown.holds(11)).toBe(false);
  outgrown.end();
  const came: string[] = [];
  room.wait('large', () => came.push('large'));
  await turn();
  expect([begin(), begin()]).toHaveLength(2);
  expect(came).toEqual([]);
});

test('who outgrows a small one is behind those that wait for a large one', async () => {
  const first = large();
  large();
  const came: RangePlace[] = [];
  room.wait('large', (place) => came.push(place));
  first.end();
  expect(begin().holds(11)).toBe(false);
  await turn();
  expect(came.map(({ size }) => size)).toEqual(['large']);
});

test('who leaves the line has no place', async () => {
  const [first, second] = [begin(), begin()];
  const came: string[] = [];
  const leave = room.wait('small', () => came.push('left'));
  room.wait('small', () => came.push('stayed'));
  leave();
  first.end();
  second.end();
  await turn();
  expect(came).toEqual(['stayed']);
});

test('beyond their bytes only the large one that began first goes on, the others when it has ended', async () => {
  const [first, second] = [large(50), large(50)];
  expect([first.rest(), second.rest()]).toEqual([undefined, undefined]);
  second.holds(80);
  expect(room.bytes).toBe(130);
  expect(first.rest()).toBeUndefined();
  let goesOn = false;
  void second.rest()!.then(() => {
    goesOn = true;
  });
  first.holds(500);
  await turn();
  expect(goesOn).toBe(false);
  first.end();
  await turn();
  expect([goesOn, room.bytes]).toEqual([true, 80]);
  second.end();
  expect([room.bytes, room.underWay]).toEqual([0, 0]);
});
