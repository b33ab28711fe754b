/** Scripted: many groups of a cluster change members or leaders at once, because of one node. */
import { describe, expect, test } from 'vitest';
import { sleep } from '../../src/common/clock.ts';
import { limits } from '../../src/common/limits.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';
import { drawPlan, type RunPlan } from './plan.ts';
import { isWhole } from './whole.ts';

const PARTITIONS = 14;
const WITHIN_MS = 120_000;

const plan: RunPlan = {
  ...drawPlan('members'),
  ...{ nodes: 3, partitions: PARTITIONS, replicas: 3, faults: [], absence: undefined, turnMs: 0 },
  ...{ tickMs: 70, electionTicks: 10, sleepAfterTicks: 0, diskLatencyMs: 0.5 },
  ...{ latencyMinMs: 1, latencyMaxMs: 6, bytesPerMs: 2_000, drift: 0, skewMs: 0 },
  ...{ splitChance: 0, mergeChance: 0.5, engineStalls: { share: 0, ms: 0 } },
};

/** Groups that `name` leads while their members change. */
function changing(cluster: SimCluster, name: string): number {
  const replicas = cluster.machine(name).life?.datanode?.replicas() ?? [];
  return replicas.filter((replica) => {
    if (replica.stopped || !replica.isLeader) return false;
    const { learners, votersOutgoing } = replica.state.confState;
    return learners.length > 0 || votersOutgoing.length > 0;
  }).length;
}

/** Which node leads each partition; undefined: none that is running. */
function leaders(cluster: SimCluster): (string | undefined)[] {
  return cluster.records().map(({ group }) => {
    const leads = cluster.machines.find(({ life }) =>
      life?.datanode?.replicas().some(({ record, isLeader }) => record.group === group && isLeader),
    );
    return leads?.name;
  });
}

/** Every partition is led by the first replica of its record. */
function isLedAsWanted(cluster: SimCluster): boolean {
  const wanted = cluster.records().map(({ replicas }) => replicas[0]!.node);
  return leaders(cluster).join() === wanted.join();
}

/** Clients that write all the while, each another key. */
function startWriters(cluster: SimCluster, hosts = ['n2'], pauseMs = 10) {
  const report = { count: 0, longestMs: 0, errors: [] as string[] };
  const write = async (host: string, key: string) => {
    const client = new SimClient(cluster.network.node(`writer of ${key}`), cluster.clock);
    for (;;) {
      const began = cluster.scheduler.nowMs;
      const reply = await client.call({ host, port: GATEWAY_PORT }, ['INCR', key], 8_000);
      report.count++;
      report.longestMs = Math.max(report.longestMs, cluster.scheduler.nowMs - began);
      if (reply?.kind !== 'integer') report.errors.push(JSON.stringify(reply));
      await sleep(cluster.clock, pauseMs);
    }
  };
  for (const host of hosts) {
    for (let at = 0; at < PARTITIONS; at++) void write(host, `${host}:${at}`);
  }
  return report;
}

describe('leaders', () => {
  test.each(['crash', 'stop'] as const)(
    'are where the table wants them again after a node’s %s and return',
    async (how) => {
      const cluster = new SimCluster({ ...plan, sleepAfterTicks: 30 });
      const { scheduler } = cluster;
      const settled = () => isWhole(cluster) && isLedAsWanted(cluster);
      expect(await scheduler.runUntil(settled, WITHIN_MS)).toBe(true);
      const own = cluster.records().filter(({ replicas }) => replicas[0]!.node === 'n1').length;
      expect(own).toBeGreaterThan(PARTITIONS / 4);
      const writes = startWriters(cluster);
      let gone = false;
      if (how === 'crash') cluster.crash('n1', 'process');
      else void cluster.stop('n1').then(() => (gone = true));
      const stopped = () => how === 'crash' || gone;
      expect(await scheduler.runUntil(stopped, 10_000)).toBe(true);
      const others = () => leaders(cluster).every((name) => name === 'n2' || name === 'n3');
      // one that stops has handed them over; one that died is missed first
      expect(await scheduler.runUntil(others, how === 'crash' ? 5_000 : 100)).toBe(true);
      cluster.start('n1');
      const began = scheduler.nowMs;
      expect(await scheduler.runUntil(settled, WITHIN_MS)).toBe(true);
      expect(scheduler.nowMs - began).toBeLessThan(6_000);
      // the sooner it is back, the fewer there were until then
      expect(await scheduler.runUntil(() => writes.count > 500, 1_000)).toBe(true);
      expect(writes.errors).toEqual([]);
      process.stdout.write(`${how}: a write took ${writes.longestMs.toFixed(0)} ms at most\n`);
      // one that stops keeps nobody waiting for long, and neither does its return
      if (how === 'stop') expect(writes.longestMs).toBeLessThan(200);
      expect(cluster.broken).toEqual([]);
    },
    300_000,
  );
});

