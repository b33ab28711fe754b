/** Optimistic locking with WATCH by many clients, while leaders are killed: no update is lost. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';

const CLIENTS = 6;
const COUNTERS = 3;
const DONE_MIN = 20;

const ended = endedAfterEach();

interface Tally {
  done: number;
  /** EXECs whose outcome the client was not told. */
  unknown: number;
  retries: number;
  /** Replies of EXEC that are not what was written. */
  readonly wrong: unknown[];
}

/** Adds one again and again: reads, then writes on condition that nobody wrote in between. */
async function count(client: Redis, keys: readonly string[], tally: Tally, running: () => boolean) {
  for (let at = 0; running(); at++) {
    const key = keys[at % keys.length]!;
    let sent = false;
    try {
      await client.watch(key);
      const value = Number(await client.get(key));
      sent = true;
      const result = await client
        .multi()
        .set(key, value + 1)
        .get(key)
        .exec();
      if (result === null) tally.retries++;
      else {
        const [failure, read] = result[1] ?? [];
        if (failure !== null || read !== String(value + 1)) tally.wrong.push(result);
        tally.done++;
      }
    } catch {
      if (sent) tally.unknown++;
      await pause(20);
    }
  }
}

test('counters that clients raise with WATCH hold every increment', async () => {
  const running = ended(await startCluster({ partitions: 4 }));
  const clients = Array.from({ length: CLIENTS }, (_, at) => {
    const port = running.gatewayPort(at % 3);
    const client = new Redis({ port, maxRetriesPerRequest: 0, retryStrategy: () => 50 });
    client.on('error', () => {});
    return client;
  });
  const keys = Array.from({ length: COUNTERS }, (_, at) => `counter:${at}`);
  const tally: Tally = { done: 0, unknown: 0, retries: 0, wrong: [] };
  let goesOn = true;
  const work = clients.map((client) => count(client, keys, tally, () => goesOn));
  for (let kill = 0; kill < scale.kills; kill++) {
    await pause(1_500);
    running.kill(`datanode${(kill % 3) + 1}`);
  }
  await pause(2_000);
  await eventually(60_000, 'some are done, and some were tried again', () => {
    return tally.done > DONE_MIN && tally.retries > 0;
  });
  goesOn = false;
  await Promise.all(work);
  const reader = new Redis({ port: running.gatewayPort(0) });
  const values = (await reader.mget(keys)).map(Number);
  reader.disconnect();
  for (const client of clients) client.disconnect();
  const total = values.reduce((sum, value) => sum + value, 0);
  process.stdout.write(`counters ${values.join(' ')}; ${JSON.stringify(tally)}\n`);
  expect(tally.wrong).toEqual([]);
  expect(tally.done).toBeGreaterThan(DONE_MIN);
  expect(tally.retries).toBeGreaterThan(0);
  expect(total).toBeGreaterThanOrEqual(tally.done);
  expect(total).toBeLessThanOrEqual(tally.done + tally.unknown);
}, 300_000);
