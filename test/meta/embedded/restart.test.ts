/** What a life before this one has left with the system alone, and what becomes of it. */
import { beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { contentsOf, DIR, put, StoreLife } from './store-life.ts';

test.each([
  [
    'a batch',
    async (life: StoreLife) => {
      const store = await life.open();
      await life.put(store, '/a', '1');
      life.disk.failNext('fdatasync');
      await expect(life.put(store, '/b', '2')).rejects.toThrow('EIO');
    },
  ],
  [
    'a mark',
    async (life: StoreLife) => {
      const store = await life.open();
      await life.put(store, '/a', '1');
      life.disk.failNext('fdatasync');
      await life.pass(100);
      expect(life.failures).toHaveLength(1);
    },
  ],
])('%s whose sync failed costs nothing that is answered after a restart', async (_, fail) => {
  for (let seed = 0; seed < 10; seed++) {
    const life = new StoreLife(`failed sync ${seed}`);
    await fail(life);
    life.crash('process');
    const store = await life.open();
    const shown = contentsOf(store);
    await life.put(store, '/c', '3');
    life.crash('os');
    const again = await life.open();
    expect(contentsOf(again), `seed ${seed}`).toEqual({ ...shown, '/c': '3' });
    await life.until(again.close());
  }
});

test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])(
  'where the log cannot be written anew for %s, what it holds is there',
  async (code) => {
    const life = new StoreLife(code);
    const store = await life.open();
    await life.put(store, '/a', '1');
    await life.until(store.close());
    life.disk.failNext('pwrite', { code, path: `${DIR}/log-1.tmp` });
    const again = await life.open();
    expect(contentsOf(again)).toEqual({ '/a': '1' });
    expect(await life.names()).toEqual(['log-1', 'snapshot-1']);
    // nothing but the log that was to be was lacking
    await life.put(again, '/b', '2');
    await life.until(again.close());
  },
);

describe('a process that was killed when a snapshot had its name, and that was not synced', () => {
  const killed = async (files: ReadonlyMap<string, Buffer>, seed: number) => {
    const life = new StoreLife(`killed ${seed}`);
    life.disk.putBack(files);
    const store = await life.open();
    put(store, '/b', 'rotates').catch(() => {});
    while (!life.disk.files().some(({ path }) => path.endsWith('/snapshot-2')))
      await life.pass(0.05);
    life.crash('process');
    return life;
  };
  let files: ReadonlyMap<string, Buffer>;

  beforeAll(async () => {
    const value = Buffer.alloc(limits.metaValueBytesMax - 1, 'v');
    const life = new StoreLife('full');
    const full = await life.open();
    while ((await life.bytesOf('log-1')).length < limits.metaLogBytes) {
      await life.put(full, '/a', value);
    }
    await life.until(full.close());
    files = life.disk.copy();
  });

  test('costs nothing that is answered after its restart', async () => {
    for (let seed = 0; seed < 3; seed++) {
      const life = await killed(files, seed);
      const store = await life.open();
      await life.put(store, '/c', 'answered');
      life.crash('os');
      const again = await life.open();
      expect(contentsOf(again)['/c'], `seed ${seed}`).toBe('answered');
      await life.until(again.close());
    }
  });

  test('costs nothing when the power goes while it is started again', async () => {
    for (let seed = 8; seed < 11; seed++) {
      const life = await killed(files, seed);
      life.open().catch(() => {});
      while (life.disk.files().some(({ path }) => path.endsWith('/snapshot-1')))
        await life.pass(0.05);
      life.crash('os');
      const again = await life.open();
      expect(contentsOf(again), `seed ${seed}`).toHaveProperty('/a');
      await life.until(again.close());
    }
  });
});
