/** The disk the measurements run on: where it is, and what a sync of it costs. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** `f_type` of file systems that live in memory: a sync of them does nothing. */
const IN_MEMORY = new Set([0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */]);

/** Makes an empty directory on a disk: below `parent`, or the first place that is not in memory. */
export function makeDirectory(parent: string | undefined): string {
  const places = parent === undefined ? [tmpdir(), '/var/tmp', process.cwd()] : [resolve(parent)];
  const place = places.find((path) => !isInMemory(path));
  if (place === undefined) {
    throw new Error(`${places.join(', ')}: in memory, where a sync costs nothing; use --data DIR`);
  }
  try {
    return mkdtempSync(join(place, 'kvorum-bench-'));
  } catch (error) {
    throw new Error(`cannot make a directory in ${place}; choose another by --data DIR`, {
      cause: error,
    });
  }
}

function isInMemory(path: string): boolean {
  try {
    return IN_MEMORY.has(statfsSync(path).type);
  } catch (error) {
    throw new Error(`--data: there is no directory ${path}`, { cause: error });
  }
}

/** Throws when a file cannot be written: better now than when everything has been measured. */
export function requireWritable(path: string): void {
  const existing = existsSync(path);
  try {
    if (existing && statSync(path).isDirectory()) throw new Error('it is a directory');
    accessSync(existing ? path : dirname(resolve(path)), constants.W_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`--json ${path}: cannot be written: ${why}`, { cause: error });
  }
}

const REMOVE_MS = 10_000;

/** Removes a directory, also while programs that were killed a moment ago still write into it. */
export function removeDirectory(path: string): void {
  const deadline = performance.now() + REMOVE_MS;
  for (;;) {
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

const PROBES = 200;
const PROBE_BYTES = 4_096;

/** Milliseconds that an appended 4 KiB takes to be synced, sorted. */
export function probeSync(directory: string): readonly number[] {
  const path = join(directory, 'probe');
  const bytes = Buffer.alloc(PROBE_BYTES, 1);
  const file = openSync(path, 'w');
  try {
    const times = Array.from({ length: PROBES }, () => {
      const began = performance.now();
      writeSync(file, bytes);
      fdatasyncSync(file);
      return performance.now() - began;
    });
    return times.sort((a, b) => a - b);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
