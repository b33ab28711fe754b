/**
 * Libraries of functions that a partition keeps (redis.io, Redis functions), by their names, as scripts are
 * kept: records of the partition itself, which FLUSHALL leaves. Frozen formats, all of them in system records;
 * names have letters, digits and `_`:
 *
 *   `function-library:` name → u8 version · SHA-1 of the code 20 · bytes of the code u32 · functions u32, each:
 *                              name · u8 flags (`functionFlags`) · u8 1: described · description; texts: u32
 *                              length, bytes
 *   `function-code:` name    → u8 version · code
 *   `function-name:` name    → u8 version · u8 flags · SHA-1 of the code 20 · name · name of its library; the key
 *                              in lower case, since names of functions do not tell cases apart
 *   `functions`              → u8 version · libraries u32 · functions u32 · bytes u64
 */
import { ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { limits } from '../../../common/limits.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { keyAfter } from '../records/key.ts';
import { unknownVersion } from '../records/record.ts';
import { systemKey } from '../records/system.ts';
import { tags } from '../records/tags.ts';
import { eachItem, type Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';

const VERSION = 1;
const TOTALS_KEY = systemKey('functions');
const SHA_BYTES = 20;
const PREFIX = Buffer.concat([Buffer.from([tags.system]), Buffer.from('function')]);
const LIBRARY_PREFIX = systemKey('function-library:');
const CODE_PREFIX = systemKey('function-code:');
const NAME = /^\w+$/;
/** What a library, and a function, take beside their texts: records with their keys. */
const RECORDS_BYTES = 256;

/** Bits of the flags that a function is registered with, by the names that Redis gives them. */
export const functionFlags = {
  'no-writes': 1,
  'allow-oom': 2,
  'allow-stale': 4,
  'no-cluster': 8,
  'allow-cross-slot-keys': 16,
} as const;

export interface RegisteredFunction {
  readonly name: string;
  readonly flags: number;
  readonly description: Buffer | undefined;
}

export interface KeptLibrary {
  readonly name: string;
  /** Of its code, in lower case. */
  readonly sha: string;
  readonly codeBytes: number;
  readonly functions: readonly RegisteredFunction[];
}

/** Where a function is, and what it is known for without a look into its library. */
export interface KeptFunction {
  /** As it was registered. */
  readonly name: string;
  readonly library: string;
  readonly sha: string;
  readonly flags: number;
}

export interface LibraryTotals {
  readonly libraries: number;
  readonly functions: number;
  /** With what their records take. */
  readonly bytes: number;
}

/** Whether a library or a function may have this name. */
export function isFunctionName(name: string): boolean {
  return NAME.test(name) && name.length <= limits.libraryNameBytesMax;
}

/** One of the records of this file. */
export function isFunctionKey(key: Buffer): boolean {
  return key[0] === tags.system && key.subarray(0, PREFIX.length).equals(PREFIX);
}

/** Any name, as of all of these; undefined: there is none. */
export function libraryNamed(view: View, name: string): KeptLibrary | undefined {
  if (!isFunctionName(name)) return undefined;
  const key = libraryKey(name);
  const record = view.get(key);
  return record && decodeLibrary(key, record);
}

export function libraryCode(view: View, name: string): Buffer | undefined {
  const key = codeKey(name);
  const record = view.get(key);
  return record && checked(key, record).subarray(1);
}

export function functionNamed(view: View, name: string): KeptFunction | undefined {
  if (!isFunctionName(name)) return undefined;
  const key = nameKey(name);
  const record = view.get(key);
  if (record === undefined) return undefined;
  const reader = new ByteReader(checked(key, record), 1);
  const flags = reader.u8();
  const sha = reader.raw(SHA_BYTES).toString('hex');
  const [own, library] = [reader.bytes(), reader.bytes()];
  return { name: own.toString('latin1'), flags, sha, library: library.toString('latin1') };
}

export function libraryTotals(view: View): LibraryTotals {
  const record = view.get(TOTALS_KEY);
  if (record === undefined) return { libraries: 0, functions: 0, bytes: 0 };
  const reader = new ByteReader(checked(TOTALS_KEY, record), 1);
  return { libraries: reader.u32(), functions: reader.u32(), bytes: reader.u64() };
}

/** What a library counts for. */
export function libraryBytes({ functions, codeBytes }: KeptLibrary): number {
  let bytes = RECORDS_BYTES + codeBytes;
  for (const { name, description } of functions) {
    bytes += RECORDS_BYTES + name.length + (description?.length ?? 0);
  }
  return bytes;
}

/** There is none of its name, and none has a function of a name that one of its has. */
export function* keepLibrary(view: WriteView, library: KeptLibrary, code: Buffer): Slices<void> {
  const { name, sha, functions } = library;
  const ofCode = Buffer.from(sha, 'hex');
  view.put(libraryKey(name), encodeLibrary(library));
  view.put(codeKey(name), new ByteWriter(code.length + 1).u8(VERSION).raw(code).finish());
  yield* eachItem(functions, ({ name: own, flags }) => {
    const record = new ByteWriter(64).u8(VERSION).u8(flags).raw(ofCode);
    view.put(nameKey(own), record.bytes(Buffer.from(own)).bytes(Buffer.from(name)).finish());
  });
  count(view, 1, library);
}

/** Answers whether there was one. */
export function* removeLibrary(view: WriteView, name: string): Slices<boolean> {
  if (!isFunctionName(name)) return false;
  const key = libraryKey(name);
  const record = view.get(key);
  if (record === undefined) return false;
  const library = decodeLibrary(key, record);
  view.del(key);
  view.del(codeKey(name));
  yield* eachItem(library.functions, ({ name: own }) => view.del(nameKey(own)));
  count(view, -1, library);
  return true;
}

/** By their names. */
export function allLibraries(take: (library: KeptLibrary) => void): Slices<void> {
  return eachRecord(LIBRARY_PREFIX, (key, record) => take(decodeLibrary(key, record)));
}

/** By their names; asks for nothing but ranges. */
export function codesOfLibraries(take: (code: Buffer) => void): Slices<void> {
  return eachRecord(CODE_PREFIX, (key, record) => take(checked(key, record).subarray(1)));
}

function* eachRecord(prefix: Buffer, take: (key: Buffer, record: Buffer) => void): Slices<void> {
  for (let range = rangeOf(prefix); ; ) {
    const pairs = yield range;
    if (pairs.length === 0) return;
    for (const [key, record] of pairs) take(key, record);
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** None is kept any more. */
export function* flushLibraries(view: WriteView): Slices<void> {
  for (let range = rangeOf(PREFIX); ; ) {
    const pairs = yield range;
    if (pairs.length === 0) return;
    for (const [key] of pairs) view.del(key);
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function rangeOf(prefix: Buffer): KeyRange {
  const end = Buffer.from(prefix);
  end[end.length - 1]!++;
  return { gte: prefix, lt: end, limit: limits.rangeSlicePairs };
}

function count(view: WriteView, sign: 1 | -1, library: KeptLibrary): void {
  const { libraries, functions, bytes } = libraryTotals(view);
  const writer = new ByteWriter(32)
    .u8(VERSION)
    .u32(libraries + sign)
    .u32(functions + sign * library.functions.length)
    .u64(bytes + sign * libraryBytes(library));
  view.put(TOTALS_KEY, writer.finish());
}

function encodeLibrary({ sha, codeBytes, functions }: KeptLibrary): Buffer {
  const writer = new ByteWriter(256).u8(VERSION).raw(Buffer.from(sha, 'hex')).u32(codeBytes);
  writer.u32(functions.length);
  for (const { name, flags, description } of functions) {
    writer
      .bytes(Buffer.from(name))
      .u8(flags)
      .u8(description === undefined ? 0 : 1);
    if (description !== undefined) writer.bytes(description);
  }
  return writer.finish();
}

function decodeLibrary(key: Buffer, record: Buffer): KeptLibrary {
  const reader = new ByteReader(checked(key, record), 1);
  const sha = reader.raw(SHA_BYTES).toString('hex');
  const codeBytes = reader.u32();
  const functions: RegisteredFunction[] = [];
  for (let left = reader.u32(); left > 0; left--) {
    const name = reader.bytes().toString('latin1');
    const flags = reader.u8();
    const description = reader.u8() === 0 ? undefined : reader.bytes();
    functions.push({ name, flags, description });
  }
  const name = key.toString('latin1', LIBRARY_PREFIX.length);
  return { name, sha, codeBytes, functions };
}

function checked(key: Buffer, record: Buffer): Buffer {
  if (record[0] === VERSION) return record;
  throw unknownVersion(key, 'function', record[0], VERSION);
}

function libraryKey(name: string): Buffer {
  return systemKey(`function-library:${name}`);
}

function codeKey(name: string): Buffer {
  return systemKey(`function-code:${name}`);
}

function nameKey(name: string): Buffer {
  return systemKey(`function-name:${name.toLowerCase()}`);
}
