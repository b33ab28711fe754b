/**
 * Moves replicas and says who should lead, a few changes at a look: what follows is decided when
 * they are seen to be done. Nothing is remembered that a next master would need.
 */
import { planMoves } from '../balance/plan-moves.ts';
import { balanceView } from '../balance-view.ts';
import type { MasterTerm } from '../term.ts';
import { writeChanges } from '../wanted-changes.ts';
import type { Chore } from './chores.ts';

interface Look {
  readonly term: MasterTerm;
  /** Changes come in crowds: when to plan what follows from one; milliseconds of the monotone clock. */
  dueMs: number | undefined;
}

/** A timer may ring this much before its time, as the monotone clock tells it. */
const EARLY_MS = 2;

/**
 * Whenever it is asked it says anew when it wants to be asked next: whoever else is asked earlier
 * takes the one timer there is.
 */
export function createMoves(): Chore {
  let look: Look | undefined;
  return async (term) => {
    const { clock, settings, picture } = term;
    if (look?.term !== term) look = { term, dueMs: undefined };
    const nowMs = clock.monotonicMs();
    if (look.dueMs === undefined) {
      look.dueMs = nowMs + settings.planDelayMs;
      return settings.planDelayMs;
    }
    const leftMs = look.dueMs - nowMs;
    if (leftMs > EARLY_MS) return leftMs;
    if (picture.isBehind) return undefined; // what it waits for comes as a change
    look.dueMs = undefined;
    const view = balanceView(picture, settings, clock.wallMs());
    await writeChanges(term, planMoves(view));
    return view.changesInMs;
  };
}
