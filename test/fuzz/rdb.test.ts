/**
 * RESTORE's reader against random bytes and against bent values in every encoding: it ends in a
 * value or in RdbError, in bounded time and memory; and RESTORE itself, with the checksum put
 * right, in OK or in an error that leaves the key as it was.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rdbTypes } from '../../src/datanode/encoding/rdb-decode.ts';
import { RdbError } from '../../src/datanode/encoding/rdb-reader.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { decodeRdbValue, sealRdbPayload } from '../datanode/encoding/at-once.ts';
import {
  compressedRun,
  intset,
  length,
  listpack,
  text,
  value,
  ziplist,
  zipmap,
} from '../datanode/encoding/rdb-forms.ts';
import { scale } from '../scale.ts';
import { bending } from './bytes.ts';
import { check, checkAsync } from './property.ts';

const items = ['a', '1', 'bc', '-3', 'x'.repeat(70), '1000000', '', '7'];
const score = Buffer.alloc(8);
score.writeDoubleLE(1.5);

const good: readonly Buffer[] = [
  value(rdbTypes.string, text('some string')),
  value(rdbTypes.string, compressedRun(0x61, 1_000)),
  value(rdbTypes.list, length(items.length), ...items.map(text)),
  value(rdbTypes.set, length(items.length), ...items.map(text)),
  value(rdbTypes.hash, length(items.length / 2), ...items.map(text)),
  value(rdbTypes.zset, length(2), text('a'), score, text('b'), score),
  value(rdbTypes.zsetText, length(2), text('a'), text('1.5'), text('b'), Buffer.from([254])),
  value(
    rdbTypes.hashZipmap,
    text(
      zipmap([
        ['a', '1'],
        ['b', 'x'.repeat(300)],
      ]),
    ),
  ),
  value(rdbTypes.listZiplist, text(ziplist(items))),
  value(rdbTypes.setIntset, text(intset([-5n, 7n, 1_000n], 4))),
  value(rdbTypes.zsetZiplist, text(ziplist(['a', '1', 'b', '2.5']))),
  value(rdbTypes.hashZiplist, text(ziplist(items))),
  value(rdbTypes.listQuicklist, length(2), text(ziplist(items)), text(ziplist(['end']))),
  value(rdbTypes.hashListpack, text(listpack(items))),
  value(rdbTypes.zsetListpack, text(listpack(['a', '1', 'b', '-inf']))),
  value(rdbTypes.listQuicklist2, length(2), length(2), text(listpack(items)), length(1), text('z')),
  value(rdbTypes.setListpack, text(listpack(items))),
];

const bent = fc.tuple(fc.constantFrom(...good), bending).map(([bytes, bend]) => bend(bytes));
const random = fc
  .tuple(fc.constantFrom(...Object.values(rdbTypes), 6, 15, 255), fc.uint8Array({ maxLength: 80 }))
  .map(([type, bytes]) => Buffer.from([type, ...bytes]));
const anything = fc.oneof({ weight: 4, arbitrary: bent }, random);

function readsOrRefuses(bytes: Buffer): boolean {
  try {
    decodeRdbValue(bytes);
    return true;
  } catch (failure) {
    expect(failure).toBeInstanceOf(RdbError);
    return false;
  }
}

test('every encoding is read as it is', () => {
  expect(good.filter((bytes) => !readsOrRefuses(bytes))).toEqual([]);
});

test('bent and random values are read or refused', () => {
  let [read, refused] = [0, 0];
  check(
    scale.fuzzRdb,
    fc.property(anything, (bytes) => {
      if (readsOrRefuses(bytes)) read++;
      else refused++;
    }),
  );
  expect(Math.min(read, refused)).toBeGreaterThan(scale.fuzzRdb / 300);
});

test('a bent payload is restored as a whole or not at all', async () => {
  await checkAsync(
    scale.fuzzRdb / 10,
    fc.asyncProperty(anything, fc.boolean(), async (bytes, sealed) => {
      const partition = await LonePartition.open();
      await partition.call('SET', 'k', 'before');
      const payload = sealed ? sealRdbPayload([bytes]) : bytes;
      const reply = await partition.call('RESTORE', 'k', '0', payload, 'REPLACE');
      if (reply.kind === 'error') {
        expect(reply.text).toMatch(/^ERR (Bad data format|DUMP payload version or checksum)/);
        expect(await partition.call('GET', 'k')).toMatchObject({ bytes: Buffer.from('before') });
        return;
      }
      const dumped = await partition.call('DUMP', 'k');
      if (dumped.kind !== 'bulk') throw new Error(`DUMP answered ${dumped.kind}`);
      const again = await partition.call('RESTORE', 'copy', '0', dumped.bytes);
      expect(again).toEqual({ kind: 'simple', text: 'OK' });
      expect(await partition.call('DUMP', 'copy')).toEqual(dumped);
    }),
  );
});
