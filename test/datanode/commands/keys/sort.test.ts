/** SORT of collections as they are stored, of slots that are elsewhere, and of many elements. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { slotOfKey } from '../../../../src/common/hash.ts';
import { keysOf, type WriteCommand } from '../../../../src/datanode/commands/rows/command.ts';
import { findCommand } from '../../../../src/datanode/commands/table/table.ts';
import {
  newCollection,
  type OpenCollection,
  saveCollection,
} from '../../../../src/datanode/encoding/collections/collection.ts';
import { findKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import {
  elementFlags,
  encodeMemberKey,
  encodeScoreKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText, sortedReplyText } from '../reply-text.ts';

const FLAGS = Buffer.from([0]);
const ALL_SLOTS = { firstSlot: 0, lastSlot: 16_383 };
const bytes = (text: string) => Buffer.from(text);

let partition: LonePartition;
let index = 1_000;

beforeEach(async () => {
  partition = await LonePartition.open();
});

const call = (line: string): Promise<Reply> => partition.call(...line.split(' '));
const items = async (line: string): Promise<string> => {
  const text = replyText(await call(line));
  return text.replaceAll(/-\n|"/g, '').split(/\s+/).filter(Boolean).join(' ');
};

/** A collection written as its own commands write it. */
async function store(
  key: string,
  type: 'hash' | 'set' | 'zset',
  size: number,
  put: (txn: Txn, collection: OpenCollection) => void,
): Promise<void> {
  const txn = new Txn(partition.engine);
  txn.beginEntry(index++);
  const collection = newCollection(txn, findKey(txn, bytes(key), partition.nowMs), type);
  put(txn, collection);
  collection.size = size;
  saveCollection(txn, collection);
  await partition.engine.write(txn.operations());
}

const addSet = (key: string, ...members: string[]) =>
  store(key, 'set', members.length, (txn, { place }) => {
    for (const member of members) {
      txn.put(encodeMemberKey(tags.setMember, place, bytes(member)), FLAGS);
    }
  });

const addZset = (key: string, ...members: readonly (readonly [string, number])[]) =>
  store(key, 'zset', members.length, (txn, { place }) => {
    for (const [member, score] of members) {
      txn.put(encodeScoreKey(place, score, bytes(member)), FLAGS);
    }
  });

test('sets are sorted; as they are they come whole, and are stored in the order of bytes', async () => {
  await addSet('s', '10', '9', '1', '-3');
  expect(await items('SORT s')).toBe('-3 1 9 10');
  expect(await items('SORT_RO s ALPHA DESC LIMIT 1 2')).toBe('10 1');
  const whole = sortedReplyText(await call('SORT s BY nosort'));
  expect(whole).toBe(sortedReplyText(await call('SORT s')));
  expect(await call('SORT s BY nosort LIMIT 1 2')).toMatchObject({ items: [{}, {}] });
  expect(await call('SORT s BY nosort STORE l')).toEqual({ kind: 'integer', value: 4 });
  expect(await items('LRANGE l 0 -1')).toBe('-3 1 10 9');
});

test('sorted sets keep the order of their scores when nothing else is asked for', async () => {
  await addZset('z', ['5', 1], ['4', 2], ['6', 3], ['1', 3]);
  expect(await items('SORT z')).toBe('1 4 5 6');
  expect(await items('SORT z BY nosort')).toBe('5 4 1 6');
  expect(await items('SORT z BY nosort DESC')).toBe('6 1 4 5');
  expect(await items('SORT z BY nosort DESC LIMIT 1 2')).toBe('1 4');
  expect(await items('SORT z BY nosort LIMIT 1 2')).toBe('4 1');
  expect(await items('SORT z BY nosort LIMIT 9 2')).toBe('(empty)');
});

