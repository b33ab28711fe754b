import { expect, test } from 'vitest';
import { slotOfKey } from '../../../../src/common/hash.ts';
import { encodeMemberKey } from '../../../../src/datanode/encoding/records/element-key.ts';
import {
  decodeCollection,
  decodeHeader,
} from '../../../../src/datanode/encoding/records/header.ts';
import { encodeKey } from '../../../../src/datanode/encoding/records/key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { createView, readRange } from '../../../../src/datanode/encoding/txn/txn.ts';
import { HeldBackup } from '../../../../src/datanode/partition/backups/held-backup.ts';
import { PAGE_BYTES } from '../../../../src/datanode/partition/backups/page-gate.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { decodeRdbValue } from '../../encoding/rdb/at-once.ts';
import { ALWAYS_DUE, fileOf, pagesOf } from './file.ts';

async function holds(partition: LonePartition): Promise<HeldBackup> {
  const state = partition.engine.snapshot();
  state.keep?.();
  return new HeldBackup(state, ALWAYS_DUE, partition.nowMs);
}

const library = (name: string, more = '') =>
  `#!lua name=${name}\nredis.register_function('${name}', function() return 1 end)${more}`;

test('libraries of functions come before the keys where they are asked for', async () => {
  const partition = await LonePartition.open();
  await partition.call('set', 'k', 'v');
  for (const name of ['b', 'a']) await partition.call('function', 'load', library(name));
  const { pages } = await pagesOf(partition.engine, partition.nowMs, 2);
  const text = (name: string) =>
    `\u00f5@${String.fromCharCode(library(name).length)}${library(name)}`;
  expect(pages[0]!.toString('latin1')).toBe(`${text('a')}${text('b')}\0\u0001k\u0001v`);
  const without = await pagesOf(partition.engine, partition.nowMs);
  expect(without.pages[0]!.toString('latin1')).toBe('\0\u0001k\u0001v');
});

