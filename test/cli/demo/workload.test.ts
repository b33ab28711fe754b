/** The load, on stores in memory: sound ones pass the checker, each kind of unsound one does not. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { check, type Found } from '../../../src/cli/demo/checker.ts';
import { Workload, type Writer } from '../../../src/cli/demo/workload.ts';
import { ownError, ReplyError } from '../../../src/sdk/errors.ts';

/** What becomes of a write: how often it is done, and what its client is told. */
interface Fate {
  readonly times: number;
  readonly error?: Error;
}

const SOUND: Fate = { times: 1 };

class Store implements Writer {
  readonly found = new Map<string, Found>();
  writes = 0;
  readonly #fate: (write: number) => Fate;

  constructor(fate: (write: number) => Fate = () => SOUND) {
    this.#fate = fate;
  }

  incr(key: string): Promise<number> {
    return this.#write(() => {
      const value = Number(this.found.get(key) ?? 0) + 1;
      this.found.set(key, String(value));
      return value;
    });
  }

  rpush(key: string, element: number): Promise<number> {
    return this.#write(() => {
      const list = [...((this.found.get(key) ?? []) as string[]), String(element)];
      this.found.set(key, list);
      return list.length;
    });
  }

  set(key: string, value: number): Promise<unknown> {
    return this.#write(() => {
      this.found.set(key, String(value));
      return 0;
    });
  }

  async #write(once: () => number): Promise<number> {
    const { times, error } = this.#fate(this.writes++);
    let answer = 0;
    for (let time = 0; time < times; time++) answer = once();
    await turn();
    if (error !== undefined) throw error;
    return answer;
  }
}

async function loaded(store: Store, writes = 600) {
  const load = new Workload({
    ...{ writers: [store], workers: 8, keys: 4, prefix: 'p' },
    kinds: ['counter', 'list', 'register'],
  });
  while (store.writes < writes) await turn();
  await load.stop();
  return { load, verdict: check(load.told, store.found), progress: load.progress() };
}

describe('the load', () => {
  test('writes all kinds of keys, and a sound store is found sound', async () => {
    const store = new Store();
    const { load, verdict, progress } = await loaded(store);
    expect(verdict).toMatchObject({ lost: 0, duplicates: 0, unexpected: 0, findings: [] });
    expect(verdict.acknowledged).toBe(store.writes);
    expect(progress).toMatchObject({ acknowledged: store.writes, errors: 0 });
    expect(load.told.map(({ key }) => key).sort()).toEqual(
      [
        ...[0, 1, 2, 3].flatMap((at) => [`p:counter:${at}`, `p:list:${at}`]),
        ...[0, 1, 2, 3, 4, 5, 6, 7].map((at) => `p:register:${at}`),
      ].sort(),
    );
  });

  test('a store that forgets some of what it acknowledged', async () => {
    const { verdict } = await loaded(new Store((at) => ({ times: at % 50 === 7 ? 0 : 1 })));
    expect(verdict.lost).toBeGreaterThan(0);
  });

  test('a store that does some writes twice', async () => {
    const { verdict } = await loaded(new Store((at) => ({ times: at % 50 === 7 ? 2 : 1 })));
    expect(verdict.duplicates).toBeGreaterThan(0);
    expect(verdict.lost).toBe(0);
  });

  test.each([0, 1])('an unknown outcome is none of them, done %i times', async (times) => {
    const error = ownError('OUTCOME_UNKNOWN', 'it may have taken effect');
    const store = new Store((at) => (at === 100 ? { times, error } : SOUND));
    const { load, verdict, progress } = await loaded(store);
    expect(verdict).toMatchObject({ lost: 0, duplicates: 0, unexpected: 0 });
    expect(progress.errors).toBe(1);
    expect(load.errorTexts).toEqual([expect.stringContaining('it may have taken effect')]);
  });

  test.each([ownError('UNAVAILABLE', 'was not carried out'), new ReplyError('WRONGTYPE of a key')])(
    'a refused write that was done all the same: $message',
    async (error) => {
      const store = new Store((at) => (at % 20 === 7 ? { times: 1, error } : SOUND));
      const { verdict, progress } = await loaded(store, 200);
      expect(verdict.duplicates + verdict.unexpected).toBeGreaterThan(0);
      expect(progress.errors).toBeGreaterThan(0);
    },
  );

  test('a write that waits counts as the longest pause before it is answered', async () => {
    let release = () => {};
    const stuck = new Promise<number>((resolve) => {
      release = () => resolve(1);
    });
    const writer: Writer = { incr: () => stuck, rpush: () => stuck, set: () => stuck };
    const kinds = ['counter'] as const;
    const load = new Workload({ writers: [writer], workers: 1, kinds, keys: 1, prefix: 'p' });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(load.progress().longestPauseMs).toBeGreaterThan(50);
    release();
    await load.stop();
    expect(load.progress()).toMatchObject({ acknowledged: 1 });
    expect(load.progress().longestPauseMs).toBeGreaterThan(50);
  });
});