test('a node whose log cannot be written hands its leaders over before it ends', async () => {
  const cluster = new SimCluster({ ...plan, partitions: 6 });
  const { scheduler } = cluster;
  const settled = () => isWhole(cluster) && isLedAsWanted(cluster);
  expect(await scheduler.runUntil(settled, WITHIN_MS)).toBe(true);
  const machine = cluster.machine('n1');
  const { life } = machine;
  machine.diskFaulted = true;
  machine.disk.failNext('fdatasync', { path: '/data/log/' });
  const writes = startWriters(cluster);
  let others = false;
  const areElsewhere = () => leaders(cluster).every((name) => name === 'n2' || name === 'n3');
  // as long as it lives: of one that died the others would learn anyhow
  const ended = () => {
    others ||= machine.life === life && areElsewhere();
    return machine.life !== life;
  };
  expect(await scheduler.runUntil(ended, 10_000)).toBe(true);
  expect(others).toBe(true);
  expect(await scheduler.runUntil(() => isWhole(cluster), WITHIN_MS)).toBe(true);
  expect(writes.errors).toEqual([]);
  expect(cluster.broken).toEqual([]);
});

test('a node’s leaders change the members of a few groups at a time, and in the end of all', async () => {
  const cluster = new SimCluster(plan);
  const { scheduler } = cluster;
  expect(await scheduler.runUntil(() => isWhole(cluster), WITHIN_MS)).toBe(true);
  cluster.crash('n3', 'process');
  cluster.machine('n3').wipe();
  cluster.durable.wiped('n3');
  cluster.start('n3');
  let most = 0;
  const replaced = () => {
    for (const { name } of cluster.machines) most = Math.max(most, changing(cluster, name));
    const ids = cluster.records().flatMap(({ replicas }) => replicas.map(({ replica }) => replica));
    return ids.filter((id) => id > 3 * PARTITIONS).length === PARTITIONS && isWhole(cluster);
  };
  expect(await scheduler.runUntil(replaced, WITHIN_MS)).toBe(true);
  expect(cluster.broken).toEqual([]);
  // two nodes are left to lead: one of them leads more groups than it may change at once
  expect(most).toBe(limits.membershipChangesPerNodeMax);
});

test('an only replica moves, and no write of a client of its own node stays unknown', async () => {
  const cluster = new SimCluster({ ...plan, partitions: 6, replicas: 1 });
  const { scheduler } = cluster;
  expect(await scheduler.runUntil(() => isWhole(cluster), WITHIN_MS)).toBe(true);
  const held = () => cluster.records().filter(({ replicas }) => replicas[0]!.node === 'n1').length;
  const began = held();
  expect(began).toBeGreaterThan(1);
  const writes = startWriters(cluster, ['n1'], 0);
  cluster.operator!.drain('n1').catch((error) => writes.errors.push(String(error)));
  let lookedMs = 0;
  const isMoved = () => {
    if (scheduler.nowMs < lookedMs + 100) return false;
    lookedMs = scheduler.nowMs;
    return writes.errors.length > 0 || (held() === 0 && isWhole(cluster));
  };
  expect(await scheduler.runUntil(isMoved, WITHIN_MS)).toBe(true);
  expect(writes.errors).toEqual([]);
  process.stdout.write(`moved ${began}: a write took ${writes.longestMs.toFixed(0)} ms at most\n`);
  expect(cluster.broken).toEqual([]);
});
