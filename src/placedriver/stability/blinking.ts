/**
 * Nodes that are away for so short a time that they may be back before anything is decided: a lease
 * was lost while the node lived, or it restarted. What they should lead is not given to others, who
 * would have to give it back. Pure.
 */
import type { NodeId } from '../../common/ids.ts';
import type { NodeRecord, NodeStateRecord } from '../../meta/schema.ts';

/**
 * Since when each is away that was lost less than `waitMs` before `nowMs` (milliseconds of the wall
 * clock). One whose loss is not written down yet was lost just now.
 */
export function blinkingNodes(
  alive: readonly NodeRecord[],
  states: readonly NodeStateRecord[],
  nowMs: number,
  waitMs: number,
): ReadonlyMap<NodeId, number> {
  const living = new Set(alive.map(({ node }) => node));
  const blinking = new Map<NodeId, number>();
  for (const { node, lostSinceMs = nowMs } of states) {
    if (!living.has(node) && nowMs - lostSinceMs < waitMs) blinking.set(node, lostSinceMs);
  }
  return blinking;
}
