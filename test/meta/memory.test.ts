import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import type { MetaOperation } from '../../src/meta/store.ts';
import { metaSuite } from '../conformance/meta.ts';
import { type BreakableStore, linkSuite } from '../conformance/meta-links.ts';

/** Its writer is at the store itself; it keeps no history, so a watch lists after each cut. */
async function breakable(): Promise<BreakableStore> {
  const meta = new MemoryMeta({ clock: systemClock });
  const linked = meta.connect();
  const commit = (...operations: MetaOperation[]) => meta.commit([], operations);
  return {
    linked,
    direct: {
      get: async (key) => meta.items.get(key),
      put: async (key, value) => commit({ type: 'put', key, value }).revision,
      delete: async (key) => commit({ type: 'delete', key }).revision,
      transaction: async (compares, operations) => meta.commit(compares, operations),
    },
    async cut() {
      meta.available = false;
    },
    mend() {
      meta.available = true;
    },
    snap() {
      meta.available = false;
      meta.available = true;
    },
    close: () => linked.close(),
  };
}

describe('the store in memory over a link that breaks', () => {
  linkSuite(breakable);
});

describe('the store in memory', () => {
  metaSuite(async () => {
    const meta = new MemoryMeta({ clock: systemClock });
    return { connect: () => meta.connect(), sharesPauses: true, close: async () => {} };
  });

  test('while it is away every call fails, and watches get a list when it is back', async () => {
    const meta = new MemoryMeta({ clock: systemClock });
    const store = meta.connect();
    const lists: number[] = [];
    store.watch('/', { onList: (items) => lists.push(items.length), onEvents: () => {} });
    await store.put('/a', '1');
    meta.available = false;
    await expect(store.get('/a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    meta.available = true;
    expect((await store.get('/a'))?.value).toBe('1');
    await expect.poll(() => lists).toEqual([0, 1]);
    await store.close();
  });
});
