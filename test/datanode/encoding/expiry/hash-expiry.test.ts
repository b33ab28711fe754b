import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readU64 } from '../../../../src/common/bytes.ts';
import {
  type Expired,
  expireKeys,
  expiryRange,
} from '../../../../src/datanode/encoding/expiry/expiry.ts';
import { decodeField, readHash } from '../../../../src/datanode/encoding/hashes/hash.ts';
import {
  decodeDueMs,
  decodeMember,
  elementRange,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { decodeExpiryKey, keyAfter } from '../../../../src/datanode/encoding/records/key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { createView, readRange, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { KeyRange, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { sortedReplyText } from '../../commands/reply-text.ts';

const START = 1_700_000_000_000;

/** One expire entry, as the leader proposes it; how many went. */
async function expire({ engine, nowMs }: LonePartition): Promise<Expired> {
  const keys = await readRange(engine, expiryRange('keys', 0, nowMs));
  const hashes = await readRange(engine, expiryRange('fields', 0, nowMs));
  const due = [...keys, ...hashes].map(([key]) => decodeExpiryKey(key));
  const txn = new Txn(engine);
  const run = expireKeys(txn, due, nowMs);
  let step = run.next();
  while (!step.done) step = run.next(await txn.range(step.value));
  await engine.write(txn.operations());
  return step.value;
}

async function all(partition: LonePartition, tag: number): Promise<number> {
  const range = { gte: Buffer.from([tag]), lt: Buffer.from([tag + 1]) };
  return (await readAll(partition, range)).length;
}

async function readAll({ engine }: LonePartition, range: KeyRange): Promise<KeyValue[]> {
  const found: KeyValue[] = [];
  let rest = range;
  for (;;) {
    const pairs = await readRange(engine, rest);
    if (pairs.length === 0) return found;
    found.push(...pairs);
    rest = { ...rest, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** The indexes and the headers say what the fields do. */
async function checkIndexes(partition: LonePartition, keys: readonly string[]): Promise<void> {
  const { engine, nowMs } = partition;
  const inIndex = await readRange(engine, expiryRange('fields', 0, Number.MAX_SAFE_INTEGER));
  const indexed = new Map(
    inIndex.map(([entry]) => [decodeExpiryKey(entry).key.toString(), decodeExpiryKey(entry)]),
  );
  expect(indexed.size).toBe(inIndex.length);
  for (const key of keys) {
    const hash = readHash(createView(engine), Buffer.from(key), nowMs);
    if (hash === undefined || hash === 'wrong-type') continue;
    const { place, size } = hash.collection;
    const fields = await readAll(partition, elementRange(tags.hashField, place));
    expect(fields).toHaveLength(size);
    const deadlines = fields
      .map((field) => [decodeField(field).deadlineMs, decodeMember(field[0]).toString()] as const)
      .filter(([deadlineMs]) => deadlineMs > 0);
    const due = (await readAll(partition, elementRange(tags.hashDue, place))).map(
      ([entry]) => [decodeDueMs(entry), decodeMember(entry).toString()] as const,
    );
    expect([...due].sort()).toEqual([...deadlines].sort());
    const earliest = Math.min(...deadlines.map(([deadlineMs]) => deadlineMs));
    const latest = Math.max(0, ...deadlines.map(([deadlineMs]) => deadlineMs));
    expect(hash).toMatchObject({ untilMs: latest, expiring: deadlines.length });
    expect(hash.dueMs > 0).toBe(deadlines.length > 0);
    if (hash.dueMs > 0) expect(hash.dueMs).toBeLessThanOrEqual(earliest);
    expect(indexed.get(key)?.deadlineMs ?? 0).toBe(hash.dueMs);
    indexed.delete(key);
  }
  for (const { key } of indexed.values()) expect(keys).toContain(key.toString());
}

const hashKey = fc.constantFrom('h', 'i');
const field = fc.constantFrom('a', 'b', 'c');
const time = fc.constantFrom('0', '5', '10', '20', '1000');
const fate = fc.constantFrom([], ['PERSIST'], ['PX', '0'], ['PX', '5'], ['PX', '20']);
const expiry = fc.constantFrom([], ['KEEPTTL'], ['PX', '0'], ['PX', '5'], ['PX', '20']);
const condition = fc.constantFrom([], ['NX'], ['XX'], ['GT'], ['LT']);
const commands = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('HSET'), hashKey, field, field, field, field) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(hashKey, time, condition, field, field)
      .map(([key, ms, words, a, b]) => ['HPEXPIRE', key, ms, ...words, 'FIELDS', '2', a, b]),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(hashKey, fc.constantFrom([], ['FNX'], ['FXX']), expiry, field, field)
      .map(([key, when, ms, a, b]) => ['HSETEX', key, ...when, ...ms, 'FIELDS', '2', a, b, b, a]),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(hashKey, fate, field, field)
      .map(([key, words, a, b]) => ['HGETEX', key, ...words, 'FIELDS', '2', a, b]),
  },
  fc.tuple(hashKey, field, field).map(([key, a, b]) => ['HGETDEL', key, 'FIELDS', '2', a, b]),
  fc.tuple(fc.constant('HSETNX'), hashKey, field, field),
  fc.tuple(fc.constant('HINCRBY'), hashKey, field, fc.constant('1')),
  fc.tuple(fc.constant('HINCRBYFLOAT'), hashKey, field, fc.constant('1')),
  fc.tuple(fc.constant('HDEL'), hashKey, field),
  fc.tuple(fc.constant('HPERSIST'), hashKey, fc.constantFrom('FIELDS'), fc.constant('1'), field),
  fc.tuple(fc.constant('HPTTL'), hashKey, fc.constantFrom('FIELDS'), fc.constant('1'), field),
  fc.tuple(fc.constantFrom('HGET', 'HEXISTS', 'HSTRLEN', 'HMGET'), hashKey, field),
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('HGETALL', 'HLEN', 'HKEYS', 'HVALS'), hashKey) },
  fc.tuple(fc.constant('HSCAN'), hashKey, fc.constant('0')),
  fc.tuple(fc.constant('HRANDFIELD'), hashKey, fc.constant('5')),
  fc.tuple(fc.constant('PEXPIRE'), hashKey, fc.constantFrom('5', '10', '20')),
  fc.tuple(fc.constant('PERSIST'), hashKey),
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('EXISTS', 'TYPE', 'PTTL', 'DEL'), hashKey) },
  fc.tuple(fc.constant('COPY'), hashKey, hashKey, fc.constant('REPLACE')),
  fc.tuple(fc.constant('RENAMENX'), hashKey, hashKey),
  fc.tuple(fc.constant('KEYS'), fc.constant('*')),
);
const step = fc.record({ words: commands, laterMs: fc.nat(6), expire: fc.boolean() });

