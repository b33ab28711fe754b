/** Keys and certificates as files: made once, and never written over. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { makeDirs } from '../places.ts';
import type { KeyAndCertificate } from './authority.ts';

/** The name of the authority's own files. */
export const AUTHORITY = 'ca';

export function keyFile(dir: string, name: string): string {
  return join(dir, `${name}.key`);
}

export function certificateFile(dir: string, name: string): string {
  return join(dir, `${name}.crt`);
}

/** KvorumError BAD_ARGUMENT when one of a name's files is there. */
export function assertFree(dir: string, name: string): void {
  const taken = [keyFile(dir, name), certificateFile(dir, name)].find((path) => existsSync(path));
  if (taken === undefined) return;
  const text = `${taken} is there already, and nothing is written over: choose another name, or `;
  throw new KvorumError('BAD_ARGUMENT', `${text}move it away`);
}

/** Writes both files, the key for its owner alone; KvorumError BAD_ARGUMENT when they cannot be. */
export function writePair(dir: string, name: string, pair: KeyAndCertificate): void {
  assertFree(dir, name);
  const key = keyFile(dir, name);
  try {
    makeDirs(dir);
    writeNew(key, pair.key, 0o600);
  } catch (cause) {
    throw unwritable(key, cause);
  }
  const certificate = certificateFile(dir, name);
  try {
    writeNew(certificate, pair.certificate, 0o644);
  } catch (cause) {
    // a key alone would stand in the way of the next try
    rmSync(key, { force: true });
    throw unwritable(certificate, cause);
  }
}

/** What `init` made; KvorumError BAD_ARGUMENT that names the file that is missing. */
export function readAuthorityFiles(dir: string): KeyAndCertificate {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'latin1');
    } catch (cause) {
      const remedy = `make one with: kvorum certificates init ${dir}`;
      const text = `no certificate authority in ${dir} (${messageOf(cause)}); ${remedy}`;
      throw new KvorumError('BAD_ARGUMENT', text, { cause });
    }
  };
  return {
    certificate: read(certificateFile(dir, AUTHORITY)),
    key: read(keyFile(dir, AUTHORITY)),
  };
}

function unwritable(path: string, cause: unknown): KvorumError {
  const text = `${path} cannot be written (${messageOf(cause)})`;
  return new KvorumError('BAD_ARGUMENT', text, { cause });
}

function writeNew(path: string, text: string, mode: number): void {
  const file = openSync(path, 'wx', mode);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
