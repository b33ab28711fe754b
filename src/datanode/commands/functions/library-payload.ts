/**
 * FUNCTION DUMP and RESTORE: libraries as Redis serializes them. Each is an opcode and its code as a string;
 * behind them are the version of the format and a checksum, as in the payload of DUMP.
 */
import { limits } from '../../../common/limits.ts';
import { rdbOpcodes } from '../../encoding/rdb/rdb-frame.ts';
import { openRdbPayload, rdbVersions, sealRdbPayload } from '../../encoding/rdb/rdb-payload.ts';
import { RdbError, RdbReader } from '../../encoding/rdb/rdb-reader.ts';
import type { Slices } from '../../encoding/steps/slices.ts';

/** A library, and what it was before Redis 7.0 was released. */
const FUNCTION2 = rdbOpcodes.function;
const FUNCTION_BEFORE = 246;
/** Redis's own from 7.0 on. */
const RDB_VERSION = 10;
const WIDE_LENGTH = 0x80;

export type Decoded =
  | { readonly ok: true; readonly codes: readonly Buffer[] }
  /** An error's text. */
  | { readonly ok: false; readonly message: string };

/** That any Redis from 7.0 on restores. */
export function dumpLibraries(codes: readonly Buffer[]): Slices<Buffer> {
  const parts = codes.flatMap((code) => {
    const head = Buffer.alloc(6);
    head[0] = FUNCTION2;
    head[1] = WIDE_LENGTH;
    head.writeUInt32BE(code.length, 2);
    return [head, code];
  });
  return sealRdbPayload(parts, RDB_VERSION);
}

/** Codes of libraries, none of which was looked at. */
export function* decodeLibraries(payload: Buffer): Slices<Decoded> {
  const body = yield* openRdbPayload(payload, rdbVersions.withFieldDeadlines);
  if (body === undefined) return refused('DUMP payload version or checksum are wrong');
  const reader = new RdbReader(body);
  const codes: Buffer[] = [];
  while (reader.remaining > 0) {
    const opcode = reader.u8();
    if (opcode === FUNCTION_BEFORE) return refused('Pre-GA function format not supported');
    if (opcode !== FUNCTION2) return refused('given type is not a function');
    if (codes.length >= limits.librariesMax) {
      return refused(`the payload has more than ${limits.librariesMax} libraries`);
    }
    const code = stringOf(reader);
    if (code === undefined) return refused('Failed loading library payload');
    codes.push(code);
  }
  return { ok: true, codes };
}

function stringOf(reader: RdbReader): Buffer | undefined {
  try {
    return reader.string();
  } catch (failure) {
    if (failure instanceof RdbError) return undefined;
    throw failure;
  }
}

function refused(message: string): Decoded {
  return { ok: false, message: `ERR ${message}` };
}
