/** The disk the measurements run on: where it is, and what a sync of it costs. */
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `f_type` of file systems that live in memory: a sync of them does nothing. */
const IN_MEMORY = new Set([0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */]);

/** Makes an empty directory on a disk: below `parent`, or the first place that is not in memory. */
export function makeDirectory(parent: string | undefined): string {
  const places = parent === undefined ? [tmpdir(), '/var/tmp', process.cwd()] : [parent];
  const place = places.find((path) => !IN_MEMORY.has(statfsSync(path).type));
  if (place === undefined) {
    throw new Error(`${places.join(', ')}: in memory, where a sync costs nothing; use --data DIR`);
  }
  return mkdtempSync(join(place, 'kvorum-bench-'));
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