test('whether expired fields are deleted at once, later or never, no reply tells', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: 'max' }), async (steps) => {
      const lazy = await LonePartition.open();
      const eager = await LonePartition.open();
      for (const { words, laterMs, expire: now } of steps) {
        lazy.nowMs = eager.nowMs += laterMs;
        if (now) {
          await expire(eager);
          // else its leader would go on proposing entries that delete nothing
          const left = await readRange(eager.engine, expiryRange('fields', 0, eager.nowMs));
          expect(left.map(([entry]) => decodeExpiryKey(entry))).toEqual([]);
        }
        const [theirs, ours] = [await lazy.call(...words), await eager.call(...words)];
        expect(sortedReplyText(ours), words.join(' ')).toBe(sortedReplyText(theirs));
        await checkIndexes(eager, ['h', 'i']);
        await checkIndexes(lazy, ['h', 'i']);
      }
      // in the end both come to the same keys, and nothing is left to expire
      lazy.nowMs = eager.nowMs += 10_000;
      await expire(lazy);
      await expire(eager);
      for (const tag of [tags.key, tags.expiry, tags.fieldExpiry]) {
        expect(await all(lazy, tag)).toBe(await all(eager, tag));
      }
      expect(await all(eager, tags.expiry)).toBe(0);
      expect(await all(eager, tags.fieldExpiry)).toBe(0);
      await checkIndexes(lazy, ['h', 'i']);
    }),
    { numRuns: 150 },
  );
});

