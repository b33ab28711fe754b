import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { findServed, forgetServed, keepServed } from '../../../src/datanode/encoding/served.ts';
import { Txn } from '../../../src/datanode/encoding/txn.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';

const id = (at: number) => Buffer.from(`id ${at}`);
const reply = Buffer.from('+OK\r\n');

test('the newest replies are kept, up to the bound, but for those that were confirmed', async () => {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  const max = limits.servedRepliesMax;
  for (let at = 0; at < max; at++) keepServed(txn, id(at), reply);
  forgetServed(txn, id(1));
  forgetServed(txn, id(1));
  for (let at = max; at < max + 3; at++) keepServed(txn, id(at), reply);
  expect([0, 1, 2].map((at) => findServed(txn, id(at)))).toEqual([undefined, undefined, undefined]);
  expect(findServed(txn, id(3))).toEqual(reply);
  expect(findServed(txn, id(max + 2))).toEqual(reply);
  for (let at = 3; at < max + 3; at++) forgetServed(txn, id(at));
  await engine.write(txn.operations());
  const left = await engine.iterate({ gte: Buffer.from([2]), lt: Buffer.from([4]) }).next(10);
  expect(left).toEqual([]);
});
