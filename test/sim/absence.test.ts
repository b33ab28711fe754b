/** Who is left when faults are over: a quorum of each group and of each half of a joint one, no more. */
import { expect, test } from 'vitest';
import { sleep } from '../../src/common/clock.ts';
import { codeOf } from '../../src/common/errors.ts';
import { drawAbsent } from './absence.ts';
import { SimCluster } from './cluster.ts';
import { drawPlan, type RunPlan } from './plan.ts';
import { scenario } from './scenarios/scenario.ts';
import { isWhole } from './whole.ts';

const WITHIN_MS = 60_000;
const draws = Array.from({ length: 40 }, (_, at) => at / 40);

async function wholeCluster(changes: Partial<RunPlan>): Promise<SimCluster> {
  const { plan } = scenario(
    'absence',
    { ...changes, absence: drawPlan('1').absence },
    async () => {},
  );
  const cluster = new SimCluster(plan);
  expect(await cluster.scheduler.runUntil(() => isWhole(cluster), WITHIN_MS)).toBe(true);
  return cluster;
}

/** Of every group, the nodes that are there when `absent` are not. */
function presentOf(cluster: SimCluster, absent: ReadonlySet<string>): number[] {
  return cluster
    .records()
    .map(({ replicas }) => replicas.filter(({ node }) => !absent.has(node)).length);
}

test('of five replicas two stay away, any two', async () => {
  const cluster = await wholeCluster({ nodes: 5, replicas: 5, partitions: 2 });
  const drawn = draws.map((draw) => [...drawAbsent(cluster, draw)].sort().join());
  expect(new Set(drawn.map((names) => names.split(',').length))).toEqual(new Set([2]));
  expect(new Set(drawn).size).toBeGreaterThan(6);
});

test('nobody could stay away as well without a group’s losing its quorum', async () => {
  const cluster = await wholeCluster({ nodes: 5, replicas: 3, partitions: 3 });
  for (const draw of draws) {
    const absent = drawAbsent(cluster, draw);
    expect(Math.min(...presentOf(cluster, absent))).toBe(2);
    for (const { name } of cluster.machines.filter((machine) => !absent.has(machine.name))) {
      expect(presentOf(cluster, new Set([...absent, name]))).toContain(1);
    }
  }
});

test('a node whose disk lost something is not counted on', async () => {
  const cluster = await wholeCluster({ nodes: 5, replicas: 5 });
  cluster.machine('n2').spoiled = true;
  const others = draws.map((draw) =>
    [...drawAbsent(cluster, draw)].filter((name) => name !== 'n2'),
  );
  expect(new Set(others.map(({ length }) => length))).toEqual(new Set([1]));
  cluster.machine('n1').spoiled = true;
  cluster.machine('n3').spoiled = true;
  for (const draw of draws) expect(drawAbsent(cluster, draw)).toEqual(new Set());
});

test('both halves of a configuration that changes keep their quorums', async () => {
  const cluster = await wholeCluster({ nodes: 4, replicas: 3 });
  const isJoint = () =>
    cluster.machines.some(({ life }) =>
      life?.datanode?.replicas().some(({ state }) => state.confState.votersOutgoing.length > 0),
    );
  const before = cluster.records()[0]!.replicas.map(({ node }) => node);
  const spare = cluster.machines.find(({ name }) => !before.includes(name))!.name;
  const what = { namespace: 'default', partition: 0 };
  const moved = settledMove(cluster, () => cluster.operator!.move(what, before[2]!, spare));
  expect(await cluster.scheduler.runUntil(isJoint, WITHIN_MS)).toBe(true);
  await moved;
  for (const draw of draws) {
    const absent = drawAbsent(cluster, draw);
    for (const half of [before, [...before.slice(0, 2), spare]]) {
      expect(half.filter((node) => !absent.has(node)).length).toBeGreaterThan(1);
    }
  }
});

/** All is whole a moment before the master has seen its last change end. */
async function settledMove(cluster: SimCluster, move: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await move();
    } catch (failure) {
      if (codeOf(failure) !== 'CONFLICT' || tries === 50) throw failure;
      await sleep(cluster.clock, 20);
    }
  }
}
