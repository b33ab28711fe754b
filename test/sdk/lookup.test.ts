/** When the table is looked up, and for whom. */
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { Client, type ClientChange } from '../../src/sdk/index.ts';
import { Lookup } from '../../src/sdk/lookup.ts';
import type { TableContent } from '../../src/sdk/table.ts';
import { SimClock } from '../sim/clock.ts';
import { Scheduler } from '../sim/scheduler.ts';
import { scriptedPlacedriver } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const content: TableContent = { epoch: 1, hash: 'slots', nodes: [], partitions: [], groups: true };

/** Looks up every second, and at least 50 ms apart; the table is there at once. */
function scene(onFetch: (elsewhere: boolean) => void, failed: () => void = () => {}) {
  const random = seededRandom(1);
  const scheduler = new Scheduler(random);
  const lookup = new Lookup({
    source: {
      fetch: async (epoch, _signal, elsewhere) => {
        onFetch(elsewhere);
        return epoch === undefined ? content : undefined;
      },
    },
    clock: new SimClock(scheduler),
    random,
    ...{ intervalMs: 1_000, restMs: 50 },
    changed: async () => {},
    failed,
  });
  const pass = (ms: number) => scheduler.run(scheduler.nowMs + ms);
  return { lookup, pass };
}

test('whoever asks while there is a table has it looked up elsewhere, once', async () => {
  const asked: boolean[] = [];
  const { lookup, pass } = scene((elsewhere) => void asked.push(elsewhere));
  lookup.refresh();
  await pass(10);
  expect(asked).toEqual([false]);
  await pass(1_300);
  lookup.refresh();
  await pass(60);
  expect(asked).toEqual([false, false, true]);
  await pass(1_300);
  expect(asked).toEqual([false, false, true, false]);
  await lookup.stop();
});

test('without a first table it is looked up less and less often, whoever asks', async () => {
  let isThere = false;
  const asked: number[] = [];
  const { lookup, pass } = scene(() => {
    asked.push(0);
    if (!isThere) throw new Error('nobody is there');
  });
  const lookupsIn = async (ms: number) => {
    asked.length = 0;
    for (let passed = 0; passed < ms; passed += 10) {
      lookup.refresh();
      await pass(10);
    }
    return asked.length;
  };
  // at 0, 50, 150, 350, 750, 1,550 and then every 1,000 ms, each give or take a fifth
  const first = await lookupsIn(1_500);
  expect(first).toBeGreaterThanOrEqual(5);
  expect(first).toBeLessThanOrEqual(6);
  expect(await lookupsIn(10_000)).toBeLessThanOrEqual(13);
  isThere = true;
  await pass(1_300);
  expect(lookup.table).toBeDefined();
  expect(await lookupsIn(1_000)).toBeGreaterThan(10);
  await lookup.stop();
});

/** What nobody catches in this process, for the time of a test. */
function uncaught(): unknown[] {
  const seen: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => seen.push(reason));
  ends.push(() => {
    process.removeAllListeners('unhandledRejection');
    for (const other of others) process.on('unhandledRejection', other);
  });
  return seen;
}

test('a listener that throws ends neither the lookups nor the closing of the client', async () => {
  const seen = uncaught();
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'n0', port: 1 }],
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  });
  let away = true;
  const client = new Client(
    { placedrivers: ['p:1'], lazyConnect: true },
    {
      get: async (...asked) => {
        if (away) throw new Error('nobody is there');
        return driver.get(...asked);
      },
    },
  );
  const bug = new Error('a bug of the application');
  client.once('error', () => {
    away = false;
    throw bug;
  });
  const ready = once(client, 'ready');
  client.connect().catch(() => {});
  await ready;
  await client.close();
  expect(seen).toEqual([bug]);
});

test('a listener of what changes that throws is heard of, and keeps no client from being ready', async () => {
  for (const event of ['change', '+node', 'ready'] as const) {
    const seen = uncaught();
    const driver = scriptedPlacedriver({
      epoch: 1,
      nodes: [{ name: 'n0', port: 1 }],
      partitions: [{ leader: 'n0', replicas: ['n0'] }],
    });
    const options = { placedrivers: ['p:1'], lazyConnect: true };
    const client = new Client(options, { get: driver.get });
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    const ready = once(client, 'ready');
    const bug = new Error(`a bug of the application at ${event}`);
    const thrower = (change?: unknown) => {
      if (event === 'change' && (change as ClientChange).kind !== 'table') return;
      client.off(event, thrower);
      throw bug;
    };
    client.on(event, thrower);
    client.connect().catch(() => {});
    await ready;
    expect(client.status, event).toBe('ready');
    await client.close();
    await setImmediate();
    expect(seen, event).toEqual([bug]);
    expect(errors).toEqual([]);
    await ends.pop()!();
  }
});

test('stopped from a listener that throws, it resolves', async () => {
  const seen = uncaught();
  const bug = new Error('a bug of the application');
  const { lookup, pass } = scene(
    () => {
      throw new Error('nobody is there');
    },
    () => {
      stopped = lookup.stop();
      throw bug;
    },
  );
  let stopped: Promise<void> | undefined;
  lookup.refresh();
  await pass(10);
  await stopped;
  expect(seen).toEqual([bug]);
});
