/** The process's limit of open files, as Linux tells it. Node.js raises the soft one to the hard one. */
import { readFileSync } from 'node:fs';

const LIMITS = '/proc/self/limits';
const LINE = /^Max open files\s+(\d+)/m;

/** Undefined where there is none, or nobody tells it. */
export function openFilesMax(read = () => readFileSync(LIMITS, 'latin1')): number | undefined {
  try {
    const found = LINE.exec(read())?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    // not Linux, or /proc is not mounted
    return undefined;
  }
}
