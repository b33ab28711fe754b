/**
 * Moves replicas and says who should lead, a few changes at a look: what follows is decided when
 * they are seen to be done. Nothing is remembered that a next master would need; since when a move
 * gets on no further it counts anew.
 */
import { limits } from '../../common/limits.ts';
import { endOfTurn, runInSlices } from '../../common/slices.ts';
import { GroupStates } from '../balance/group-states.ts';
import { planMoves } from '../balance/plan-moves.ts';
import { StallWatch } from '../balance/stalls.ts';
import { balanceView } from '../balance-view.ts';
import type { MasterTerm } from '../term.ts';
import { writeChanges } from '../wanted-changes.ts';
import type { Chore } from './chores.ts';

interface Look {
  readonly term: MasterTerm;
  readonly stalls: StallWatch;
  /** Changes come in crowds: when to plan what follows from one; milliseconds of the monotone clock. */
  dueMs: number | undefined;
  /** How long the last planning took: it is done for a part of the time only. */
  tookMs: number;
}

/** A timer may ring this much before its time, as the monotone clock tells it. */
const EARLY_MS = 2;
/** From one planning to the next, in times of what it took: large clusters are looked at less often. */
const RESTS = 4;

/**
 * Whenever it is asked it says anew when it wants to be asked next: whoever else is asked earlier
 * takes the one timer there is.
 */
export function createMoves(): Chore {
  let look: Look | undefined;
  return async (term) => {
    const { clock, settings, picture } = term;
    if (look?.term !== term) {
      look = { term, stalls: new StallWatch(settings.moveStallMs), dueMs: undefined, tookMs: 0 };
    }
    const nowMs = clock.monotonicMs();
    if (look.dueMs === undefined) {
      const delayMs = Math.max(settings.planDelayMs, RESTS * look.tookMs);
      look.dueMs = nowMs + delayMs;
      return delayMs;
    }
    const leftMs = look.dueMs - nowMs;
    if (leftMs > EARLY_MS) return leftMs;
    if (picture.isBehind) return undefined; // what it waits for comes as a change
    look.dueMs = undefined;
    return plan(look, nowMs);
  };
}

/** Resolves to the milliseconds after which time alone changes what is planned. */
async function plan(look: Look, nowMs: number): Promise<number | undefined> {
  const { term, stalls } = look;
  const { clock, settings, picture } = term;
  const { writes } = picture;
  const seen = balanceView(picture, settings, clock.wallMs());
  await endOfTurn(clock);
  const view = { ...seen, stalls: stalls.look(seen, new GroupStates(seen), nowMs) };
  await endOfTurn(clock);
  const changes = await runInSlices(planMoves(view), clock, limits.planSliceMs);
  look.tookMs = clock.monotonicMs() - nowMs;
  // an operator asked for something meanwhile, which this did not count with
  if (picture.writes !== writes) return settings.planDelayMs;
  await writeChanges(term, view.controlRevision, changes);
  return soonest(view.changesInMs, view.stalls.changesInMs);
}

function soonest(...waitsMs: readonly (number | undefined)[]): number | undefined {
  const known = waitsMs.filter((waitMs) => waitMs !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
