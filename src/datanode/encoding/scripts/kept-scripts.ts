/**
 * Scripts that a partition keeps, by the SHA-1 of their bodies (redis.io, EVALSHA): those that SCRIPT LOAD
 * loaded, until they are flushed, and the last ones that EVAL has met. They are records of the partition
 * itself: they change in the batch of the entry that changes them, are part of snapshots, and no user's
 * data: FLUSHALL leaves them. Frozen formats, all of them in system records (`sha`: 40 hex digits, `order`: 16):
 *
 *   `script:` sha         → u8 version · flags u8 (1: loaded) · bytes of the body u32 · order u64
 *   `script-body:` sha    → u8 version · body
 *   `script-order:` order → u8 version · sha; of those that are not loaded, the oldest first
 *   `scripts`             → u8 version · loaded u32 · evaluated u32 · bytes u64 · bytes of the loaded
 *                           ones u64 · first order u64 · next order u64
 */
import { ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { limits } from '../../../common/limits.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { keyAfter } from '../records/key.ts';
import { corruptRecord, unknownVersion } from '../records/record.ts';
import { systemKey } from '../records/system.ts';
import { tags } from '../records/tags.ts';
import type { Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';

const VERSION = 1;
const LOADED = 1;
const TOTALS_KEY = systemKey('scripts');
const PREFIX = Buffer.concat([Buffer.from([tags.system]), Buffer.from('script')]);
/** What one takes beside its body: three records with their keys. */
const RECORDS_BYTES = 256;
const KEPT_BYTES = 14;

/** Why a script is kept. */
export type KeptFor = 'loaded' | 'evaluated';

interface Kept {
  readonly isLoaded: boolean;
  readonly bytes: number;
  readonly order: number;
}

export interface ScriptTotals {
  readonly loaded: number;
  readonly evaluated: number;
  /** Of all of them, with what their records take. */
  readonly bytes: number;
  /** Of those that are loaded. */
  readonly loadedBytes: number;
}

interface Totals {
  loaded: number;
  evaluated: number;
  bytes: number;
  loadedBytes: number;
  /** None before it is kept. */
  firstOrder: number;
  nextOrder: number;
}

/** One of the records of this file. */
export function isScriptKey(key: Buffer): boolean {
  return key[0] === tags.system && key.subarray(0, PREFIX.length).equals(PREFIX);
}

/** `sha` in lower case, as of all of these. */
export function hasScript(view: View, sha: string): boolean {
  return readKept(view, sha) !== undefined;
}

/** Undefined: it is not kept. */
export function scriptBody(view: View, sha: string): Buffer | undefined {
  const key = bodyKey(sha);
  const record = view.get(key);
  return record && checked(key, record).subarray(1);
}

export function scriptTotals(view: View): ScriptTotals {
  return readTotals(view);
}

/**
 * Keeps it, if it is not kept already; evaluated ones go, the oldest first, where there is no room. False:
 * there is none, since those that are loaded take all of it.
 */
export function keepScript(view: WriteView, sha: string, body: Buffer, why: KeptFor): boolean {
  const known = readKept(view, sha);
  if (known !== undefined && (known.isLoaded || why === 'evaluated')) return true;
  const totals = readTotals(view);
  const bytes = body.length + RECORDS_BYTES;
  if (totals.loadedBytes + bytes > limits.scriptsBytesMax) return false;
  if (known !== undefined) forget(view, sha, known, totals);
  const most = why === 'evaluated' ? limits.scriptsEvaluatedMax - 1 : limits.scriptsEvaluatedMax;
  while (totals.evaluated > most || totals.bytes + bytes > limits.scriptsBytesMax) {
    forgetOldest(view, totals);
  }
  add(view, totals, sha, body, why);
  writeTotals(view, totals);
  return true;
}

/** None is kept any more. */
export function* flushScripts(view: WriteView): Slices<void> {
  let range = scriptRange();
  for (;;) {
    const pairs = yield range;
    if (pairs.length === 0) return;
    for (const [key] of pairs) view.del(key);
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function scriptRange(): KeyRange {
  const end = Buffer.from(PREFIX);
  end[end.length - 1]!++;
  return { gte: PREFIX, lt: end, limit: limits.rangeSlicePairs };
}

/** There is one. */
function forgetOldest(view: WriteView, totals: Totals): void {
  for (; totals.firstOrder < totals.nextOrder; totals.firstOrder++) {
    const key = orderKey(totals.firstOrder);
    const record = view.get(key);
    if (record === undefined) continue;
    const sha = checked(key, record).toString('latin1', 1);
    return forget(view, sha, readKept(view, sha)!, totals);
  }
  throw corruptRecord(TOTALS_KEY, `${totals.evaluated} scripts that are not there`);
}

function add(view: WriteView, totals: Totals, sha: string, body: Buffer, why: KeptFor): void {
  const bytes = body.length + RECORDS_BYTES;
  const order = totals.nextOrder++;
  const flags = why === 'loaded' ? LOADED : 0;
  const kept = new ByteWriter(KEPT_BYTES).u8(VERSION).u8(flags).u32(bytes).u64(order);
  view.put(keptKey(sha), kept.finish());
  view.put(bodyKey(sha), new ByteWriter(body.length + 1).u8(VERSION).raw(body).finish());
  totals.bytes += bytes;
  if (why === 'loaded') {
    totals.loaded++;
    totals.loadedBytes += bytes;
    return;
  }
  totals.evaluated++;
  view.put(orderKey(order), new ByteWriter(64).u8(VERSION).raw(Buffer.from(sha)).finish());
}

/** One that is not loaded. */
function forget(view: WriteView, sha: string, { bytes, order }: Kept, totals: Totals): void {
  view.del(keptKey(sha));
  view.del(bodyKey(sha));
  view.del(orderKey(order));
  totals.bytes -= bytes;
  totals.evaluated--;
}

function readKept(view: View, sha: string): Kept | undefined {
  const key = keptKey(sha);
  const record = view.get(key);
  if (record === undefined) return undefined;
  const reader = new ByteReader(checked(key, record), 1);
  return { isLoaded: reader.u8() === LOADED, bytes: reader.u32(), order: reader.u64() };
}

function readTotals(view: View): Totals {
  const record = view.get(TOTALS_KEY);
  if (record === undefined) {
    return { loaded: 0, evaluated: 0, bytes: 0, loadedBytes: 0, firstOrder: 0, nextOrder: 0 };
  }
  const reader = new ByteReader(checked(TOTALS_KEY, record), 1);
  const [loaded, evaluated] = [reader.u32(), reader.u32()];
  const [bytes, loadedBytes] = [reader.u64(), reader.u64()];
  return {
    loaded,
    evaluated,
    bytes,
    loadedBytes,
    firstOrder: reader.u64(),
    nextOrder: reader.u64(),
  };
}

function writeTotals(view: WriteView, totals: Totals): void {
  const { loaded, evaluated, bytes, loadedBytes, firstOrder, nextOrder } = totals;
  const writer = new ByteWriter(64).u8(VERSION).u32(loaded).u32(evaluated).u64(bytes);
  view.put(TOTALS_KEY, writer.u64(loadedBytes).u64(firstOrder).u64(nextOrder).finish());
}

function checked(key: Buffer, record: Buffer): Buffer {
  if (record[0] === VERSION) return record;
  throw unknownVersion(key, 'script', record[0], VERSION);
}

function keptKey(sha: string): Buffer {
  return systemKey(`script:${sha}`);
}

function bodyKey(sha: string): Buffer {
  return systemKey(`script-body:${sha}`);
}

function orderKey(order: number): Buffer {
  return systemKey(`script-order:${order.toString(16).padStart(16, '0')}`);
}
