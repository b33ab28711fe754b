/**
 * The end of a build: its program in the place of the one before, and the mark that it is whole. Whatever moment a
 * build is killed at, dist has a program that runs, and the next `npm start` builds again.
 * Plain JavaScript: nothing is built yet when it runs.
 */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** In dist: empty, and as old as the build that was the last to come to its end. */
const MARK = '.built';
/** What else decides how the sources are compiled. */
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json'];

/** Whether the last build came to its end, and no source has been changed, added or removed since it began. */
export function isBuilt(root) {
  const mark = statSync(join(root, 'dist', MARK), { throwIfNoEntry: false });
  if (mark === undefined) return false;
  const settings = SETTINGS.map((name) => timeOf(join(root, name)));
  return Math.max(newest(join(root, 'src')), ...settings) <= mark.mtimeMs;
}

/**
 * Puts `files` (`name`, `bytes`), of which the last is the one that names the others, into `dist`: names
 * of others tell what is in them, so those of the program that is there stay as they are until it is
 * replaced. Then removes the parts before, but for those of a build beside this one.
 */
export function putInPlace(dist, files, beganMs) {
  for (const { name, bytes } of files) {
    const path = join(dist, name);
    const beside = `${path}.${process.pid}`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(beside, bytes);
    if (bytes.startsWith?.('#!')) chmodSync(beside, 0o755);
    renameSync(beside, path);
  }
  const parts = join(dist, 'parts');
  const ours = new Set(files.map(({ name }) => join(dist, name)));
  for (const name of readdirSync(parts)) {
    const path = join(parts, name);
    if (!ours.has(path) && timeOf(path) < beganMs) rmSync(path, { force: true });
  }
}

/** Says that the build that began then is whole: a source changed under it is newer. */
export function markBuilt(dist, beganMs) {
  const mark = join(dist, MARK);
  writeFileSync(mark, '');
  utimesSync(mark, beganMs / 1000, beganMs / 1000);
}

/** A directory is newer as well when a file was removed from it. */
function newest(directory) {
  let time = timeOf(directory);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    time = Math.max(time, entry.isDirectory() ? newest(path) : timeOf(path));
  }
  return time;
}

/** 0 of what another has removed meanwhile. */
function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
