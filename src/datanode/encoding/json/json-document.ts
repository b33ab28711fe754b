/** Documents under keys: stored as JSON text without a space, read as a whole, written as a whole. */
import { limits } from '../../../common/limits.ts';
import { type Found, findKey, type Outline, storeKey } from '../keyspace/keyspace.ts';
import type { Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import { parseJson } from './json-parse.ts';
import { jsonText, type TextBounds } from './json-text.ts';
import { DEPTH_MAX, type Json, JsonError } from './json-value.ts';

interface KeptJson {
  readonly found: Found;
  /** Milliseconds since 1970; 0: none. */
  readonly deadlineMs: number;
}

export interface JsonDocument extends KeptJson {
  readonly root: Json;
}

export interface StoredJson extends KeptJson {
  /** Without a space. */
  readonly text: Buffer;
}

const STORED: TextBounds = {
  values: limits.jsonValuesMax,
  characters: limits.valueBytesMax,
  depth: DEPTH_MAX,
};

/** The live document under `key`; undefined when absent, `wrong-type` when it is something else. */
export function* readJson(
  view: View,
  key: Buffer,
  nowMs: number,
): Slices<JsonDocument | undefined | 'wrong-type'> {
  const stored = findJson(view, key, nowMs);
  if (stored === undefined || stored === 'wrong-type') return stored;
  const { found, deadlineMs, text } = stored;
  return { found, deadlineMs, root: yield* parseJson(text) };
}

/** The same, for who needs no more than its text. */
export function findJson(
  view: View,
  key: Buffer,
  nowMs: number,
): StoredJson | undefined | 'wrong-type' {
  const found = findKey(view, key, nowMs);
  const { live } = found;
  if (live === undefined) return undefined;
  if (live.type !== 'json') return 'wrong-type';
  return { found, deadlineMs: live.deadlineMs, text: live.body };
}

/** Takes the place of whatever is under the key. Throws JsonError when it is too large. */
export function* storeJson(
  view: WriteView,
  found: Outline,
  root: Json,
  deadlineMs: number,
): Slices<void> {
  storeText(view, found, yield* textOfDocument(root), deadlineMs);
}

/** As it is stored. Throws JsonError when it is too large. */
export function* textOfDocument(root: Json): Slices<Buffer> {
  const text = Buffer.from(yield* jsonText(root, STORED));
  if (text.length > limits.valueBytesMax) {
    throw new JsonError(`the document would have more than ${limits.valueBytesMax} bytes`);
  }
  return text;
}

/** `text`: what `textOfDocument` has made. */
export function storeText(view: WriteView, found: Outline, text: Buffer, deadlineMs: number): void {
  storeKey(view, found, { type: 'json', deadlineMs, origin: 'set', body: text });
}
