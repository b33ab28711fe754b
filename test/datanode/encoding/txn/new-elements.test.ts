import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import {
  type CollectionPlace,
  elementRange,
  encodeMemberKey,
  encodeScoreKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { EARLY_KEY } from '../../../../src/datanode/encoding/txn/early-elements.ts';
import { LARGE_RECORD_BYTES } from '../../../../src/datanode/encoding/txn/large-records.ts';
import { NewPlaces } from '../../../../src/datanode/encoding/txn/new-elements.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { BatchOperation, BatchOperations } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { cpuMsOf } from '../../../cpu-time.ts';

const FLAGS = Buffer.from([0]);
const OLD: CollectionPlace = { slot: 7, version: { index: 4, ordinal: 0 } };
const KEY = Buffer.from('\x10the key', 'latin1');
const memberKey = (place: CollectionPlace, member: string) =>
  encodeMemberKey(tags.setMember, place, Buffer.from(member));
const unhurried = { isDue: () => false, pause: async () => {} };

async function openEngine() {
  return (await createMemoryHost().open('1-0')).engine;
}

/** Of an entry that makes a set of `count` members and changes an older one. */
async function filled(count: number) {
  const engine = await openEngine();
  const txn = new Txn(engine);
  txn.beginEntry(5);
  const made: CollectionPlace = { slot: 7, version: txn.newVersion() };
  txn.put(memberKey(OLD, 'more'), FLAGS);
  for (let at = 0; at < count; at++) txn.put(memberKey(made, `m${at}`), FLAGS);
  txn.put(memberKey(made, 'came'), FLAGS);
  txn.del(memberKey(made, 'came'));
  txn.del(memberKey(OLD, 'less'));
  txn.put(KEY, Buffer.from('header'));
  return { engine, txn, made };
}

const namesOf = (operations: Iterable<BatchOperation>) =>
  Array.from(operations, ({ type, key }) => `${type} ${key.toString('latin1')}`).sort();

const named = (type: string, key: Buffer) => `${type} ${key.toString('latin1')}`;
const others = [
  named('put', KEY),
  named('put', memberKey(OLD, 'more')),
  named('del', memberKey(OLD, 'less')),
].sort();

describe.each([
  ['a few', 20, (txn: Txn) => txn.batch()],
  ['a few, in steps', 20, (txn: Txn) => txn.batchInSteps(unhurried)],
  ['many', limits.engineWholeOperationsMax, (txn: Txn) => txn.batchInSteps(unhurried)],
] as const)('%s elements of a collection that an entry makes', (_, count, batchOf) => {
  test('are told apart from all that leads to them', async () => {
    const { txn, made } = await filled(count);
    const batch: BatchOperations = await batchOf(txn);
    const { prefixes, unreached, others: rest } = batch.parted!;
    expect(prefixes).toEqual([elementRange(tags.setMember, made).gte]);
    const members = Array.from({ length: count }, (__, at) => memberKey(made, `m${at}`));
    const puts = namesOf(unreached).filter(
      (name) => name !== named('del', memberKey(made, 'came')),
    );
    expect(puts).toEqual(members.map((key) => named('put', key)).sort());
    expect(namesOf(rest)).toEqual(others);
    expect(txn.changed.get(KEY.toString('latin1'))?.after?.toString()).toBe('header');
  });

  test('are the same batch for who does not ask', async () => {
    const { txn, made } = await filled(count);
    const batch: BatchOperations = await batchOf(txn);
    const gone = named('del', memberKey(made, 'came'));
    const wanted = namesOf(txn.operations());
    expect(namesOf(batch).filter((name) => name !== gone)).toEqual(
      wanted.filter((name) => name !== gone),
    );
    expect([...batch].length).toBeLessThanOrEqual(batch.length);
  });
});

test('an element of megabytes is sealed in steps, so it goes with the others', async () => {
  const { txn, made } = await filled(limits.engineWholeOperationsMax);
  txn.put(memberKey(made, 'large'), Buffer.alloc(LARGE_RECORD_BYTES));
  const { others: rest } = (await txn.batchInSteps(unhurried)).parted!;
  expect(namesOf(rest)).toEqual([...others, named('put', memberKey(made, 'large'))].sort());
});

test('of many, one that was stored before the rest and has gone again is deleted', async () => {
  const engine = await openEngine();
  const bytesMax = 1_000_000;
  const txn = new Txn(engine, [], undefined, { engine, pace: unhurried, bytesMax });
  txn.beginEntry(5);
  const made: CollectionPlace = { slot: 7, version: txn.newVersion() };
  const members = elementRange(tags.setMember, made);
  const count = limits.engineWholeOperationsMax;
  for (let at = 0; at < count; at++) txn.put(memberKey(made, `m${at}`), FLAGS);
  expect(txn.heldBytes).toBeGreaterThan(bytesMax);
  await txn.range(members);
  expect(txn.heldBytes).toBe(0);
  const gone = ['m0', `m${count - 1}`];
  for (const member of gone) txn.del(memberKey(made, member));
  for (let at = 0; at < count; at++) txn.put(memberKey(made, `n${at}`), FLAGS);
  const batch = await txn.batchInSteps(unhurried);
  const deleted = gone.map((member) => named('del', memberKey(made, member)));
  expect(namesOf(batch.parted!.others)).toEqual([...deleted, named('del', EARLY_KEY)].sort());
  await engine.write(batch);
  const after = createView(engine);
  for (const member of gone) expect(after.get(memberKey(made, member))).toBe(undefined);
  for (const member of ['m1', 'n0']) expect(after.get(memberKey(made, member))).toEqual(FLAGS);
});

test('a batch that makes no collection is not told in two', async () => {
  const txn = new Txn(await openEngine());
  txn.beginEntry(5);
  txn.put(memberKey(OLD, 'more'), FLAGS);
  expect(txn.batch().parted).toBe(undefined);
  expect((await txn.batchInSteps(unhurried)).parted).toBe(undefined);
});

test('the engine is not asked about elements of a collection that the entry makes', async () => {
  const { engine, txn, made } = await filled(3);
  const older = { slot: 7, version: { index: 4, ordinal: 9 } };
  await engine.write([
    { type: 'put', key: memberKey(made, 'm0'), value: Buffer.from('damaged') },
    { type: 'put', key: memberKey(made, 'unknown'), value: Buffer.from('damaged') },
    { type: 'put', key: memberKey(older, 'unknown'), value: Buffer.from('damaged') },
  ]);
  expect(txn.get(memberKey(made, 'm0'))).toEqual(FLAGS);
  expect(txn.get(memberKey(made, 'unknown'))).toBe(undefined);
  expect(() => txn.get(memberKey(older, 'unknown'))).toThrow('checksum');
  const pairs = await txn.range(elementRange(tags.setMember, made));
  expect(pairs.map(([key]) => key.subarray(23).toString()).sort()).toEqual(['m0', 'm1', 'm2']);
  expect(await txn.range(elementRange(tags.zsetScore, made))).toEqual([]);
  expect(txn.get(encodeScoreKey(made, 1, Buffer.from('m0')))).toBe(undefined);
  const sooner = elementRange(tags.setMember, older);
  await expect(txn.range({ ...sooner, lt: elementRange(tags.setMember, made).lt })).rejects.toThrow(
    'checksum',
  );
});

test('a batch that makes 100,000 collections is told apart in a moment', () => {
  const places = new NewPlaces(5);
  const nameOf = (ordinal: number, member: string) => {
    const place = { slot: 7, version: { index: 5, ordinal } };
    return memberKey(place, member).toString('latin1');
  };
  const cpuMs = cpuMsOf(() => {
    for (let ordinal = 0; ordinal < 100_000; ordinal++) {
      expect(places.has(nameOf(ordinal, 'a')) && places.has(nameOf(ordinal, 'b'))).toBe(true);
    }
  });
  expect(places.has(memberKey(OLD, 'a').toString('latin1'))).toBe(false);
  expect(places.has(nameOf(0, 'c'))).toBe(true);
  expect(places.prefixes.length).toBe(100_000);
  // a look at each of them for each took a minute
  expect(cpuMs).toBeLessThan(20_000);
});
