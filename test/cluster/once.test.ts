/**
 * Writes that may not take effect twice, through the gateway of a node that lives, while the nodes
 * that lead are killed: nobody is told that an outcome is not known, nothing is done twice or lost.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { eventually, startCluster, type TestCluster } from './cluster.ts';
import { connect } from './load.ts';

const WORKERS = 8;
const KILLS_MAX = scale.kills + 9;
const PARTITIONS = 4;
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: PARTITIONS });
}, 300_000);

afterAll(() => cluster?.destroy(), 300_000);

interface Worker {
  readonly client: Redis;
  readonly name: string;
  /** INCRs, pushes and transactions that were answered. */
  count: number;
}

/** The places that the connection's last commands have left (DEBUG WITNESS TAKE), as objects. */
async function taken(client: Redis): Promise<Record<string, number>[]> {
  const places = (await client.call('DEBUG', 'WITNESS', 'TAKE')) as (string | number)[][];
  return places.map((flat) =>
    Object.fromEntries(
      Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at]!, Number(flat[2 * at + 1])]),
    ),
  );
}

test('DEBUG WITNESS tells the entries of what is led here and of what is forwarded', async () => {
  const [client, other] = [connect(cluster.gatewayPort(0)), connect(cluster.gatewayPort(1))];
  try {
    for (const one of [client, other]) expect(await one.call('DEBUG', 'WITNESS', 'ON')).toBe('OK');
    const { partitions } = await cluster.status();
    expect(new Set(partitions.map(({ leader }) => leader)).size).toBeGreaterThan(1);
    const groups = new Set<number>();
    for (let key = 0; key < 24; key++) {
      const name = `place${key}`;
      await client.set(name, '1');
      const [set] = await taken(client);
      expect(await other.get(name)).toBe('1');
      const [get] = await taken(other);
      await other.multi().incr(name).get(name).exec();
      const [exec] = await taken(other);
      groups.add(set!['group']!);
      expect([get!['group'], exec!['group']]).toEqual([set!['group'], set!['group']]);
      expect(set).toMatchObject({ 'up-to': set!['index'] });
      expect(get!['index']).toBeGreaterThanOrEqual(set!['index']!);
      expect(get!['at']).toBe(-1);
      expect(exec!['index']).toBeGreaterThan(get!['index']!);
      expect(exec!['term']).toBeGreaterThanOrEqual(set!['term']!);
    }
    expect(groups.size).toBe(PARTITIONS);
    await client.mset(Array.from({ length: 48 }, (_, at) => `place${at >> 1}`));
    expect((await taken(client)).length).toBe(PARTITIONS);
    expect(await taken(client)).toEqual([]);
  } finally {
    client.disconnect();
    other.disconnect();
  }
});

const errors: string[] = [];

/** One turn: a counter, a list and a transaction over both; the replies tell if one came twice. */
async function work(worker: Worker): Promise<void> {
  const { client, name } = worker;
  const next = worker.count + 1;
  const wrong = (what: string, reply: unknown) => errors.push(`${name} ${what}: ${String(reply)}`);
  const counted = await client.incr(`${name}:count`);
  if (counted !== next) wrong(`INCR of ${next}`, counted);
  const pushed = await client.rpush(`${name}:list`, String(next));
  if (pushed !== next) wrong(`RPUSH of ${next}`, pushed);
  const pairs = [0, 1, 2, 3].flatMap((at) => [`${name}:${at}`, String(next)]);
  if ((await client.mset(pairs)) !== 'OK') wrong('MSET', 'not OK');
  const done = await client.multi().incr(`{${name}}:a`).rpush(`{${name}}:b`, next).exec();
  const replies = done?.map(([failure, reply]) => (failure ? failure.message : reply));
  if (replies?.join(' ') !== `${next} ${next}`) wrong(`EXEC of ${next}`, replies);
  worker.count = next;
}

test(
  'killed leaders leave no outcome unknown at the gateways of others',
  async () => {
    let running = true;
    const workers = Array.from({ length: WORKERS }, (_, at): Worker => {
      const client = connect(cluster.gatewayPort(0));
      return { client, name: `worker${at}`, count: 0 };
    });
    const drive = async (worker: Worker) => {
      while (running) {
        await work(worker).catch((failure: Error) => {
          errors.push(`${worker.name}: ${failure.message}`);
          running = false;
        });
      }
    };
    const driven = workers.map(drive);
    // By INFO of the gateway: batches that a killed leader left open and that were asked for again.
    const repeatedBatches = async () => {
      const text = await workers[0]!.client.info('kvorum');
      return Number(/total_repeated_batches:(\d+)/.exec(text)?.[1]);
    };
    let repeated = 0;
    let kills = 0;
    // a leader may be killed at a moment at which it has answered everything: then another one is
    for (; running && (kills < scale.kills || (repeated === 0 && kills < KILLS_MAX)); kills++) {
      await pause(700);
      const { partitions } = await cluster.status();
      const leaders = partitions.map(({ leader }) => leader).filter((name) => name !== 'datanode1');
      const victim = leaders[kills % leaders.length] ?? 'datanode2';
      cluster.kill(victim!);
      await pause(300);
      await eventually(60_000, `${victim} is back`, async () => {
        const now = (await cluster.status()).partitions;
        const runs = now.every(({ leader, replicas }) => {
          return leader !== null && replicas.every(({ state }) => state === 'running');
        });
        return now.length === PARTITIONS && runs;
      });
      repeated = await repeatedBatches();
    }
    running = false;
    await Promise.all(driven);
    expect(errors).toEqual([]);
    const [{ client } = workers[0]!] = workers;
    for (const { name, count } of workers) {
      expect(await client.get(`${name}:count`)).toBe(String(count));
      const wanted = Array.from({ length: count }, (_, at) => String(at + 1));
      expect(await client.lrange(`${name}:list`, 0, -1)).toEqual(wanted);
      expect(await client.get(`{${name}}:a`)).toBe(String(count));
      expect(await client.lrange(`{${name}}:b`, 0, -1)).toEqual(wanted);
    }
    expect(repeated).toBeGreaterThan(0);
    process.stdout.write(
      `${repeated} batches repeated; ${workers.reduce((sum, { count }) => sum + 7 * count, 0)} writes, ${kills} kills\n`,
    );
    for (const worker of workers) worker.client.disconnect();
  },
  120_000 + KILLS_MAX * 90_000,
);
