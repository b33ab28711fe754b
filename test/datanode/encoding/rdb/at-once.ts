/** What the product does in slices, in one go: none of it needs the engine. */
import * as crc from '../../../../src/datanode/encoding/rdb/crc64.ts';
import * as decode from '../../../../src/datanode/encoding/rdb/rdb-decode.ts';
import * as payload from '../../../../src/datanode/encoding/rdb/rdb-payload.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';

function finished<Result>(run: Slices<Result>): Result {
  let step = run.next();
  while (!step.done) step = run.next([]);
  return step.value;
}

export const crc64 = (bytes: Uint8Array) => finished(crc.crc64(bytes));
export const decodeRdbValue = (bytes: Buffer) => finished(decode.decodeRdbValue(bytes));
export const sealRdbPayload = (parts: readonly Buffer[], version?: number) =>
  finished(payload.sealRdbPayload(parts, version));
export const openRdbPayload = (bytes: Buffer) =>
  finished(payload.openRdbPayload(bytes, payload.rdbVersions.withFieldDeadlines));
