/** Scripted: a node says that it is of an older build, and what it does not know waits for it. */
import { expect, test } from 'vitest';
import { APPLY_VERSION } from '../../src/datanode/partition/entries/envelope.ts';
import { encodeRecord, keys, type NodeRecord } from '../../src/meta/schema.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, SimCluster } from './cluster.ts';
import { connectSimMeta } from './meta.ts';
import { drawPlan, type RunPlan } from './plan.ts';
import { isWhole } from './whole.ts';

const WITHIN_MS = 60_000;

const plan: RunPlan = {
  ...drawPlan('older node'),
  ...{ nodes: 3, partitions: 1, replicas: 3, clients: 0, faults: [], absence: undefined },
  ...{ turnMs: 0, tickMs: 70, electionTicks: 10, sleepAfterTicks: 0, diskLatencyMs: 0.5 },
  ...{ latencyMinMs: 1, latencyMaxMs: 6, bytesPerMs: 2_000, drift: 0, skewMs: 0 },
  ...{ splitChance: 0, mergeChance: 0.5, engineStalls: { share: 0.3, ms: 20 } },
};

async function ask(cluster: SimCluster, ...words: string[]): Promise<string> {
  const { network, clock, scheduler } = cluster;
  const client = new SimClient(network.node(`client ${words.join(' ')}`), clock);
  const work = client.call({ host: 'n1', port: GATEWAY_PORT }, words, 5_000);
  let told: string | undefined;
  void work.then((reply) => {
    told = reply?.kind === 'error' || reply?.kind === 'simple' ? reply.text : reply?.kind;
  });
  await scheduler.runUntil(() => told !== undefined, WITHIN_MS);
  return String(told);
}

function recordOf({ meta }: SimCluster, node: string): NodeRecord {
  return JSON.parse(meta.items.get(keys.node(node))!.value) as NodeRecord;
}

/** As a build wrote it that told nothing, or as this one does. */
async function tellOf(cluster: SimCluster, node: string, isOlder: boolean): Promise<void> {
  const { applyVersion: _, ...older } = recordOf(cluster, node);
  const record = isOlder ? older : { ...older, applyVersion: APPLY_VERSION };
  const store = connectSimMeta(cluster.meta, cluster.clock);
  let isDone = false;
  void store.put(keys.node(node), encodeRecord(record)).then(() => {
    isDone = true;
  });
  await cluster.scheduler.runUntil(() => isDone, WITHIN_MS);
  await cluster.scheduler.runUntil(() => false, 1_000);
}

test('a node tells what it applies, and the others hear it', async () => {
  const cluster = new SimCluster({ ...plan, seed: 'older node' });
  expect(await cluster.scheduler.runUntil(() => isWhole(cluster), WITHIN_MS)).toBe(true);
  for (const node of ['n1', 'n2', 'n3']) {
    expect(recordOf(cluster, node).applyVersion).toBe(APPLY_VERSION);
  }
  const leader = ['n1', 'n2', 'n3'].find(
    (node) => cluster.machine(node).life?.datanode?.replicas()[0]?.isLeader,
  );
  const other = leader === 'n3' ? 'n2' : 'n3';
  expect(await ask(cluster, 'SET', 'k', 'v')).toBe('OK');
  await tellOf(cluster, other, true);
  for (const words of [
    ['SET', 'k', 'w', 'IFEQ', 'v'],
    ['HSETEX', 'h', 'EX', '9', 'FIELDS', '1', 'a', '1'],
    ['FCALL', 'f', '1', 'k'],
  ]) {
    expect(await ask(cluster, ...words)).toContain(`is not known to ${other}, which has a replica`);
  }
  expect(await ask(cluster, 'SET', 'k', 'v', 'XX')).toBe('OK');
  await tellOf(cluster, other, false);
  expect(await ask(cluster, 'FCALL', 'none', '1', 'k')).toBe('ERR Function not found');
  expect(await ask(cluster, 'SET', 'k', 'x', 'IFEQ', 'v')).toBe('OK');
  expect(await ask(cluster, 'HSETEX', 'h', 'EX', '8', 'FIELDS', '1', 'a', '1')).toBe('integer');
}, 60_000);
