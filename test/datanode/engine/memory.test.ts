import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import { engineConformance, key, put, readAll } from '../../conformance/engine.ts';

describe('the memory engine', () => {
  engineConformance(async () => {
    const host = createMemoryHost();
    return { host, reopen: () => host, dispose: async () => {} };
  });
});

describe('a crash of memory engines', () => {
  const countAfterCrash = async (seed: number, kind?: 'power' | 'process') => {
    const host = createMemoryHost();
    const { engine } = await host.open('1-1');
    for (let i = 0; i < 20; i++) {
      await engine.write([put(`k${i + 10}`, 'x'), put('last', String(i))]);
      if (i === 9) await engine.sync();
    }
    host.crash(seededRandom(seed), kind);
    const { engine: after, report } = await host.open('1-1');
    const pairs = await readAll(after);
    const last = Number(after.getSync(key('last')));
    expect(pairs).toHaveLength(last + 2); // a prefix of the batches, nothing from their middle
    expect(report.cutBytes > 0).toBe(last < 19);
    return last;
  };

  test('loses un-synced batches from the end only, and none that were synced', async () => {
    const lasts: number[] = [];
    for (let seed = 0; seed < 60; seed++) lasts.push(await countAfterCrash(seed));
    expect(Math.min(...lasts)).toBe(9);
    expect(Math.max(...lasts)).toBe(19);
    expect(new Set(lasts).size).toBeGreaterThan(6);
  });

  test('of the process alone loses nothing that was written', async () => {
    expect(await countAfterCrash(1, 'process')).toBe(19);
  });

  test('is the same for the same seed', async () => {
    for (let seed = 0; seed < 10; seed++) {
      expect(await countAfterCrash(seed)).toBe(await countAfterCrash(seed));
    }
  });

  test('leaves the old engine without effect on the new one', async () => {
    const host = createMemoryHost();
    const { engine: old } = await host.open('1-1');
    await old.write([put('a', '1')]);
    await old.sync();
    let settled = false;
    const inFlight = old.write([put('a', '2')]).finally(() => {
      settled = true;
    });
    host.crash(seededRandom(1));
    void old.write([put('a', '3')]).finally(() => {
      settled = true;
    });
    void inFlight;
    const { engine } = await host.open('1-1');
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    expect(engine.getSync(key('a'))).toEqual(key('1'));
    expect(settled).toBe(false);
  });

  test('cannot undo what was synced while writes went on', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const host = createMemoryHost();
      const { engine } = await host.open('1-1');
      void engine.write([put('a', '1')]);
      const synced = engine.sync();
      void engine.write([put('a', '2')]);
      await synced;
      host.crash(seededRandom(seed));
      const { engine: after } = await host.open('1-1');
      expect(['1', '2']).toContain(String(after.getSync(key('a'))));
    }
  });
});

test('operations of a memory engine end when the clock says so', async () => {
  const timers: { at: number; run: () => void }[] = [];
  const clock = {
    monotonicMs: () => 0,
    wallMs: () => 0,
    setTimer: (at: number, run: () => void) => {
      timers.push({ at, run });
      return { cancel() {} };
    },
    endOfTurn: () => {},
  };
  const host = createMemoryHost({ clock, latencyMs: (what) => (what === 'sync' ? 5 : 1) });
  const opening = host.open('1-1');
  await Promise.resolve();
  timers.shift()?.run();
  const { engine } = await opening;
  const writing = engine.write([put('a', '1')]);
  await Promise.resolve();
  expect(engine.getSync(key('a'))).toBeUndefined();
  expect(timers.map((timer) => timer.at)).toEqual([1]);
  timers.shift()?.run();
  await writing;
  expect(engine.getSync(key('a'))).toEqual(key('1'));
});

test('after a disk failure an engine takes no further write', async () => {
  const host = createMemoryHost();
  const { engine } = await host.open('1-1');
  await engine.write([put('a', '1')]);
  host.failDisk('1-1');
  expect(await engine.write([put('a', '2')]).catch(codeOf)).toBe('DISK_FAILED');
  expect(await engine.sync().catch(codeOf)).toBe('DISK_FAILED');
  expect(engine.getSync(key('a'))).toEqual(key('1'));
});
