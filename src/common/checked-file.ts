/**
 * Small JSON files that must be whole or refused: the first line is the CRC-32 of the rest, in
 * hex; the file is replaced atomically.
 */
import { crc32 } from './checksum.ts';
import { type Disk, readFile, replaceFile } from './disk.ts';
import { KvorumError } from './errors.ts';

const BYTES_MAX = 256 * 1024 * 1024;

export async function writeChecked(disk: Disk, path: string, value: unknown): Promise<void> {
  const body = Buffer.from(JSON.stringify(value));
  const sum = crc32(body).toString(16).padStart(8, '0');
  await replaceFile(disk, path, Buffer.concat([Buffer.from(`${sum}\n`), body]));
}

/** Undefined when there is no such file; KvorumError CORRUPT with `remedy` when it is damaged. */
export async function readChecked<T>(
  disk: Disk,
  path: string,
  remedy: string,
): Promise<T | undefined> {
  if (!(await disk.exists(path))) return undefined;
  const bytes = await readFile(disk, path, BYTES_MAX);
  const body = bytes.subarray(9);
  const sum = crc32(body).toString(16).padStart(8, '0');
  if (bytes.length < 10 || bytes.toString('latin1', 0, 9) !== `${sum}\n`) {
    throw new KvorumError('CORRUPT', `${path}:0: checksum does not match; ${remedy}`);
  }
  return JSON.parse(body.toString()) as T;
}
