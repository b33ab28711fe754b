/**
 * RESTORE of random bytes and of bent values in every encoding, with the checksum put right or not:
 * OK, or an error that leaves the key as it was. Its reader alone is a room of the engine.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rdbTypes } from '../../src/datanode/encoding/rdb/rdb-decode.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';
import { decodeRdbValue, sealRdbPayload } from '../datanode/encoding/rdb/at-once.ts';
import { scale } from '../scale.ts';
import { bending } from './bytes.ts';
import { checkAsync } from './property.ts';
import { rdbValues } from './rdb-values.ts';

const bent = fc.tuple(fc.constantFrom(...rdbValues), bending).map(([bytes, bend]) => bend(bytes));
const random = fc
  .tuple(fc.constantFrom(...Object.values(rdbTypes), 6, 255), fc.uint8Array({ maxLength: 80 }))
  .map(([type, bytes]) => Buffer.from([type, ...bytes]));
const anything = fc.oneof({ weight: 4, arbitrary: bent }, random);

test('every encoding is read as it is', () => {
  for (const bytes of rdbValues) decodeRdbValue(bytes);
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
