import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import {
  openCollection,
  saveCollection,
} from '../../../../src/datanode/encoding/collections/collection.ts';
import {
  encodeListKey,
  LIST_ORIGIN,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { decodeRdbValue, openRdbPayload, sealRdbPayload } from '../../encoding/rdb/at-once.ts';
import {
  compressedRun,
  length,
  listpack,
  text,
  time,
  value,
} from '../../encoding/rdb/rdb-forms.ts';
import { LonePartition } from '../lone-partition.ts';

const OK = { kind: 'simple', text: 'OK' };

/** Puts elements under `k` directly. */
async function filled(
  type: 'list',
  size: number,
  put: (txn: Txn, place: Parameters<typeof encodeListKey>[0], at: number) => void,
): Promise<LonePartition> {
  const partition = await LonePartition.open();
  const txn = new Txn(partition.engine);
  txn.beginEntry(1_000_000);
  const collection = openCollection(txn, Buffer.from('k'), type, 0);
  if (collection === 'wrong-type') throw new Error('wrong type');
  for (let at = 0; at < size; at++) put(txn, collection.place, at);
  collection.size = size;
  saveCollection(txn, collection);
  await partition.engine.write(txn.operations());
  return partition;
}

function listElement(bytes: Buffer) {
  return (txn: Txn, place: Parameters<typeof encodeListKey>[0], at: number) => {
    const key = encodeListKey(place, { whole: LIST_ORIGIN + at, fraction: Buffer.alloc(0) });
    txn.put(key, Buffer.concat([Buffer.from([0]), bytes]));
  };
}

describe('DUMP', () => {
  test('of 100,000 elements goes in slices and comes back', async () => {
    const partition = await filled('list', 100_000, listElement(Buffer.from('element')));
    const reply = await partition.call('DUMP', 'k');
    if (reply.kind !== 'bulk') throw new Error(`DUMP answered ${reply.kind}`);
    const decoded = decodeRdbValue(openRdbPayload(reply.bytes)!);
    expect('elements' in decoded && decoded.elements.length).toBe(100_000);
    expect(await partition.call('RESTORE', 'copy', '0', reply.bytes)).toEqual(OK);
    expect(await partition.call('DUMP', 'copy')).toEqual(reply);
  });

  test('leaves out fields that have expired, and keeps the deadlines of the others', async () => {
    const partition = await LonePartition.open();
    await partition.call('HSET', 'k', 'gone', 'v', 'soon', 'v', 'later', 'v', 'plain', 'v');
    const at = (ms: number) => String(partition.nowMs + ms);
    for (const [field, ms] of Object.entries({ gone: 1, soon: 500, later: 90_000_000 })) {
      await partition.call('HPEXPIREAT', 'k', at(ms), 'FIELDS', '1', field);
    }
    partition.nowMs += 2;
    const reply = await partition.call('DUMP', 'k');
    if (reply.kind !== 'bulk') throw new Error(`DUMP answered ${reply.kind}`);
    const earliest = time(Number(at(498)));
    expect(reply.bytes.subarray(0, 10)).toEqual(value(24, earliest, length(3)));
    expect(reply.bytes.readUInt16LE(reply.bytes.length - 10)).toBe(12);
    const decoded = decodeRdbValue(openRdbPayload(reply.bytes)!);
    if (decoded.type !== 'hash') throw new Error(`a ${decoded.type}`);
    const shown = Array.from(decoded.elements, ([field, , ms]) => `${field}=${ms}`);
    const [soon, later] = [at(498), at(89_999_998)];
    expect(shown.sort()).toEqual([`later=${later}`, 'plain=0', `soon=${soon}`]);

    expect(await partition.call('RESTORE', 'copy', '0', reply.bytes)).toEqual(OK);
    expect(await partition.call('DUMP', 'copy')).toEqual(reply);
    expect(await partition.call('OBJECT', 'ENCODING', 'copy')).toMatchObject({
      bytes: Buffer.from('listpackex'),
    });
    const asked = ['FIELDS', '3', 'later', 'plain', 'soon'];
    expect(await partition.call('HPEXPIRETIME', 'copy', ...asked)).toMatchObject({
      items: [{ value: Number(later) }, { value: -1 }, { value: Number(soon) }],
    });
    partition.nowMs = Number(soon);
    expect(await partition.call('HGET', 'copy', 'soon')).toMatchObject({ kind: 'null' });
    await partition.expire('copy');
    expect(partition.events.at(-1)).toMatchObject({ event: 'hexpired' });
    expect(await partition.call('HLEN', 'copy')).toMatchObject({ value: 2 });
  });

  test('of a hash of which no field has a deadline any more is as of any other', async () => {
    const partition = await LonePartition.open();
    await partition.call('HSET', 'k', 'f', 'v', 'g', 'v');
    const plain = await partition.call('DUMP', 'k');
    await partition.call('HEXPIRE', 'k', '100', 'FIELDS', '1', 'f');
    expect(await partition.call('DUMP', 'k')).not.toEqual(plain);
    await partition.call('HPERSIST', 'k', 'FIELDS', '1', 'f');
    expect(await partition.call('DUMP', 'k')).toEqual(plain);
  });

  test('of more than one request may carry is refused', async () => {
    const bytes = Buffer.alloc(4 * 1024 * 1024);
    const count = Math.floor(limits.requestBytesMax / bytes.length) + 1;
    const partition = await filled('list', count, listElement(bytes));
    expect(await partition.call('DUMP', 'k')).toMatchObject({
      kind: 'error',
      text: expect.stringMatching(/^ERR the serialized value would have more than/),
    });
  });
});

describe('RESTORE', () => {
  test('replaces a collection by another, and deletes it whole', async () => {
    const partition = await LonePartition.open();
    const set = sealRdbPayload([value(2, length(2), text('a'), text('b'))]);
    const list = sealRdbPayload([value(1, length(1), text('z'))]);
    expect(await partition.call('RESTORE', 'k', '0', set)).toEqual(OK);
    expect(await partition.call('RESTORE', 'k', '0', list, 'REPLACE')).toEqual(OK);
    expect(await partition.call('TYPE', 'k')).toEqual({ kind: 'simple', text: 'list' });
    expect(await partition.call('DUMP', 'k')).toEqual({ kind: 'bulk', bytes: list });
    expect(await partition.call('DEL', 'k')).toMatchObject({ value: 1 });
    expect(await partition.call('EXISTS', 'k')).toMatchObject({ value: 0 });
  });

  test('keeps the sign of a zero score where Redis does: not in a listpack', async () => {
    const partition = await LonePartition.open();
    const score = Buffer.alloc(8);
    score.writeDoubleLE(-0);
    const payload = sealRdbPayload([value(5, length(1), text('a'.repeat(65)), score)]);
    expect(await partition.call('RESTORE', 'k', '0', payload)).toEqual(OK);
    expect(await partition.call('DUMP', 'k')).toEqual({ kind: 'bulk', bytes: payload });
  });

  test('leaves out fields whose deadline has passed, and makes nothing of none', async () => {
    const partition = await LonePartition.open();
    const past = String(partition.nowMs);
    const fields = (...flat: string[]) =>
      sealRdbPayload([value(25, time(Number(past)), text(listpack(flat)))], 12);
    expect(
      await partition.call('RESTORE', 'k', '0', fields('a', '1', past, 'b', '2', '0')),
    ).toEqual(OK);
    expect(await partition.call('HLEN', 'k')).toMatchObject({ value: 1 });
    expect(await partition.call('OBJECT', 'ENCODING', 'k')).toMatchObject({
      bytes: Buffer.from('listpackex'),
    });
    expect(await partition.call('RESTORE', 'k', '0', fields('a', '1', past), 'REPLACE')).toEqual(
      OK,
    );
    expect(await partition.call('EXISTS', 'k')).toMatchObject({ value: 0 });
    expect(await partition.call('DBSIZE')).toMatchObject({ value: 0 });
  });

  test('takes versions up to that of Redis 7.4', async () => {
    const partition = await LonePartition.open();
    const string = [value(0, text('a'))];
    expect(await partition.call('RESTORE', 'k', '0', sealRdbPayload(string, 12))).toEqual(OK);
    expect(await partition.call('RESTORE', 'l', '0', sealRdbPayload(string, 13))).toMatchObject({
      text: 'ERR DUMP payload version or checksum are wrong',
    });
  });

  test('refuses a string that is longer than a value may be', async () => {
    const partition = await LonePartition.open();
    const payload = sealRdbPayload([value(0, compressedRun(0, limits.valueBytesMax + 1))]);
    expect(payload.length).toBeLessThan(limits.valueBytesMax);
    expect(await partition.call('RESTORE', 'k', '0', payload)).toMatchObject({
      text: 'ERR string exceeds maximum allowed size (proto-max-bulk-len)',
    });
  });

  test('says so when a value has too many elements', async () => {
    const partition = await LonePartition.open();
    const count = limits.requestArgumentsMax + 1;
    const payload = sealRdbPayload([value(1, length(count), Buffer.alloc(count))]);
    expect(await partition.call('RESTORE', 'k', '0', payload)).toMatchObject({
      text: 'ERR the value has more than 1048576 elements, restore it in parts',
    });
  });
});