test('patterns read fields of hashes, unless those have expired', async () => {
  await call('RPUSH l 1 2 3');
  const deadline = (ms: number) => {
    const value = Buffer.alloc(10, '7');
    value[0] = elementFlags.hasDeadline;
    value.writeBigUInt64BE(BigInt(ms), 1);
    return value;
  };
  const addHash = (key: string, value: Buffer) =>
    store(key, 'hash', 1, (txn, { place }) => {
      txn.put(encodeMemberKey(tags.hashField, place, bytes('f')), value);
    });
  await addHash('h1', Buffer.concat([FLAGS, bytes('30')]));
  await addHash('h2', deadline(partition.nowMs + 1));
  await addHash('h3', deadline(partition.nowMs));
  expect(await items('SORT l BY nosort GET h*->f')).toBe('30 7 (nil)');
  expect(await items('SORT l BY h*->f')).toBe('3 2 1');
  expect(await items('SORT l BY nosort GET h*->g GET h*')).toBe(
    '(nil) (nil) (nil) (nil) (nil) (nil)',
  );
  expect(await call('SORT h1')).toMatchObject({ kind: 'error' });
});

describe('where the partition owns some slots only', () => {
  const slot = slotOfKey(bytes('{t}'));
  beforeEach(async () => {
    await partition.call('RPUSH', '{t}l', '2', '1');
    await partition.call('MSET', '{t}w1', '5', '{t}w2', '4');
    Object.assign(partition, { firstSlot: slot, lastSlot: slot });
  });

  test('patterns whose keys are there are read', async () => {
    expect(await items('SORT {t}l BY {t}w* GET {t}w*')).toBe('4 5');
  });

  test('others are refused, and nothing is stored', async () => {
    const text = (option: string) => ({
      kind: 'error',
      text:
        `ERR ${option} option of SORT denied in cluster mode when keys formed by the pattern may ` +
        'be in different slots.',
    });
    expect(await call('SORT {t}l BY w*')).toEqual(text('BY'));
    expect(await call('SORT {t}l GET w* STORE {t}new')).toEqual(text('GET'));
    expect(await call('EXISTS {t}new')).toEqual({ kind: 'integer', value: 0 });
  });
});

test('what GET names is stored as it is read, however much one element names', async () => {
  await partition.call('RPUSH', 'l', '1');
  await partition.call('SET', 'w1', 'v'.repeat(1_000));
  const txn = new Txn(partition.engine);
  // behind those of the partition
  txn.beginEntry(2_000_000);
  const [gets, puts] = [vi.spyOn(txn, 'get'), vi.spyOn(txn, 'put')];
  const line = `SORT l BY nosort ${'GET w* '.repeat(200)}STORE new`.split(' ').map(bytes);
  const prepared = (findCommand(line[0]!) as WriteCommand).prepare(line);
  if (!prepared.ok) throw new Error('its arguments are right');
  const run = prepared.run(txn, {
    ...ALL_SLOTS,
    nowMs: partition.nowMs,
    random: () => 0,
  }) as Slices<Reply>;
  let held = 0;
  for (let step = run.next(); !step.done; step = run.next(await txn.range(step.value))) {
    held = Math.max(held, gets.mock.calls.length - puts.mock.calls.length);
  }
  expect(puts.mock.calls.length).toBeGreaterThan(200);
  expect(held).toBeLessThan(10);
});

test('the keys of a request are its source and where it stores', () => {
  const keys = (line: string) => {
    const args = line.split(' ').map(bytes);
    return keysOf(findCommand(args[0]!)!, args).map(String);
  };
  expect(keys('SORT k')).toEqual(['k']);
  expect(keys('SORT k BY store GET store LIMIT 0 1 STORE a store b')).toEqual(['k', 'b']);
  expect(keys('SORT k GET x STORE')).toEqual(['k']);
  expect(keys('SORT_RO k GET x')).toEqual(['k']);
});

test('many elements are sorted, looked up and stored', async () => {
  const names = Array.from({ length: 5_000 }, (_, at) => String((at * 7_919) % 5_000));
  await partition.call('RPUSH', 'l', ...names);
  await partition.call('MSET', ...names.flatMap((name) => [`w${name}`, String(-Number(name))]));
  const sorted = names.map(Number).sort((a, b) => a - b);
  expect(await items('SORT l')).toBe(sorted.join(' '));
  expect(await items('SORT l BY w* LIMIT 1000 2')).toBe('3999 3998');
  expect(await call('SORT l BY w* GET w* GET # STORE l')).toMatchObject({ value: 10_000 });
  expect(await items('LRANGE l 0 3')).toBe('-4999 4999 -4998 4998');
  expect(replyText(await call('OBJECT ENCODING l'))).toBe('"quicklist"');
});
