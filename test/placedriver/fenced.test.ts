import { expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { limits } from '../../src/common/limits.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import type { MetaOperation, MetaStore } from '../../src/meta/store.ts';
import { writeGuarded } from '../../src/placedriver/fenced.ts';
import { hooked } from './master.ts';

test('what takes several transactions stops at the first that does not hold', async () => {
  const store = new MemoryMeta({ clock: systemClock }).connect();
  const most = limits.metaTxnOperationsMax;
  const puts = Array.from(
    { length: 3 * most },
    (_, at): MetaOperation => ({ type: 'put', key: `k/${at}`, value: `${at}` }),
  );
  let asked = 0;
  const transaction: MetaStore['transaction'] = (guard, operations) => {
    asked++;
    const never = { key: 'g', modRevision: 1 };
    return store.transaction(asked === 2 ? [...guard, never] : guard, operations);
  };
  expect(await writeGuarded(hooked(store, { transaction }), [], puts)).toBe(false);
  expect(asked).toBe(2);
  expect((await store.range('k/')).items).toHaveLength(most);
});
