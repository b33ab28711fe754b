/**
 * Pages of the elements of a collection, each beginning behind a member. Elements are stored in the
 * order of their hash, so a page in that order is a short read, and one in the order of the members
 * themselves takes a walk over all of them.
 */
import { type KeyRange, type KeyValue, limited } from '../../engine/engine.ts';
import { decodeMember, ELEMENT_PREFIX_BYTES } from '../records/element-key.ts';
import { keyAfter } from '../records/key.ts';
import { memberHash } from '../records/member-hash.ts';
import type { Slices } from '../steps/slices.ts';
import type { View } from '../txn/view.ts';
import { eachSlice, type Members } from './member-walk.ts';

export interface PageRequest {
  /** Undefined: from the beginning. */
  readonly after: Buffer | undefined;
  /** From the end to the beginning. */
  readonly reverse: boolean;
  readonly count: number;
  readonly bytesMax: number;
  isWanted(member: Buffer): boolean;
}

export interface MemberPage {
  readonly elements: readonly KeyValue[];
  /** The member behind which the next page begins; undefined when there is nothing behind it. */
  readonly next: Buffer | undefined;
}

/** Of the order in which members compare as bytes. */
export function* pageByMember(
  view: View,
  members: Members,
  request: PageRequest,
): Slices<MemberPage> {
  const chosen = yield* nearest(members, request);
  const elements: KeyValue[] = [];
  let bytes = 0;
  for (const key of chosen) {
    const full = elements.length === request.count || bytes > request.bytesMax;
    if (full) return { elements, next: decodeMember(elements.at(-1)![0]) };
    const value = view.get(key);
    if (value === undefined) continue;
    elements.push([key, value]);
    bytes += key.length + value.length;
  }
  return { elements, next: undefined };
}

/** The engine keys of the next elements, one more than are asked for. */
function* nearest(members: Members, request: PageRequest): Slices<readonly Buffer[]> {
  const { after, reverse, isWanted } = request;
  const sign = reverse ? -1 : 1;
  const order = (a: Buffer, b: Buffer) => sign * Buffer.compare(a, b);
  const keep = request.count + 1;
  let best: Buffer[] = [];
  let bound: Buffer | undefined;
  const trim = () => {
    best.sort((a, b) => order(decodeMember(a), decodeMember(b)));
    best = best.slice(0, keep);
    if (best.length === keep) bound = decodeMember(best.at(-1)!);
  };
  yield* eachSlice(members.range, (pairs) => {
    for (const pair of pairs) {
      const member = decodeMember(pair[0]);
      if (after !== undefined && order(member, after) <= 0) continue;
      if (bound !== undefined && order(member, bound) >= 0) continue;
      if (!members.isLive(pair) || !isWanted(member)) continue;
      best.push(pair[0]);
      if (best.length >= 2 * keep) trim();
    }
  });
  trim();
  return best;
}

/** Of the order in which elements are stored; `count` elements are looked at, wanted or not. */
export function* pageByHash(members: Members, request: PageRequest): Slices<MemberPage> {
  const { reverse, count, bytesMax, isWanted } = request;
  let range = rangeBehind(members.range, request);
  const elements: KeyValue[] = [];
  let bytes = 0;
  let looked = 0;
  let last: Buffer | undefined;
  for (;;) {
    const pairs = yield limited(range, count - looked + 1, reverse);
    if (pairs.length === 0) return { elements, next: undefined };
    for (const pair of pairs) {
      if (looked === count || bytes > bytesMax) return { elements, next: decodeMember(last!) };
      last = pair[0];
      looked++;
      if (!members.isLive(pair) || !isWanted(decodeMember(last))) continue;
      elements.push(pair);
      bytes += last.length + pair[1].length;
    }
    range = reverse ? { ...range, lt: last! } : { ...range, gte: keyAfter(last!) };
  }
}

function rangeBehind(range: KeyRange, { after, reverse }: PageRequest): KeyRange {
  if (after === undefined) return range;
  const [high, low] = memberHash(after);
  const place = Buffer.allocUnsafe(ELEMENT_PREFIX_BYTES + 8 + after.length);
  place.set(range.gte.subarray(0, ELEMENT_PREFIX_BYTES));
  place.writeUInt32BE(high, ELEMENT_PREFIX_BYTES);
  place.writeUInt32BE(low, ELEMENT_PREFIX_BYTES + 4);
  place.set(after, ELEMENT_PREFIX_BYTES + 8);
  return reverse ? { ...range, lt: place } : { ...range, gte: keyAfter(place) };
}
