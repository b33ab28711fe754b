/** What has been pending in a group for long: who reads with CLAIM is given it first (redis.io, XREADGROUP). */
import { eachPair } from '../../encoding/collections/member-walk.ts';
import { compareIds, type StreamId } from '../../encoding/records/stream-id.ts';
import { decodeIdAtEnd } from '../../encoding/records/stream-key.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { Stream } from '../../encoding/streams/stream.ts';
import { type Group, rangeOfPending } from '../../encoding/streams/stream-groups.ts';
import { decodePending, type PendingState } from '../../encoding/streams/stream-pending.ts';

/** So many are given at once: to sort twice as many is one step. */
const IDLE_MAX = 8_192;

export interface IdleEntry {
  readonly id: StreamId;
  readonly state: PendingState;
}

/**
 * Those that were last given to anybody `minIdleMs` ago or longer, the longest first, `count` of them at most. All
 * that is pending is looked at: when it was given is in no order.
 */
export function* idleEntries(
  { place }: Stream,
  group: Group,
  { minIdleMs, count }: { readonly minIdleMs: number; readonly count: number },
  nowMs: number,
): Slices<readonly IdleEntry[]> {
  if (group.pending === 0) return [];
  const most = Math.min(count, IDLE_MAX);
  const found: IdleEntry[] = [];
  const range = rangeOfPending(place, group, group.earliestId, group.furthestId);
  yield* eachPair(range, ([key, value]) => {
    const state = decodePending(key, value);
    if (nowMs - state.deliveredMs < minIdleMs) return undefined;
    found.push({ id: decodeIdAtEnd(key), state });
    if (found.length >= 2 * IDLE_MAX) keepLongest(found, most);
    return undefined;
  });
  keepLongest(found, most);
  return found;
}

function keepLongest(found: IdleEntry[], most: number): void {
  found.sort((a, b) => a.state.deliveredMs - b.state.deliveredMs || compareIds(a.id, b.id));
  if (found.length > most) found.length = most;
}
