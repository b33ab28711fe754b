import { expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { attempt } from '../../../src/placedriver/operator/attempt.ts';
import type { MasterTerm } from '../../../src/placedriver/term.ts';

test('what a master that is none any more has not done may be tried again, and says so', async () => {
  const lost = new AbortController();
  const term = { clock: systemClock, leadership: { lost: lost.signal } } as unknown as MasterTerm;
  const tried = attempt(term, async () => {
    lost.abort();
    return false;
  });
  await expect(tried).rejects.toMatchObject({
    code: 'LEASE_LOST',
    message: expect.stringMatching(/is master no more, and has not done it; try again$/),
  });
});
