/**
 * Moves replicas and says who should lead, a few changes at a look: what follows is decided when
 * they are seen to be done. Nothing is remembered that a next master would need.
 */
import { planMoves } from '../balance/plan-moves.ts';
import { balanceView } from '../balance-view.ts';
import type { MasterTerm } from '../term.ts';
import { writeChanges } from '../wanted-changes.ts';
import type { Chore } from './chores.ts';

/** When the chore looks next, though nothing changed; milliseconds of the monotone clock. */
interface Looks {
  readonly term: MasterTerm;
  /** Changes come in crowds: the look that the first of a crowd asked for. */
  dueMs: number | undefined;
  /** What time alone changes. */
  wakeMs: number | undefined;
}

/** A timer may ring this much before its time, as the monotone clock tells it. */
const EARLY_MS = 2;
/** Nobody minds when what time changes is seen this much later. */
const LATE_MS = 100;

export function createMoves(): Chore {
  let looks: Looks | undefined;
  return async (term) => {
    const { clock, settings, picture } = term;
    if (looks?.term !== term) looks = { term, dueMs: undefined, wakeMs: undefined };
    const nowMs = clock.monotonicMs();
    if (looks.dueMs === undefined) {
      looks.dueMs = nowMs + settings.planDelayMs;
      return settings.planDelayMs;
    }
    if (nowMs < looks.dueMs - EARLY_MS) return undefined; // its timer runs
    if (picture.isBehind) return undefined; // what it waits for comes as a change
    looks.dueMs = undefined;
    const view = balanceView(picture, settings, clock.wallMs());
    await writeChanges(term, planMoves(view));
    return wake(looks, nowMs, view.changesInMs);
  };
}

/** Asks for no second timer while an earlier one runs. */
function wake(looks: Looks, nowMs: number, changesInMs: number | undefined): number | undefined {
  if (changesInMs === undefined) return undefined;
  const wakeMs = nowMs + changesInMs;
  const runs = looks.wakeMs !== undefined && looks.wakeMs > nowMs;
  if (runs && looks.wakeMs! <= wakeMs + LATE_MS) return undefined;
  looks.wakeMs = wakeMs;
  return changesInMs;
}
