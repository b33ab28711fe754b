/**
 * New sorted sets whose encoding only their end decides, as in Redis: built as large ones, so that
 * no −0 is lost on the way, and made small if they fit.
 */
import type { Found } from './keyspace.ts';
import type { Slices } from './slices.ts';
import type { WriteView } from './view.ts';
import { newZset, putScore, scoreOf } from './zset.ts';
import { fitsSmall, type OpenZset, setFlags, zsetFlags } from './zset-header.ts';
import { collectSpan, scoreSpan } from './zset-range.ts';

export interface Building {
  readonly zset: OpenZset;
  /** Bytes of the longest member. */
  longest: number;
}

export function beginZset(view: WriteView, found: Found): Building {
  const zset = newZset(view, found);
  setFlags(zset, zsetFlags.large);
  return { zset, longest: 0 };
}

/** Gives `member` what `combine` makes of its score so far (undefined: none). */
export function giveScore(
  view: WriteView,
  building: Building,
  member: Buffer,
  combine: (before: number | undefined) => number,
): void {
  const before = scoreOf(view, building.zset.place, member);
  putScore(view, building.zset, member, combine(before), before);
  building.longest = Math.max(building.longest, member.length);
}

/** The set as it is to be saved. */
export function* endZset(view: WriteView, { zset, longest }: Building): Slices<OpenZset> {
  if (!fitsSmall(zset, longest)) return zset;
  setFlags(zset, 0);
  const zero = { min: 0, max: 0, minOpen: false, maxOpen: false };
  const entries = yield* collectSpan(scoreSpan(zset.place, zero)!);
  for (const { member, score } of entries) {
    if (Object.is(score, -0)) putScore(view, zset, member, 0, score);
  }
  return zset;
}
