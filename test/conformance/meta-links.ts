/** Watches and leases over a link that breaks: nothing is lost, nothing is told twice. */
import { expect, test } from 'vitest';
import type { MetaStore } from '../../src/meta/store.ts';
import { scale } from '../scale.ts';
import { Ledger } from './meta-ledger.ts';

/** A store with one client behind a link, and one that is always connected. */
export interface BreakableStore {
  readonly linked: MetaStore;
  readonly direct: Pick<MetaStore, 'put' | 'delete' | 'transaction' | 'get'>;
  cut(): Promise<void>;
  mend(): void;
  /** Breaks the connections of now. */
  snap(): void;
  /** Absent: the store keeps no history, and its watches list again after each cut. */
  readonly history?: {
    compact(revision: number): Promise<void>;
    snapAfter(bytes: number, then: () => void): void;
  };
  close(): Promise<void>;
}

/** How long a cut amid events is waited for. */
const AMID_EVENTS_MS = 60_000;
const CUT_EVERY_MS = 120;
/** Changes under way together: so that cuts come amid the events that tell of them. */
const AT_ONCE = 16;
/** More than one response of a replay, so that each connection gets further. */
const REPLAY_CUT_BYTES = 1_300_000;

async function setUp(open: () => Promise<BreakableStore>) {
  const store = await open();
  const ledger = new Ledger();
  ledger.watch(store.linked, '/w/');
  await expect.poll(() => ledger.lists).toBe(1);
  const put = async (key: string, value: string) => {
    ledger.wrote(key, await store.direct.put(key, value));
  };
  /** Every fifth change is one of three keys at once, every seventh a deletion. */
  const change = async (at: number, padding = '') => {
    const key = `/w/${at % 50}`;
    if (at % 5 === 0) {
      const trio = [key, `${key}/a`, `${key}/b`];
      const puts = trio.map((each) => ({ type: 'put', key: each, value: `${at}` }) as const);
      const { revision } = await store.direct.transaction([], puts);
      for (const each of trio) ledger.wrote(each, revision);
    } else if (at % 7 === 0) {
      await put(`/w/gone-${at}`, 'x');
      ledger.wrote(`/w/gone-${at}`, await store.direct.delete(`/w/gone-${at}`));
    } else {
      await put(key, `${at}${padding}`);
    }
  };
  /** A last change; when it is told, so is everything before it, or it is lost. */
  const finish = async () => {
    await put('/w/last', 'end');
    await expect.poll(() => ledger.state.get('/w/last')).toBe('end');
  };
  return { store, ledger, put, change, finish };
}

export function linkSuite(open: () => Promise<BreakableStore>): void {
  test('changes made while the link was cut are told after it, each once', async () => {
    const { store, ledger, change, finish } = await setUp(open);
    await store.cut();
    for (let at = 0; at < 40; at++) await change(at);
    store.mend();
    await finish();
    expect([ledger.lost(), ledger.twice]).toEqual([[], 0]);
    if (store.history) expect(ledger.lists).toBe(1);
    await store.close();
  });

  test(
    'a link cut every 120 ms under a stream of changes: 0 lost, 0 twice',
    async () => {
      const { store, ledger, change, finish } = await setUp(open);
      let cuts = 0;
      /** Cuts that came after some events, and before those of changes that were under way. */
      let between = 0;
      let underWay = 0;
      let told = 0;
      const until = performance.now() + AMID_EVENTS_MS;
      const cutting = setInterval(() => {
        // a slow machine is not back in 120 ms each time: it is waited for when the count is full
        if (cuts >= scale.metaCuts && ledger.told === told) return;
        cuts++;
        if (ledger.told > told && (underWay > 0 || ledger.told < ledger.written)) between++;
        told = ledger.told;
        store.snap();
      }, CUT_EVERY_MS);
      try {
        const enough = () => cuts >= scale.metaCuts && (between > 0 || performance.now() > until);
        for (let at = 0; !enough(); at += AT_ONCE) {
          underWay = AT_ONCE;
          const changes = Array.from({ length: AT_ONCE }, (_, more) => change(at + more));
          await Promise.all(changes.map((one) => one.then(() => underWay--)));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      } finally {
        clearInterval(cutting);
      }
      await finish();
      process.stdout.write(
        `${cuts} cuts, ${between} of them amid events; ${ledger.written} changes, ` +
          `${ledger.told} told, ${ledger.lists} lists\n`,
      );
      expect([ledger.lost(), ledger.twice]).toEqual([[], 0]);
      if (store.history) {
        expect(ledger.lists).toBe(1);
        expect(ledger.told).toBe(ledger.written);
        expect(between).toBeGreaterThan(0);
      }
      await store.close();
    },
    scale.metaCuts * 1_000 + 2 * AMID_EVENTS_MS,
  );
}

/** For stores that keep a history: a watch that was away replays it. */
export function replaySuite(open: () => Promise<BreakableStore>): void {
  test('a link cut in the middle of a replay, again and again: 0 lost, 0 twice', async () => {
    const { store, ledger, change, finish } = await setUp(open);
    const padding = 'v'.repeat(900);
    await store.cut();
    for (let from = 0; from < 6_000; from += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, at) => change(from + at, padding)));
    }
    const amid: number[] = [];
    const arm = () =>
      store.history?.snapAfter(REPLAY_CUT_BYTES, () => {
        amid.push(ledger.told);
        arm();
      });
    arm();
    store.mend();
    await finish();
    process.stdout.write(`replay of ${ledger.written} cut after ${amid.join(', ')} events\n`);
    expect(amid.filter((told) => told > 0 && told < ledger.written).length).toBeGreaterThan(1);
    expect([ledger.lost(), ledger.twice]).toEqual([[], 0]);
    expect(ledger.lists).toBe(1);
    expect(ledger.told).toBe(ledger.written);
    await store.close();
  });

  test('when the gap has been compacted meanwhile, the watch lists anew', async () => {
    const { store, ledger, put, change, finish } = await setUp(open);
    await put('/w/old', 'x');
    await expect.poll(() => ledger.state.get('/w/old')).toBe('x');
    await store.cut();
    for (let at = 0; at < 20; at++) await change(at);
    const revision = await store.direct.delete('/w/old');
    ledger.wrote('/w/old', revision);
    await store.history?.compact(revision);
    store.mend();
    await expect.poll(() => ledger.lists).toBe(2);
    await finish();
    expect(ledger.state.has('/w/old')).toBe(false);
    expect(ledger.state.get('/w/19')).toBe('19');
    expect([ledger.lost(), ledger.twice]).toEqual([[], 0]);
    await store.close();
  });

  test('a lease that cannot be renewed is lost to its holder before the store ends it', async () => {
    const { store } = await setUp(open);
    const lease = await store.linked.grantLease(2_000);
    await store.linked.put('/held', 'x', lease);
    let lostMs = 0;
    lease.lost.addEventListener('abort', () => {
      lostMs = performance.now();
    });
    await store.cut();
    let knew: boolean | undefined;
    const held = async () => {
      const item = await store.direct.get('/held').catch(() => 'not answered');
      // asked at once: a process that gets little time may not have run the timer yet
      if (item === undefined) knew ??= lease.lost.aborted;
      return item;
    };
    await expect.poll(held, { interval: 10 }).toBeUndefined();
    const endedMs = performance.now();
    expect(knew).toBe(true);
    process.stdout.write(`lost ${(endedMs - lostMs).toFixed(0)} ms before the key went\n`);
    await store.close();
  });
}
