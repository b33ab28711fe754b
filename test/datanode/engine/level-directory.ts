/** Real LevelDB directories to damage, and a writer of their log format. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { codeOf, messageOf } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import type { EngineReport } from '../../../src/datanode/engine/engine.ts';
import { scanLog } from '../../../src/datanode/engine/level-log.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { key, put, readAll } from '../../conformance/engine.ts';

export const NAME = '1-1';
const MIB = 1024 * 1024;

export interface Image {
  readonly root: string;
  /** The engine's directory. */
  readonly path: string;
}

export function hostAt(root: string, writeBufferBytes = 4 * MIB) {
  const options = { dir: root, disk: fsDisk, logger: silentLogger, cacheBytes: 32 * MIB };
  return createLevelHost({ ...options, writeBufferBytes });
}

export async function emptyImage(): Promise<Image> {
  const root = await mkdtemp(join(tmpdir(), 'kvorum-level-'));
  return { root, path: join(root, NAME) };
}

export async function copyImage(image: Image): Promise<Image> {
  const copy = await emptyImage();
  await cp(image.path, copy.path, { recursive: true });
  return copy;
}

export const removeImage = (image: Image) => rm(image.root, { recursive: true, force: true });

/** Batch i writes k<i>, rewrites `applied` and, every tenth, a value of several blocks. */
export async function writeBatches(image: Image, count: number, buffer?: number): Promise<void> {
  const { engine } = await hostAt(image.root, buffer).open(NAME);
  for (let i = 1; i <= count; i++) {
    const size = i % 50 === 0 ? 70_000 : 100 + (i % 7) * 30;
    const value = Buffer.alloc(size, i % 251);
    await engine.write([put(`k${String(i).padStart(6, '0')}`, value), put('applied', `${i}`)]);
  }
  await engine.close();
}

export type Outcome =
  | { readonly kind: 'open'; readonly applied: number; readonly report: EngineReport }
  | { readonly kind: 'corrupt'; readonly message: string };

/** Opens the image and demands that what it holds is a prefix of the batches. */
export async function openImage(image: Image): Promise<Outcome> {
  try {
    const { engine, report } = await hostAt(image.root).open(NAME);
    const applied = Number(engine.getSync(key('applied')) ?? 0);
    const pairs = await readAll(engine, { gte: key('k'), lt: key('l') }, 10_000);
    await engine.close();
    expect(pairs.map(([k]) => Number(k.toString().slice(1)))).toEqual(
      Array.from({ length: applied }, (_, i) => i + 1),
    );
    return { kind: 'open', applied, report };
  } catch (error) {
    if (codeOf(error) !== 'CORRUPT') throw error;
    return { kind: 'corrupt', message: messageOf(error) };
  }
}

/** The one file of the directory whose name matches, e.g. its log. */
export async function fileOf(image: Image, pattern: RegExp): Promise<string> {
  const names = (await readdir(image.path)).filter((name) => pattern.test(name));
  expect(names).toHaveLength(1);
  return join(image.path, names[0]!);
}

export const logOf = (image: Image) => fileOf(image, /\.log$/);
export const manifestOf = (image: Image) => fileOf(image, /^MANIFEST/);

export async function editFile(path: string, edit: (bytes: Buffer) => Buffer): Promise<void> {
  await writeFile(path, edit(await readFile(path)));
}

export function flipBit(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}

/** The payloads of a log's records. */
export async function recordsOf(path: string): Promise<Buffer[]> {
  const records: Buffer[] = [];
  const file = await fsDisk.open(path, 'read');
  const end = await scanLog(file, Number.MAX_SAFE_INTEGER, (record) => {
    records.push(Buffer.from(record.head));
    return undefined;
  });
  await file.close();
  expect(end.kind).toBe('clean');
  return records;
}
