/**
 * The libraries of functions of a partition as they stand in an RDB file: each behind its opcode, its code as
 * a string. Readers take them anywhere between keys, and refuse a file that has one twice.
 */
import { codesOfLibraries } from '../scripts/kept-libraries.ts';
import type { Slices } from '../steps/slices.ts';
import { encodeRdbString } from './rdb-elements.ts';
import { rdbOpcodes } from './rdb-frame.ts';
import type { RdbParts } from './rdb-stream-dump.ts';

const LIBRARY = Buffer.of(rdbOpcodes.function);

/** How many it has written. */
export function* writeLibraries(to: RdbParts): Slices<number> {
  let count = 0;
  yield* codesOfLibraries((code) => {
    count++;
    to.add(LIBRARY, ...encodeRdbString(code));
  });
  return count;
}
