/** The places that a configuration names are made before anything runs: an error names the field. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { KvorumError, messageOf, systemCodeOf } from '../common/errors.ts';
import { beside } from './run-file.ts';

export interface Places {
  readonly 'data-dir': string;
  readonly 'run-file'?: string | undefined;
  readonly log: { readonly file?: string | undefined };
}

/** Throws BAD_CONFIG naming `file`, the field and why the place cannot be used. */
export function preparePlaces(file: string, places: Places): void {
  const prepare = (field: string, path: string, make: () => void) => {
    try {
      make();
    } catch (cause) {
      const why = messageOf(cause);
      throw new KvorumError(
        'BAD_CONFIG',
        `${file}: ${field}: ${JSON.stringify(path)} cannot be used (${why}); choose another place`,
        { cause },
      );
    }
  };
  const { 'data-dir': dataDir, 'run-file': runFile, log } = places;
  prepare('data-dir', dataDir, () => makeDirs(dataDir));
  if (runFile !== undefined) prepare('run-file', runFile, () => prepareRunFile(runFile));
  const logFile = log.file;
  if (logFile === undefined) return;
  prepare('log.file', logFile, () => {
    makeDirs(dirname(logFile));
    closeSync(openSync(logFile, 'a'));
  });
}

/** Written as it will be, once the process serves: what cannot be is better said before. */
function prepareRunFile(path: string): void {
  if (path === '') throw new Error('it is empty');
  // a rename would replace a device
  if (existsSync(path) && !statSync(path).isFile()) throw new Error('it is not a file');
  makeDirs(dirname(path));
  const trial = beside(path);
  closeSync(openSync(trial, 'w'));
  rmSync(trial);
}

/** Parents first, one by one: node's recursive mkdir never returns below /proc. */
export function makeDirs(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const directory of missing) makeDir(directory);
}

/** One that is there by now is as good: the processes of a cluster start together. */
function makeDir(path: string): void {
  try {
    mkdirSync(path);
    syncName(path);
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

/** A new name outlives a loss of power once the directory that holds it is synced. */
function syncName(path: string): void {
  let parent: number;
  try {
    parent = openSync(dirname(path), 'r');
  } catch (error) {
    // what may be written into need not be readable
    if (systemCodeOf(error) === 'EACCES') return;
    throw error;
  }
  try {
    fsyncSync(parent);
  } finally {
    closeSync(parent);
  }
}
