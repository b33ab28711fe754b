import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { systemKey } from '../../../../src/datanode/encoding/records/system.ts';
import {
  findServed,
  forgetServed,
  keepServed,
} from '../../../../src/datanode/encoding/sessions/served.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const id = (at: number) => Buffer.from(`id ${at}`);
const reply = Buffer.from('+OK\r\n');
const mark = Buffer.from('-GONE\r\n');

test('the newest replies are kept, up to the bound, but for those that were confirmed', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  const max = limits.servedRepliesMax;
  for (let at = 0; at < max; at++) keepServed(txn, id(at), reply, mark);
  forgetServed(txn, id(1));
  forgetServed(txn, id(1));
  for (let at = max; at < max + 3; at++) keepServed(txn, id(at), reply, mark);
  expect([0, 1, 2].map((at) => findServed(txn, id(at)))).toEqual([undefined, undefined, undefined]);
  expect(findServed(txn, id(3))).toEqual(reply);
  expect(findServed(txn, id(max + 2))).toEqual(reply);
  for (let at = 3; at < max + 3; at++) forgetServed(txn, id(at));
  await engine.write(txn.operations());
  const left = await engine.iterate({ gte: Buffer.from([2]), lt: Buffer.from([4]) }).next(10);
  expect(left).toEqual([]);
});

test('who has not confirmed is remembered whatever others were given and confirmed since', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  keepServed(txn, id(0), reply, mark);
  for (let at = 1; at < 3 * limits.waitersPerPartitionMax; at++) {
    keepServed(txn, id(at), reply, mark);
    forgetServed(txn, id(at));
  }
  expect(findServed(txn, id(0))).toEqual(reply);
});

test('bounds without a count, as they were written once, are taken for full ones', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  for (let at = 0; at < 3; at++) keepServed(txn, id(at), reply, mark);
  const bounds = Buffer.from(txn.get(systemKey('served'))!.subarray(0, 33));
  bounds[0] = 1;
  txn.put(systemKey('served'), bounds);
  for (let at = 0; at < 3; at++) forgetServed(txn, id(at));
  keepServed(txn, id(3), reply, mark);
  expect(findServed(txn, id(3))).toEqual(reply);
  expect(findServed(txn, id(0))).toBeUndefined();
});

test('of a reply that is too large a mark is kept, and the id stays served', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  const largest = Buffer.alloc(limits.servedReplyBytesMax, 'x');
  keepServed(txn, id(1), largest, mark);
  keepServed(txn, id(2), Buffer.concat([largest, reply]), mark);
  expect(findServed(txn, id(1))?.equals(largest)).toBe(true);
  expect(findServed(txn, id(2))).toEqual(mark);
});

test('all replies together stay below their bound: the oldest become marks, whatever was confirmed', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  const large = Buffer.alloc(limits.servedReplyBytesMax, 'x');
  const room = Math.floor(limits.servedRepliesBytesMax / large.length);
  for (let at = 0; at < room; at++) keepServed(txn, id(at), large, mark);
  expect(findServed(txn, id(0))?.equals(large)).toBe(true);
  forgetServed(txn, id(0));
  keepServed(txn, id(room), large, mark);
  expect(findServed(txn, id(1))?.equals(large)).toBe(true);
  for (let at = room + 1; at < room * 3; at++) keepServed(txn, id(at), large, mark);
  const kept = Array.from({ length: room * 3 - 1 }, (_, at) => findServed(txn, id(at + 1))!);
  expect(kept.findIndex((one) => one.equals(large))).toBe(room * 2);
  expect(kept.slice(0, room * 2).every((one) => one.equals(mark))).toBe(true);
  const total = kept.reduce((sum, { length }) => sum + length, 0);
  expect(total).toBeLessThanOrEqual(limits.servedRepliesBytesMax);
  // nothing is counted that is not there: with all of it forgotten there is room again
  for (let at = 0; at < room * 3; at++) forgetServed(txn, id(at));
  for (let at = 0; at < room; at++) keepServed(txn, id(at), large, mark);
  for (let at = 0; at < room; at++) expect(findServed(txn, id(at))?.equals(large)).toBe(true);
});
