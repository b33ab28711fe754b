import { expect, test } from 'vitest';
import { decodeRecord, recordKinds } from '../../src/meta/records.ts';
import { encodeRecord, keys, type PartitionRecord } from '../../src/meta/schema.ts';

const leader = {
  version: 1,
  namespace: 'default',
  partition: 3,
  node: 'n1',
  replica: 7,
  term: 12,
  membership: { epoch: 1, voters: [7, 8, 9], learners: [], joint: false },
};
const key = keys.leader('default', 3);
const decode = (value: string, at = key) => decodeRecord(recordKinds.leader, at, value);

test('a record is read as it is, with fields this build does not know', () => {
  const newer = { ...leader, since: 5, membership: { ...leader.membership, witnesses: [1] } };
  expect(decode(encodeRecord(newer))).toEqual(newer);
  expect(encodeRecord(decode(encodeRecord(newer)))).toBe(encodeRecord(newer));
});

test.each([
  ['not JSON', '{"version":1', 'not JSON; remove the key: the next leader writes it again'],
  ['a number', '5', 'has no version; remove'],
  ['a newer version', '{"version":2}', 'version 2, this build reads 1; upgrade kvorum'],
  ['a missing field', JSON.stringify({ ...leader, term: undefined }), 'term: Invalid input'],
  ['a wrong type', JSON.stringify({ ...leader, replica: '7' }), 'replica: Invalid input'],
  ['a fraction', JSON.stringify({ ...leader, term: 1.5 }), 'term: Invalid input'],
  ['an id too large', JSON.stringify({ ...leader, replica: 2 ** 53 }), 'replica: '],
  [
    'a wrong item',
    encodeRecord({ ...leader, membership: { ...leader.membership, voters: [1, null] } } as never),
    'membership.voters.1: Invalid input',
  ],
])('%s is refused, with key, field and remedy', (_name, value, text) => {
  expect(() => decode(value)).toThrow(`metadata ${key}: ${text}`);
  try {
    decode(value);
  } catch (failure) {
    expect(failure).toMatchObject({ code: 'BAD_RECORD' });
  }
});

test('a record that lies at the key of another is refused', () => {
  expect(() => decode(encodeRecord(leader), keys.leader('default', 4))).toThrow(
    `metadata ${keys.leader('default', 4)}: holds the record of ${key}; remove the key`,
  );
});

test('a table names no replica twice, and no range backwards', () => {
  const replica = { replica: 1, node: 'a', incarnation: 'i' };
  const partition = {
    version: 1,
    namespace: 'default',
    partition: 0,
    group: 1,
    firstSlot: 0,
    lastSlot: 16_383,
    birth: [replica],
    replicas: [replica],
    epoch: 1,
    fence: 1,
  };
  const at = keys.partition('default', 0);
  const read = (record: PartitionRecord) =>
    decodeRecord(recordKinds.partition, at, encodeRecord(record));
  expect(read(partition)).toEqual(partition);
  const twice = { ...partition, replicas: [replica, { ...replica, node: 'b' }] };
  expect(() => read(twice)).toThrow(/replicas: names a replica twice; restore it from a backup/);
  const backwards = { ...partition, firstSlot: 5, lastSlot: 4 };
  expect(() => read(backwards)).toThrow(/lastSlot: lies before firstSlot/);
  expect(
    read({ ...partition, murmur3: { modulo: 9, remainder: partition.partition } }),
  ).toBeDefined();
  const anothers = { ...partition, murmur3: { modulo: 9, remainder: partition.partition + 1 } };
  expect(() => read(anothers)).toThrow(/murmur3: is the share of another partition/);
});

test('a refusal is short, however long what it speaks of', () => {
  const long = 'x'.repeat(100_000);
  const node = { version: 1, node: 'a', tags: { [long]: 5 } };
  const read = (value: object, at: string) =>
    decodeRecord(recordKinds.node, at, JSON.stringify(value));
  for (const record of [node, { ...node, node: long, tags: {} }]) {
    try {
      read(record, keys.node('a'));
      expect.unreachable();
    } catch (failure) {
      expect((failure as Error).message.length).toBeLessThan(1_000);
    }
  }
});

test('a rebuilt partition names the groups that were given up', () => {
  const replica = { replica: 1, node: 'a', incarnation: 'i' };
  const place = { version: 1, namespace: 'default', partition: 0, firstSlot: 0, lastSlot: 16_383 };
  const rest = { group: 2, birth: [replica], replicas: [replica], epoch: 5, fence: 1 };
  const at = keys.partition('default', 0);
  const read = (rebuilt: object) => {
    const record = { ...place, ...rest, rebuilt };
    return decodeRecord(recordKinds.partition, at, encodeRecord(record));
  };
  const lost = [{ ...replica, replica: 2 }];
  const rebuilt = { epoch: 5, formerGroups: [1], lost };
  expect(read(rebuilt).rebuilt).toEqual(rebuilt);
  expect(() => read({ ...rebuilt, formerGroups: [] })).toThrow('rebuilt.formerGroups: ');
  expect(() => read({ ...rebuilt, epoch: 0 })).toThrow('rebuilt.epoch: ');
  expect(() => read({ epoch: 5, formerGroups: [1] })).toThrow('rebuilt.lost: ');
});
