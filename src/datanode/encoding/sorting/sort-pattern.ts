/**
 * BY and GET patterns of SORT: keys made of a pattern and an element, whose values are strings or
 * fields of hashes.
 */

import { readU64 } from '../../../common/bytes.ts';
import { holdsKey, type KeyShare } from '../../../common/hash.ts';
import { readCollection } from '../collections/collection.ts';
import { findKey } from '../keyspace/keyspace.ts';
import { elementFlags, encodeMemberKey } from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import { tags } from '../records/tags.ts';
import type { View } from '../txn/view.ts';

export type SortPattern =
  /** `#`: the element itself. */
  | { readonly kind: 'element' }
  /** Without a star: there is nothing that it names. */
  | { readonly kind: 'nothing' }
  | KeyPattern;

interface KeyPattern {
  readonly kind: 'key';
  readonly before: Buffer;
  readonly behind: Buffer;
  /** After `->`: the key is a hash. */
  readonly field: Buffer | undefined;
}

/** With the keys that can be read here. */
export interface PatternContext extends KeyShare {
  readonly nowMs: number;
}

const STAR = 0x2a;
const ARROW = '->';

export function parseSortPattern(pattern: Buffer): SortPattern {
  if (pattern.equals(Buffer.from('#'))) return { kind: 'element' };
  const star = pattern.indexOf(STAR);
  if (star === -1) return { kind: 'nothing' };
  const arrow = pattern.indexOf(ARROW, star + 1);
  const hasField = arrow !== -1 && arrow + ARROW.length < pattern.length;
  return {
    kind: 'key',
    before: pattern.subarray(0, star),
    behind: pattern.subarray(star + 1, hasField ? arrow : undefined),
    field: hasField ? pattern.subarray(arrow + ARROW.length) : undefined,
  };
}

/** What the pattern means for `element`; undefined: nothing is there; `elsewhere`: in another partition. */
export function lookUpPattern(
  view: View,
  pattern: SortPattern,
  element: Buffer,
  context: PatternContext,
): Buffer | undefined | 'elsewhere' {
  if (pattern.kind === 'element') return element;
  if (pattern.kind === 'nothing') return undefined;
  const key = keyFor(pattern, element);
  if (!holdsKey(context, key)) return 'elsewhere';
  const { nowMs } = context;
  if (pattern.field !== undefined) return readField(view, key, pattern.field, nowMs);
  const { live } = findKey(view, key, nowMs);
  return live?.type === 'string' ? live.body : undefined;
}

/** Whether what the pattern means for `element` is in another partition. */
export function isElsewhere(pattern: SortPattern, element: Buffer, share: KeyShare): boolean {
  return pattern.kind === 'key' && !holdsKey(share, keyFor(pattern, element));
}

function keyFor({ before, behind }: KeyPattern, element: Buffer): Buffer {
  return Buffer.concat([before, element, behind]);
}

const KNOWN_FLAGS = elementFlags.hasDeadline;

function readField(view: View, key: Buffer, field: Buffer, nowMs: number): Buffer | undefined {
  const hash = readCollection(view, key, 'hash', nowMs);
  if (hash === undefined || hash === 'wrong-type') return undefined;
  const at = encodeMemberKey(tags.hashField, hash.place, field);
  const value = view.get(at);
  if (value === undefined) return undefined;
  const flags = value[0] ?? 0;
  if ((flags & ~KNOWN_FLAGS) !== 0) throw corruptRecord(at, `field flags ${flags} unknown`);
  if (flags === 0) return value.subarray(1);
  return readU64(value, 1) <= nowMs ? undefined : value.subarray(9);
}
