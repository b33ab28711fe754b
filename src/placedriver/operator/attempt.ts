/** A request is decided anew when what it was decided on has changed meanwhile. */
import { sleep } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';
import type { MasterTerm } from '../term.ts';

const ATTEMPTS = 20;
/** Until the watch has told what another has written. */
const AGAIN_MS = 50;

/**
 * `act` resolves to whether its write was made. Throws LEASE_LOST when this placedriver is master no
 * more (with a text that ends as those which the command line waits out: `cli/admin/api`), CONFLICT
 * when the records change all the time.
 */
export async function attempt(term: MasterTerm, act: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < ATTEMPTS; count++) {
    if (term.leadership.lost.aborted) break;
    if (await act()) return;
    await sleep(term.clock, AGAIN_MS);
  }
  if (term.leadership.lost.aborted) {
    const text = 'this placedriver is master no more, and has not done it; try again';
    throw new KvorumError('LEASE_LOST', text);
  }
  throw new KvorumError('CONFLICT', 'what this would change changes all the time; try again');
}
