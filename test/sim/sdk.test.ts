/**
 * The SDK in the simulator, under the faults of drawn plans: what it acknowledges has taken effect
 * once, what it calls certain has not, and a run follows from its seed.
 */
import { describe, expect, test } from 'vitest';
import { keys, type LeaderRecord } from '../../src/meta/schema.ts';
import { Client, ClientError } from '../../src/sdk/index.ts';
import type { HttpGet } from '../../src/sdk/placedriver-source.ts';
import { scale } from '../scale.ts';
import { SimClock } from './clock.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';
import { beginFault } from './faults.ts';
import { drawPlan } from './plan.ts';
import { simConnector } from './sdk-connector.ts';

const WORKERS = 3;
const PATIENCE_MS = 120_000;
/** How long it goes on when faults are over. */
const CALM_MS = 4_000;

/** What a placedriver would answer about this cluster, a millisecond later. */
function placedriverOf(cluster: SimCluster, clock: SimClock): HttpGet {
  let epoch = 0;
  let last = '';
  const bodies = () => {
    const nodes = cluster.machines.map(({ name, life }) => ({
      name,
      alive: life !== undefined,
      address: { host: name, gatewayPort: GATEWAY_PORT },
      tags: {},
    }));
    const partitions = cluster.records().map((record) => {
      const item = cluster.meta.items.get(keys.leader(record.namespace, record.partition));
      const leader = item && (JSON.parse(item.value) as LeaderRecord);
      return {
        partition: record.partition,
        slots: [record.firstSlot, record.lastSlot],
        leader: leader ? { node: leader.node, term: leader.term } : null,
        wanted: record.replicas.map(({ node }) => ({ node })),
      };
    });
    partitions.sort((a, b) => a.partition - b.partition);
    return { '/v1/nodes': { nodes }, '/v1/namespaces/default/partitions': { partitions } };
  };
  return async (url) => {
    await new Promise<void>((resolve) => clock.setTimer(1, resolve));
    const found = bodies();
    if (JSON.stringify(found) !== last) {
      last = JSON.stringify(found);
      epoch++;
    }
    const { pathname, searchParams } = new URL(url);
    const body: unknown = (found as Record<string, unknown>)[pathname] ?? { epoch, hash: 'slots' };
    const same = searchParams.get('epoch') === String(epoch);
    return { status: same ? 304 : 200, json: async () => body };
  };
}

interface Tally {
  done: number;
  unknown: number;
}

class Scene {
  readonly cluster: SimCluster;
  readonly clients: readonly Client[];
  readonly wrong: string[] = [];
  /** By key: of counters and of the length of lists. */
  readonly tallies = new Map<string, Tally>();
  running = true;
  busy = 0;

  constructor(seed: string) {
    this.cluster = new SimCluster({ ...drawPlan(seed), partitions: 2, clients: 0, consumers: 0 });
    const { scheduler, network, random } = this.cluster;
    this.clients = Array.from({ length: WORKERS }, (_, at) => {
      const clock = new SimClock(scheduler);
      return new Client(
        {
          placedrivers: ['placedriver1:1'],
          timeoutMs: PATIENCE_MS,
          attemptsMax: 100_000,
          attemptTimeoutMs: 1_500,
        },
        {
          clock,
          random: random.fork(`sdk ${at}`),
          connector: simConnector(network.node(`caller${at}`), clock),
          get: placedriverOf(this.cluster, clock),
        },
      );
    });
    for (const at of this.clients.keys()) void this.#drive(at);
  }