test('a hash goes with its last field', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', 'a', '1', 'b', '2');
  await partition.call('HPEXPIRE', 'h', '10', 'FIELDS', '1', 'a');
  await partition.call('HPEXPIRE', 'h', '20', 'FIELDS', '1', 'b');
  partition.nowMs = START + 10;
  expect(await expire(partition)).toEqual({ keys: 0, fields: 1 });
  expect(await partition.call('HLEN', 'h')).toMatchObject({ value: 1 });
  partition.nowMs = START + 20;
  expect(await expire(partition)).toEqual({ keys: 1, fields: 0 });
  expect(await partition.call('EXISTS', 'h')).toMatchObject({ value: 0 });
  expect(await partition.call('DBSIZE')).toMatchObject({ value: 0 });
  for (const tag of [tags.key, tags.expiry, tags.fieldExpiry]) {
    expect(await all(partition, tag)).toBe(0);
  }
  // its elements wait to be removed behind it
  expect(await all(partition, tags.garbage)).toBe(1);
});

test('a hash of expired fields is no key for any command, deleted or not', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', 'a', '1', 'b', '2', 'c', '3');
  await partition.call('HPEXPIRE', 'h', '10', 'FIELDS', '1', 'a');
  await partition.call('HPEXPIRE', 'h', '30', 'FIELDS', '1', 'b');
  await partition.call('HPEXPIRE', 'h', '20', 'FIELDS', '1', 'c');
  // the field that would have been the last goes: the hash ends earlier
  await partition.call('HDEL', 'h', 'b');
  partition.nowMs = START + 19;
  expect(await partition.call('EXISTS', 'h')).toMatchObject({ value: 1 });
  partition.nowMs = START + 20;
  expect(await partition.call('EXISTS', 'h')).toMatchObject({ value: 0 });
  expect(await partition.call('TYPE', 'h')).toMatchObject({ text: 'none' });
  expect(await partition.call('PEXPIRE', 'h', '100')).toMatchObject({ value: 0 });
  expect(await partition.call('KEYS', '*')).toMatchObject({ items: [] });
  expect(await partition.call('RANDOMKEY')).toMatchObject({ kind: 'null' });
  expect(await partition.call('SCAN', '0')).toMatchObject({ items: [{}, { items: [] }] });
  expect(await partition.call('RENAME', 'h', 'i')).toMatchObject({ kind: 'error' });
  expect(await partition.call('SETNX', 'h', 'v')).toMatchObject({ value: 1 });
  expect(await all(partition, tags.fieldExpiry)).toBe(0);
});

test('one entry deletes a bounded number of fields; what remains is next', async () => {
  const partition = await LonePartition.open();
  const names = Array.from({ length: 2_500 }, (_, at) => `f${at}`);
  await partition.call('HSET', 'h', ...names.flatMap((name) => [name, 'v']), 'stays', 'v');
  await partition.call('HPEXPIRE', 'h', '10', 'FIELDS', String(names.length), ...names);
  partition.nowMs = START + 10;
  for (const left of [1_501, 501, 1, 1]) {
    expect(await partition.call('HLEN', 'h')).toMatchObject({ value: 1 });
    await expire(partition);
    const hash = readHash(createView(partition.engine), Buffer.from('h'), partition.nowMs);
    expect(hash).toMatchObject({ collection: { size: left } });
    await checkIndexes(partition, ['h']);
  }
  expect(await all(partition, tags.fieldExpiry)).toBe(0);
});

test('a hash and a field of it with the same deadline go together', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', 'a', '1', 'b', '2');
  await partition.call('HPEXPIRE', 'h', '10', 'FIELDS', '1', 'a');
  await partition.call('PEXPIRE', 'h', '10');
  await partition.call('HPERSIST', 'h', 'FIELDS', '1', 'a');
  partition.nowMs = START + 10;
  expect(await partition.call('HGET', 'h', 'b')).toMatchObject({ kind: 'null' });
  expect(await expire(partition)).toEqual({ keys: 1, fields: 0 });
  expect(await all(partition, tags.key)).toBe(0);
  expect(await all(partition, tags.expiry)).toBe(0);
  expect(await all(partition, tags.fieldExpiry)).toBe(0);
});

test('what writes a field deadline tells the leader when to look', async () => {
  const partition = await LonePartition.open();
  await partition.call('HSET', 'h', 'a', '1');
  await partition.call('HPEXPIRE', 'h', '10', 'FIELDS', '1', 'a');
  const [entry] = await readRange(partition.engine, expiryRange('fields', 0, START + 10));
  expect(readU64(entry![0], 1)).toBe(START + 10);
  const txn = new Txn(partition.engine);
  txn.put(entry![0], entry![1]);
  expect(txn.earliestDeadlineMs).toBe(START + 10);
});
