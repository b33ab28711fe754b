/** One bit of a file. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';

export function flipBitIn(path: string, offset: number, bit: number): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, offset);
  writeSync(file, Buffer.from([byte[0]! ^ (1 << bit)]), 0, 1, offset);
  closeSync(file);
}

/** The same bits flip in every run; another seed is set by KVORUM_FLIP_SEED. */
export const flipSeed = process.env['KVORUM_FLIP_SEED'] ?? '1';

/** Said at once: a long run may be ended before its end. */
export function tellWrong(failure: string): void {
  process.stdout.write(`WRONG  ${failure}\n`);
}
