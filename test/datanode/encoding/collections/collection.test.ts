import { expect, test } from 'vitest';
import {
  newCollection,
  type OpenCollection,
  openCollection,
  placeValue,
  readCollection,
  saveCollection,
} from '../../../../src/datanode/encoding/collections/collection.ts';
import {
  decodeGarbageKey,
  encodeGarbageKey,
  garbageRange,
} from '../../../../src/datanode/encoding/keyspace/garbage.ts';
import {
  findKey,
  giveUpKey,
  removeKey,
} from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import {
  decodeMember,
  elementRange,
  encodeMemberKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { encodeHeader, valueTypes } from '../../../../src/datanode/encoding/records/header.ts';
import { readCounts } from '../../../../src/datanode/encoding/records/system.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { storeString } from '../../../../src/datanode/encoding/strings/string.ts';
import { createView, readRange, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine, KeyRange, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const NOW = 1_000;
const FLAGS = Buffer.from([0]);
const bytes = (text: string) => Buffer.from(text);

async function openEngine(): Promise<Engine> {
  return (await createMemoryHost().open('1-0')).engine;
}

/** One entry of the log. */
async function write(engine: Engine, index: number, run: (txn: Txn) => unknown): Promise<void> {
  const txn = new Txn(engine);
  txn.beginEntry(index);
  const step = run(txn) as Generator<KeyRange, void, readonly KeyValue[]> | undefined;
  if (step?.next !== undefined) {
    for (let at = step.next(); !at.done; ) at = step.next(await txn.range(at.value));
  }
  await engine.write(txn.operations());
}

function add(txn: Txn, set: OpenCollection, ...members: string[]): void {
  for (const member of members) {
    txn.put(encodeMemberKey(tags.setMember, set.place, bytes(member)), FLAGS);
    set.size++;
  }
  saveCollection(txn, set);
}

const open = (txn: Txn, key: string) =>
  openCollection(txn, bytes(key), 'set', NOW) as OpenCollection;

function read(engine: Engine, key: string) {
  return readCollection(createView(engine), bytes(key), 'set', NOW);
}

async function membersOf(engine: Engine, key: string): Promise<string[]> {
  const set = read(engine, key);
  if (set === undefined || set === 'wrong-type') throw new Error(`no set ${key}`);
  const pairs = await readRange(engine, elementRange(tags.setMember, set.place));
  expect(pairs).toHaveLength(set.size);
  return pairs.map(([element]) => decodeMember(element).toString()).sort();
}

async function garbageOf(engine: Engine) {
  const pairs = await readRange(engine, garbageRange());
  return pairs.map(([key]) => decodeGarbageKey(key));
}

test('a collection is there from its first element to its last', async () => {
  const engine = await openEngine();
  expect(read(engine, 's')).toBeUndefined();
  await write(engine, 1, (txn) => add(txn, open(txn, 's'), 'a', 'b'));
  expect(await membersOf(engine, 's')).toEqual(['a', 'b']);
  expect(readCounts(createView(engine)).keys).toBe(1);
  await write(engine, 2, (txn) => add(txn, open(txn, 's'), 'c'));
  expect(await membersOf(engine, 's')).toEqual(['a', 'b', 'c']);
  await write(engine, 3, (txn) => {
    const set = open(txn, 's');
    for (const member of ['a', 'b', 'c']) {
      txn.del(encodeMemberKey(tags.setMember, set.place, bytes(member)));
    }
    set.size = 0;
    saveCollection(txn, set);
  });
  expect(read(engine, 's')).toBeUndefined();
  expect(readCounts(createView(engine)).keys).toBe(0);
  // nothing is left, so there is nothing to remove behind it
  expect(await garbageOf(engine)).toEqual([]);
});

test('what is something else is neither read nor opened', async () => {
  const engine = await openEngine();
  await write(engine, 1, (txn) => storeString(txn, findKey(txn, bytes('k'), NOW), bytes('v'), 0));
  expect(read(engine, 'k')).toBe('wrong-type');
  await write(engine, 2, (txn) => {
    expect(openCollection(txn, bytes('k'), 'set', NOW)).toBe('wrong-type');
  });
});

test('an expired collection is replaced by a new one, and becomes garbage', async () => {
  const engine = await openEngine();
  await write(engine, 1, (txn) => {
    const set = open(txn, 's');
    set.deadlineMs = NOW;
    add(txn, set, 'old');
  });
  expect(read(engine, 's')).toBeUndefined();
  await write(engine, 2, (txn) => add(txn, open(txn, 's'), 'new'));
  expect(await membersOf(engine, 's')).toEqual(['new']);
  expect(readCounts(createView(engine))).toEqual({ keys: 1, expires: 0 });
  expect(await garbageOf(engine)).toMatchObject([{ version: { index: 1, ordinal: 0 } }]);
});

test('deleted, overwritten and replaced collections become garbage, once each', async () => {
  const engine = await openEngine();
  const type = valueTypes.set;
  await write(engine, 1, (txn) => {
    for (const key of ['a', 'b', 'c']) add(txn, open(txn, key), key);
  });
  await write(engine, 2, (txn) => removeKey(txn, findKey(txn, bytes('a'), NOW)));
  await write(engine, 3, (txn) => storeString(txn, findKey(txn, bytes('b'), NOW), bytes('v'), 0));
  await write(engine, 4, (txn) => {
    const set = newCollection(txn, findKey(txn, bytes('c'), NOW), 'set');
    add(txn, set, 'other');
  });
  expect(await membersOf(engine, 'c')).toEqual(['other']);
  const garbage = await garbageOf(engine);
  expect(garbage.map(({ version }) => version.index)).toEqual([1, 1, 1]);
  expect(garbage.map(({ version }) => version.ordinal).sort()).toEqual([0, 1, 2]);
  for (const one of garbage) {
    expect(one.type).toBe(type);
    expect(decodeGarbageKey(encodeGarbageKey(one))).toEqual(one);
  }
});

test('a value moves within its slot without its elements, and with them to another', async () => {
  const engine = await openEngine();
  const move = (from: string, to: string, givenUp: boolean) => (txn: Txn) => {
    const source = findKey(txn, bytes(from), NOW);
    const target = findKey(txn, bytes(to), NOW);
    if (givenUp) giveUpKey(txn, source, source.live!);
    return placeValue(txn, target, source.live!, { key: bytes(from), givenUp });
  };
  const members = Array.from({ length: 2_000 }, (_, at) => `m${at}`);
  await write(engine, 1, (txn) => add(txn, open(txn, '{x}1'), ...members));
  const { place } = read(engine, '{x}1') as OpenCollection;
  await write(engine, 2, move('{x}1', '{x}2', true));
  expect(read(engine, '{x}1')).toBeUndefined();
  expect((read(engine, '{x}2') as OpenCollection).place).toEqual(place);
  await write(engine, 3, move('{x}2', '{x}3', false));
  expect((read(engine, '{x}3') as OpenCollection).place).not.toEqual(place);
  expect(await garbageOf(engine)).toEqual([]);
  await write(engine, 4, move('{x}3', '{y}', false));
  for (const key of ['{x}2', '{x}3', '{y}']) {
    const set = read(engine, key) as OpenCollection;
    const found: string[] = [];
    let range = elementRange(tags.setMember, set.place);
    for (;;) {
      const pairs = await readRange(engine, range);
      if (pairs.length === 0) break;
      found.push(...pairs.map(([element]) => decodeMember(element).toString()));
      range = { ...range, gte: Buffer.concat([pairs.at(-1)![0], Buffer.from([0])]) };
    }
    expect(found.sort()).toEqual([...members].sort());
  }
});

test('a header that is cut is damage, whether or not its elements are asked for', async () => {
  const engine = await openEngine();
  await write(engine, 1, (txn) => {
    const found = findKey(txn, bytes('h'), NOW);
    const header = { type: 'hash', deadlineMs: 0, origin: 'set', body: bytes('cut') } as const;
    txn.put(found.place, encodeHeader(header));
  });
  expect(() => findKey(createView(engine), bytes('h'), NOW)).toThrow(
    'its collection header is cut',
  );
});
