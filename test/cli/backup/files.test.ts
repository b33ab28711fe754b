import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FileWriter } from '../../../src/cli/backup/file-writer.ts';
import {
  INCOMPLETE,
  MANIFEST,
  type Manifest,
  newManifest,
  readManifest,
  writeManifest,
} from '../../../src/cli/backup/manifest.ts';
import { fileProblem, verifyBackup } from '../../../src/cli/backup/verify.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kvorum-files-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function written(file: string, text: string) {
  const writer = await FileWriter.create(join(directory, file));
  await writer.write(Buffer.from(text, 'latin1'));
  const { bytes } = writer;
  return { file, bytes, sha256: await writer.finish() };
}

test('a file has its name once it is whole', async () => {
  const writer = await FileWriter.create(join(directory, 'a', '0.rdb'));
  await writer.write(Buffer.from('abc'));
  expect(existsSync(join(directory, 'a', '0.rdb'))).toBe(false);
  expect(await writer.finish()).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
  expect(readFileSync(join(directory, 'a', '0.rdb'), 'latin1')).toBe('abc');
});

test('and the name once it is on the disk; then the name is made durable', async () => {
  const path = join(directory, '0.rdb');
  const handle = await open('/dev/null', 'r');
  const sync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync');
  await handle.close();
  const named: boolean[] = [];
  sync.mockImplementation(() => Promise.resolve(void named.push(existsSync(path))));
  await written('0.rdb', 'abc').finally(() => sync.mockRestore());
  expect(named).toEqual([false, true]);
});

test('what a disk takes in parts is there as a whole', async () => {
  const handle = await open('/dev/null', 'r');
  const write = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'write');
  await handle.close();
  const part = async function (this: FileHandle, bytes: Buffer) {
    return { bytesWritten: writeSync(this.fd, bytes, 0, 2), buffer: bytes };
  };
  write.mockImplementationOnce(part as unknown as FileHandle['write']);
  const file = await written('0.rdb', 'in parts').finally(() => write.mockRestore());
  expect(await fileProblem(directory, file)).toBeUndefined();
});

test('one that is given up leaves nothing', async () => {
  const writer = await FileWriter.create(join(directory, '0.rdb'));
  await writer.abandon();
  expect(existsSync(join(directory, '0.rdb.part'))).toBe(false);
});

test.skipIf(!existsSync('/dev/full'))('a disk that is full is told', async () => {
  symlinkSync('/dev/full', join(directory, '0.rdb.part'));
  const writer = await FileWriter.create(join(directory, '0.rdb'));
  await expect(writer.write(Buffer.alloc(100))).rejects.toThrow('ENOSPC');
  await writer.abandon();
  expect(existsSync(join(directory, '0.rdb'))).toBe(false);
});

test('what is wrong with a file is said', async () => {
  const file = await written('0.rdb', 'some bytes');
  expect(await fileProblem(directory, file)).toBeUndefined();
  writeFileSync(join(directory, '0.rdb'), 'same bytes');
  expect(await fileProblem(directory, file)).toContain('its SHA-256 differs');
  writeFileSync(join(directory, '0.rdb'), 'fewer');
  expect(await fileProblem(directory, file)).toBe('0.rdb has 5 bytes and should have 10');
  rmSync(join(directory, '0.rdb'));
  expect(await fileProblem(directory, file)).toBe('0.rdb cannot be read: ENOENT');
});

async function manifest(): Promise<Manifest> {
  const told = newManifest('0.1.0', 'abc', 1);
  const state = { group: 1, index: 2, term: 1, timeMs: 5, keys: 1, expires: 0, rdbVersion: 10 };
  const slots: [number, number] = [0, 16_383];
  const file = { partition: 0, slots, ...state, ...(await written('default/0.rdb', 'rdb')) };
  const spec = { name: 'default', partitions: 1, replicas: 3, hash: 'slots', reads: 'lease' };
  told.namespaces.push({ ...spec, tags: [], files: [file] });
  return told;
}

test('a manifest comes back as it was', async () => {
  const told = await manifest();
  await writeManifest(directory, MANIFEST, told);
  expect(await readManifest(directory)).toEqual(told);
  expect(await readManifest(directory, INCOMPLETE)).toBeUndefined();
});

test.each([
  ['half of it', (text: string) => text.slice(0, text.length / 2)],
  ['another format', (text: string) => text.replace('"format": 1', '"format": 2')],
  ['a file elsewhere', (text: string) => text.replace('default/0.rdb', '../../etc/passwd')],
  ['an absolute path', (text: string) => text.replace('default/0.rdb', '/etc/passwd')],
  ['a count that is none', (text: string) => text.replace('"keys": 1', '"keys": -1')],
])('%s is refused', async (_what, spoil) => {
  await writeManifest(directory, MANIFEST, await manifest());
  const file = join(directory, MANIFEST);
  writeFileSync(file, spoil(readFileSync(file, 'utf8')));
  await expect(readManifest(directory)).rejects.toThrow(/manifest\.json cannot be read/);
});

test('a directory without a manifest is no backup, one with a part of it is none yet', async () => {
  await expect(verifyBackup(directory, { json: true })).rejects.toThrow('it has no manifest.json');
  await writeManifest(directory, INCOMPLETE, await manifest());
  await expect(verifyBackup(directory, { json: true })).rejects.toThrow('--resume goes on');
});

/** A file with that library, and nothing else. */
function rdbOf(library: string): string {
  const size = String.fromCharCode(library.length);
  return `REDIS0010\u00fe\0\u00fb\0\0\u00f5${size}${library}\u00ff${'\0'.repeat(8)}`;
}

test('libraries of functions are counted, in the files themselves', async () => {
  const told = await manifest();
  const [file] = told.namespaces[0]!.files;
  Object.assign(file!, await written('default/0.rdb', rdbOf('#!lua name=a\nx')), { libraries: 1 });
  await writeManifest(directory, MANIFEST, told);
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await verifyBackup(directory, {});
  expect(said.mock.calls.join()).toContain(', 1 libraries of functions');
  said.mockRestore();
  file!.libraries = 2;
  await writeManifest(directory, MANIFEST, told);
  await expect(verifyBackup(directory, { json: true })).rejects.toThrow(
    'default/0.rdb has 1 libraries of functions and should have 2',
  );
});

test('a partition that the manifest does not have is missed', async () => {
  const told = await manifest();
  told.namespaces[0]!.partitions = 2;
  await writeManifest(directory, MANIFEST, told);
  await expect(verifyBackup(directory, { json: true })).rejects.toThrow(
    'default/1 is missing in the manifest',
  );
});
