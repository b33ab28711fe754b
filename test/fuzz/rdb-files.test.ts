/**
 * RDB files of all encodings, bent, in any chunks, with the checksum put right or not: an error that names
 * a place, or events up to the end. Values as a whole and in parts.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RunningCrc64 } from '../../src/datanode/encoding/rdb/crc64.ts';
import { keyed, parsed, rdbFile } from '../cli/import/rdb/rdb-files.ts';
import { scale } from '../scale.ts';
import { bending } from './bytes.ts';
import { check } from './property.ts';
import { rdbValues } from './rdb-values.ts';

const files = fc
  .array(fc.constantFrom(...rdbValues), { minLength: 1, maxLength: 6 })
  .map((values) => rdbFile(11, ...values.map((value, at) => keyed(`key ${at}`, value))));
const chunkBytes = fc.integer({ min: 1, max: 400 });
const wholeBytes = fc.constantFrom(0, 60, 1_048_576);

function sealed(file: Buffer): Buffer {
  const body = file.subarray(0, Math.max(0, file.length - 8));
  const sum = new RunningCrc64();
  sum.update(body);
  return Buffer.concat([body, sum.digest()]);
}

test('a bent file is told to be, or read to its end', () => {
  check(
    scale.fuzzRdb / 10,
    fc.property(
      ...([files, bending, fc.boolean(), chunkBytes, wholeBytes] as const),
      (file, bend, isSealed, chunk, whole) => {
        const bent = isSealed ? sealed(bend(file)) : bend(file);
        try {
          const events = parsed(bent, { chunkBytes: chunk, wholeBytes: whole });
          expect(events.at(-1)?.kind).toBe('end');
          if (!isSealed && !bent.equals(file))
            expect(events.at(-1)).toMatchObject({ hasChecksum: false });
        } catch (failure) {
          expect(String(failure)).toMatch(/at byte \d+, in /);
        }
      },
    ),
  );
});
