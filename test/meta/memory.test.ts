import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { metaSuite } from '../conformance/meta.ts';

describe('the store in memory', () => {
  metaSuite(async () => {
    const meta = new MemoryMeta({ clock: systemClock });
    return { connect: () => meta.connect(), close: async () => {} };
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
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(lists).toEqual([0, 1]);
    await store.close();
  });
});
