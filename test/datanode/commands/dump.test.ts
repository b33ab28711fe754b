import { describe, expect, test } from 'vitest';
import { writeU64 } from '../../../src/common/bytes.ts';
import { limits } from '../../../src/common/limits.ts';
import { openCollection, saveCollection } from '../../../src/datanode/encoding/collection.ts';
import {
  encodeListKey,
  encodeMemberKey,
  LIST_ORIGIN,
} from '../../../src/datanode/encoding/element-key.ts';
import { tags } from '../../../src/datanode/encoding/tags.ts';
import { Txn } from '../../../src/datanode/encoding/txn.ts';
import { decodeRdbValue, openRdbPayload, sealRdbPayload } from '../encoding/at-once.ts';
import { compressedRun, length, text, value } from '../encoding/rdb-forms.ts';
import { LonePartition } from './lone-partition.ts';

const OK = { kind: 'simple', text: 'OK' };

/** Puts elements under `k` directly. */
async function filled(
  type: 'hash' | 'list',
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
    expect(decoded.type !== 'string' && decoded.elements.length).toBe(100_000);
    expect(await partition.call('RESTORE', 'copy', '0', reply.bytes)).toEqual(OK);
    expect(await partition.call('DUMP', 'copy')).toEqual(reply);
  });

  test('leaves out fields that have expired, and deadlines of the others', async () => {
    const fields = ['gone', 'later', 'plain'];
    const partition = await filled('hash', fields.length, (txn, place, at) => {
      const deadline = Buffer.alloc(9);
      deadline[0] = 1;
      writeU64(deadline, at === 0 ? 1_000 : 9_000_000_000_000, 1);
      const head = at === 2 ? Buffer.from([0]) : deadline;
      const key = encodeMemberKey(tags.hashField, place, Buffer.from(fields[at]!));
      txn.put(key, Buffer.concat([head, Buffer.from('v')]));
    });
    const reply = await partition.call('DUMP', 'k');
    if (reply.kind !== 'bulk') throw new Error(`DUMP answered ${reply.kind}`);
    const decoded = decodeRdbValue(openRdbPayload(reply.bytes)!);
    if (decoded.type !== 'hash') throw new Error(`a ${decoded.type}`);
    const shown = Array.from(decoded.elements, ([field, content]) => `${field}=${content}`);
    expect(shown.sort()).toEqual(['later=v', 'plain=v']);
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