  async execute(): Promise<void> {
    const { cluster } = this;
    const { scheduler, network, plan } = cluster;
    let frozen = false;
    const ends: (() => void)[] = [];
    for (const fault of plan.faults) {
      scheduler.after(fault.atMs, () => {
        const end = frozen ? undefined : beginFault(cluster, fault);
        if (end === undefined) return;
        let ended = false;
        const once = () => {
          if (!ended) end();
          ended = true;
        };
        ends.push(once);
        scheduler.after(fault.durationMs, once);
      });
    }
    await scheduler.run(plan.safetyMs);
    frozen = true;
    for (const end of ends) end();
    network.healAll();
    for (const { name } of cluster.machines) {
      cluster.resume(name);
      cluster.start(name);
    }
    cluster.startDriver();
    await scheduler.run(scheduler.nowMs + CALM_MS);
    this.running = false;
    expect(await scheduler.runUntil(() => this.busy === 0, PATIENCE_MS + 5_000)).toBe(true);
    await this.#judge();
    for (const client of this.clients) void client.close();
    await scheduler.run(scheduler.nowMs + 5_000);
    expect(this.clients.map(({ status }) => status)).toEqual(this.clients.map(() => 'end'));
  }

  /** Its own counter and list, whose replies tell if one came twice; and a counter of all, watched. */
  async #drive(at: number): Promise<void> {
    const client = this.clients[at]!;
    this.busy++;
    for (let turn = 0; this.running; turn++) {
      const own = turn % 2 === 0 ? `count:${at}` : `list:${at}`;
      if (turn % 3 < 2) {
        const write = () => (turn % 2 === 0 ? client.incr(own) : client.rpush(own, turn));
        await this.#tell(own, write, (reply, { done, unknown }) => {
          const least = done + 1;
          if (reply >= least && reply <= least + unknown) return;
          this.wrong.push(`${own}: ${reply} after ${done} and ${unknown} unknown`);
        });
        continue;
      }
      const key = `watched:${turn % 2}`;
      await this.#tell(
        key,
        () => client.watch(key, async (tx) => tx.multi().set(key, Number(await tx.get(key)) + 1)),
        () => {},
      );
    }
    this.busy--;
  }

  async #tell<T>(
    key: string,
    write: () => Promise<T>,
    check: (reply: T, tally: Tally) => void,
  ): Promise<void> {
    const tally = this.tallies.get(key) ?? { done: 0, unknown: 0 };
    this.tallies.set(key, tally);
    try {
      check(await write(), tally);
      tally.done++;
    } catch (error) {
      if (error instanceof ClientError && error.code === 'OUTCOME_UNKNOWN') tally.unknown++;
      else if (!(error instanceof ClientError && error.retriable)) this.wrong.push(String(error));
    }
  }

  async #judge(): Promise<void> {
    const { scheduler } = this.cluster;
    const [client] = this.clients;
    let judged = 0;
    for (const [key, { done, unknown }] of this.tallies) {
      const read = key.startsWith('list') ? client!.llen(key) : client!.get(key);
      void Promise.resolve(read).then((value) => {
        judged++;
        const found = Number(value);
        if (found >= done && found <= done + unknown) return;
        this.wrong.push(`${key} is ${found}: ${done} acknowledged, ${unknown} unknown`);
      });
    }
    const all = () => judged === this.tallies.size;
    expect(await scheduler.runUntil(all, PATIENCE_MS)).toBe(true);
  }
}

describe('the SDK in the simulator', () => {
  const seeds = Array.from({ length: scale.sdkSeeds }, (_, at) => `sdk ${at + 1}`);

  test.each(seeds)(
    '%s',
    async (seed) => {
      const scene = new Scene(seed);
      await scene.execute();
      expect(scene.wrong).toEqual([]);
      const total = [...scene.tallies.values()].reduce((sum, { done }) => sum + done, 0);
      expect(total).toBeGreaterThan(5);
      // With patience and sessions nothing is left open.
      expect([...scene.tallies].filter(([, { unknown }]) => unknown > 0)).toEqual([]);
      if (seed !== seeds[0]) return;
      const again = new Scene(seed);
      await again.execute();
      expect(again.cluster.scheduler.traceHash).toBe(scene.cluster.scheduler.traceHash);
    },
    120_000,
  );
});
