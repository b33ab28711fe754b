/**
 * What is in a backup, as its `manifest.json` says: without one a directory is no backup. While one is
 * being made the same stands in `incomplete.json`, with the files that are whole by then.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { readFile, replaceFile } from '../../common/disk.ts';
import { KvorumError } from '../../common/errors.ts';
import { fsDisk } from '../../common/fs-disk.ts';

export const MANIFEST = 'manifest.json';
export const INCOMPLETE = 'incomplete.json';

const FORMAT = 1;
const BYTES_MAX = 64 * 1024 * 1024;

const count = z.number().int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** Below the directory of the backup. */
const path = z.string().regex(/^[^/\\.][^/\\]*(?:\/[^/\\.][^/\\]*)?$/);

const fileSchema = z.object({
  partition: count,
  /** First and last slot. */
  slots: z.tuple([count, count]),
  file: path,
  /** Of the raft group: its last entry in the file, and the group's time at which keys that are due are left out. */
  group: count,
  index: count,
  term: count,
  timeMs: count,
  keys: count,
  expires: count,
  bytes: count,
  sha256,
  rdbVersion: count,
  /** Of functions, of the namespace: in its first file. Null: a node of an older build gave none out. */
  libraries: count.nullable().optional(),
});

const namespaceSchema = z.object({
  name: z.string(),
  partitions: count,
  replicas: count,
  hash: z.string(),
  reads: z.string(),
  tags: z.array(z.string()),
  /** In the order of the partitions. */
  files: z.array(fileSchema),
});

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** Of kvorum. */
  version: z.string(),
  clusterId: z.string(),
  /** All that was acknowledged by then is in it. */
  begunMs: count,
  /** 0 while it is incomplete. */
  endedMs: count,
  namespaces: z.array(namespaceSchema),
  /** The users with their rules, as ACL LIST tells them; null: whoever made it may not know. */
  users: z.object({ file: path, bytes: count, sha256 }).nullable(),
});

export type BackedFile = z.infer<typeof fileSchema>;
export type BackedNamespace = z.infer<typeof namespaceSchema>;
export type Manifest = z.infer<typeof manifestSchema>;

/** Undefined when there is none; KvorumError CORRUPT when it cannot be read. */
export async function readManifest(
  directory: string,
  name: typeof MANIFEST | typeof INCOMPLETE = MANIFEST,
): Promise<Manifest | undefined> {
  const file = join(directory, name);
  if (!(await fsDisk.exists(file))) return undefined;
  try {
    const text = (await readFile(fsDisk, file, BYTES_MAX)).toString();
    return manifestSchema.parse(JSON.parse(text));
  } catch (failure) {
    const problem = failure instanceof z.ZodError ? z.prettifyError(failure) : String(failure);
    throw new KvorumError('CORRUPT', `${file} cannot be read: ${problem}`);
  }
}

/** Whole or not at all. */
export async function writeManifest(
  directory: string,
  name: typeof MANIFEST | typeof INCOMPLETE,
  manifest: Manifest,
): Promise<void> {
  await replaceFile(
    fsDisk,
    join(directory, name),
    Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`),
  );
}

export function newManifest(version: string, clusterId: string, begunMs: number): Manifest {
  return { format: FORMAT, version, clusterId, begunMs, endedMs: 0, namespaces: [], users: null };
}