test('many libraries are several pages, and those that are missing end it', async () => {
  const partition = await LonePartition.open();
  const comment = `--${'x'.repeat(200_000)}`;
  for (let at = 0; at < 12; at++) {
    await partition.call('function', 'load', library(`l${at}`, comment));
  }
  const { pages } = await pagesOf(partition.engine, partition.nowMs, 12);
  expect(pages.length).toBe(3);
  expect(
    Buffer.concat(pages)
      .toString('latin1')
      .match(/#!lua name=l\d+\n/g),
  ).toHaveLength(12);
  await expect(pagesOf(partition.engine, partition.nowMs, 13)).rejects.toThrow(
    '12 libraries of functions are kept, and 13 were counted',
  );
});

test('an empty partition is an empty page', async () => {
  const partition = await LonePartition.open();
  expect(await pagesOf(partition.engine, partition.nowMs)).toEqual({
    pages: [Buffer.alloc(0)],
    keys: 0,
    expires: 0,
  });
});

test('a string with its deadline', async () => {
  const partition = await LonePartition.open();
  await partition.call('set', 'k', 'v', 'PXAT', '1700000005000');
  const { pages, keys, expires } = await pagesOf(partition.engine, partition.nowMs);
  const [page] = pages;
  expect(page!.toString('latin1', 9)).toBe('\0\u0001k\u0001v');
  expect(page![0]).toBe(0xfc);
  expect(Number(page!.readBigUInt64LE(1))).toBe(1_700_000_005_000);
  expect([keys, expires]).toEqual([1, 1]);
});

test('what is due by the time of the state is left out, keys and fields', async () => {
  const partition = await LonePartition.open();
  await partition.call('set', 'due', 'v', 'PX', '10');
  await partition.call('hset', 'all', 'a', '1');
  await partition.call('hpexpire', 'all', '10', 'FIELDS', '1', 'a');
  await partition.call('hset', 'some', 'a', '1', 'b', '2', 'c', '3');
  await partition.call('hpexpire', 'some', '10', 'FIELDS', '1', 'a');
  await partition.call('hpexpire', 'some', '5000', 'FIELDS', '1', 'b');
  partition.nowMs += 10;
  const { pages, keys, expires } = await pagesOf(partition.engine, partition.nowMs);
  expect([keys, expires]).toEqual([1, 0]);
  // type · length of the key · key · value
  const page = pages[0]!;
  expect(page.toString('latin1', 1, 6)).toBe('\u0004some');
  const value = decodeRdbValue(Buffer.concat([page.subarray(0, 1), page.subarray(6)]));
  const fields = 'elements' in value ? [...value.elements] : [];
  const told = fields.map((field) => (field as readonly unknown[]).map(String));
  expect(told.sort()).toEqual([
    ['b', '2', String(partition.nowMs - 10 + 5_000)],
    ['c', '3', '0'],
  ]);
});

test('it tells whether fields have deadlines', async () => {
  const partition = await LonePartition.open();
  await partition.call('hset', 'h', 'a', '1');
  const before = await holds(partition);
  expect(await before.hasFieldDeadlines()).toBe(false);
  await partition.call('hpexpire', 'h', '1000', 'FIELDS', '1', 'a');
  const after = await holds(partition);
  expect(await after.hasFieldDeadlines()).toBe(true);
  await before.close();
  await after.close();
});

test('pages are of one state, whatever is written between them', async () => {
  const partition = await LonePartition.open();
  const big = 'x'.repeat(300_000);
  for (let at = 0; at < 20; at++) await partition.call('set', `k${at}`, `${at}:${big}`);
  for (let at = 0; at < 500; at++) await partition.call('rpush', 'list', `element ${at}`);
  const whole = Buffer.concat((await pagesOf(partition.engine, partition.nowMs)).pages);
  const held = await holds(partition);
  const pages: Buffer[] = [];
  for (let offset = 0, isLast = false; !isLast; ) {
    const page = await held.page(offset);
    expect(page.bytes.length).toBeLessThanOrEqual(PAGE_BYTES);
    if (!page.isLast) expect(page.bytes.length).toBe(PAGE_BYTES);
    // whoever has lost its answer asks for the same once more
    expect(await held.page(offset)).toBe(page);
    pages.push(page.bytes);
    offset += page.bytes.length;
    isLast = page.isLast;
    await partition.call('del', `k${pages.length}`, 'list');
    await partition.call('set', `later${pages.length}`, big);
  }
  expect(pages.length).toBe(6);
  expect(Buffer.concat(pages).equals(whole)).toBe(true);
  await held.close();
});

test('it makes no more than is asked for', async () => {
  const partition = await LonePartition.open();
  for (let at = 0; at < 64; at++) await partition.call('set', `k${at}`, 'x'.repeat(1 << 18));
  let read = 0;
  const state = partition.engine.snapshot();
  const { iterate } = state;
  state.iterate = (range) => {
    const iterator = iterate.call(state, range);
    const { next } = iterator;
    iterator.next = async (count) => {
      const pairs = await next.call(iterator, count);
      read += pairs.length;
      return pairs;
    };
    return iterator;
  };
  const held = new HeldBackup(state, ALWAYS_DUE, partition.nowMs);
  await held.page(0);
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  // 16 MiB are there: the page that was asked for, one more, and what is read ahead
  expect(read).toBeLessThanOrEqual(24);
  await held.close();
});

test('an offset that is neither the next nor the last is refused, and does no harm', async () => {
  const partition = await LonePartition.open();
  await partition.call('set', 'k', 'v');
  const held = await holds(partition);
  await expect(held.page(5)).rejects.toThrow('the next page is at 0, not at 5');
  expect((await held.page(0)).isLast).toBe(true);
  await held.close();
});

test('it can be closed in the midst, and answers nothing then', async () => {
  const partition = await LonePartition.open();
  for (let at = 0; at < 16; at++) await partition.call('set', `k${at}`, 'x'.repeat(1 << 18));
  const held = await holds(partition);
  await held.page(0);
  await held.close();
  await expect(held.page(PAGE_BYTES)).rejects.toThrow('the backup has ended');
});

test('a stream of more nodes than are kept until they are counted', async () => {
  const partition = await LonePartition.open();
  const text = 'x'.repeat(3_000);
  for (let at = 1; at <= 200; at++) await partition.call('xadd', 's', `${at}-0`, 'f', text);
  const { pages } = await pagesOf(partition.engine, partition.nowMs);
  const bytes = Buffer.concat(pages);
  // type · length of the key · key · value
  const value = decodeRdbValue(Buffer.concat([bytes.subarray(0, 1), bytes.subarray(3)]));
  expect(value.type === 'stream' && value.entries.length).toBe(200);
});

/** Bytes that nobody would have stored. */
async function spoil(partition: LonePartition, key: Buffer, at: number): Promise<void> {
  const record = Buffer.from(partition.engine.getSync(key)!);
  record[at]! ^= 0x20;
  await partition.engine.write([{ type: 'put', key, value: record }]);
}

test('a damaged record ends it', async () => {
  const partition = await LonePartition.open();
  for (const key of ['a', 'b', 'c']) await partition.call('set', key, 'value');
  await spoil(partition, encodeKey(Buffer.from('b')), 3);
  await expect(pagesOf(partition.engine, partition.nowMs)).rejects.toThrow(
    /^record 10.*: its checksum does not match/,
  );
});

test('an element that is missing ends it: its reader would take others for it', async () => {
  const partition = await LonePartition.open();
  await partition.call('sadd', 's', 'a', 'b', 'c');
  const place = encodeKey(Buffer.from('s'));
  const header = decodeHeader(place, createView(partition.engine).get(place)!);
  const { version } = decodeCollection(place, header.body);
  const at = { slot: slotOfKey(Buffer.from('s')), version };
  const key = encodeMemberKey(tags.setMember, at, Buffer.from('b'));
  await partition.engine.write([{ type: 'del', key }]);
  await expect(pagesOf(partition.engine, partition.nowMs)).rejects.toThrow(
    'it has 2 elements, and says 3',
  );
});

test.each(['entries', 'what is pending in a group', 'what is pending for a consumer'])(
  'nor are %s of a stream fewer than it says',
  async (what) => {
    const partition = await LonePartition.open();
    for (const id of ['1-1', '2-1', '3-1']) await partition.call('xadd', 'x', id, 'f', 'v');
    await partition.call('xgroup', 'create', 'x', 'g', '0');
    await partition.call('xreadgroup', 'group', 'g', 'c', 'streams', 'x', '>');
    const tag = what === 'entries' ? tags.streamEntry : tags.streamPending;
    const all = { gte: Buffer.from([tag]), lt: Buffer.from([tag + 1]) };
    const keys = (await readRange(partition.engine, all)).map(([key]) => key);
    // what is pending stands there by group, then by consumer
    const key = what.endsWith('consumer') ? keys.at(-1)! : keys[0]!;
    await partition.engine.write([{ type: 'del', key }]);
    await expect(pagesOf(partition.engine, partition.nowMs)).rejects.toThrow(
      `${what} are not as many as it says`,
    );
  },
);

test('a file has a head that names its version, and a checksum', async () => {
  const partition = await LonePartition.open();
  const file = fileOf(await pagesOf(partition.engine, partition.nowMs), 12);
  expect(file.toString('latin1', 0, 9)).toBe('REDIS0012');
  expect(file.at(-9)).toBe(0xff);
});
