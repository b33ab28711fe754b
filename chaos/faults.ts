/** Brings a planned fault about, and ends it. */

import type { ClusterAnswer, NodeAnswer } from '../src/cli/admin/shapes.ts';
import { pause } from '../tools/children.ts';
import type { ChaosCluster } from './cluster.ts';
import type { Lost } from './network.ts';
import type { FaultKind, PlannedFault } from './schedule.ts';

const STEP_MS = 120_000;

/** One fault under way; `end` heals what it did. */
export interface Fault {
  /** For people: whom it struck. */
  readonly what: string;
  end(): Promise<void>;
}

type Begin = (cluster: ChaosCluster, plan: PlannedFault) => Promise<Fault>;

export const beginFault: Begin = (cluster, plan) => begins[plan.kind](cluster, plan);

const PARTING_PERCENT = 100;

function cut(from: number, to: number, percent = PARTING_PERCENT): Lost {
  return { from, to, percent };
}

/** Nothing passes between the two sides, either way. */
function parted(a: readonly number[], b: readonly number[]): Lost[] {
  return a.flatMap((one) => b.flatMap((other) => [cut(one, other), cut(other, one)]));
}

function losing(cluster: ChaosCluster, what: string, rules: readonly Lost[]): Fault {
  cluster.network.lose(rules);
  return { what, end: async () => cluster.network.lose([]) };
}

async function killed(cluster: ChaosCluster, names: readonly string[]): Promise<Fault> {
  await Promise.all(names.map((name) => cluster.kill(name)));
  return {
    what: names.join(', '),
    end: async () => {
      for (const name of names) cluster.launch(name);
    },
  };
}

function paused(cluster: ChaosCluster, names: readonly string[]): Fault {
  for (const name of names) cluster.stopClock(name);
  return {
    what: names.join(', '),
    end: async () => {
      for (const name of names) cluster.goOn(name);
    },
  };
}

const name = (machine: number) => `machine ${machine + 1}`;

async function rollingRestart(cluster: ChaosCluster, { machines }: PlannedFault): Promise<Fault> {
  for (const machine of machines) {
    const datanode = cluster.datanode(machine);
    await cluster.terminate(datanode);
    cluster.launch(datanode);
    await cluster.until(STEP_MS, `${datanode} is back`, async () => {
      return (await cluster.unsettled()) === 0;
    });
  }
  return { what: 'all datanodes, one after the other', end: async () => {} };
}

/** The last datanode is emptied and removed, and added again. */
async function rebalance(cluster: ChaosCluster): Promise<Fault> {
  const node = cluster.names('datanode').at(-1)!;
  const ask = async (method: string, path: string) => {
    await cluster.until(STEP_MS, `${method} ${path}`, async () => {
      await cluster.api(method, path);
      return true;
    });
  };
  const look = async () => (await cluster.api('GET', `/v1/nodes/${node}`)) as NodeAnswer;
  // a restarted cluster moves nothing until all its nodes are back
  await cluster.until(STEP_MS, 'the placedriver is not frozen', async () => {
    return ((await cluster.api('GET', '/v1/cluster')) as ClusterAnswer).stability.frozen === null;
  });
  await ask('POST', `/v1/nodes/${node}/drain`);
  await cluster.until(STEP_MS, `${node} is empty`, async () => {
    return (await look()).draining?.left === 0;
  });
  await cluster.terminate(node);
  await pause(1_000);
  cluster.launch(node);
  await ask('DELETE', `/v1/nodes/${node}/drain`);
  await cluster.until(STEP_MS, `${node} has replicas again`, async () => {
    return (await look()).replicas > 0;
  });
  return { what: `${node} emptied, stopped, started and filled`, end: async () => {} };
}

const begins: Readonly<Record<FaultKind, Begin>> = {
  kill: (cluster, { machines }) => killed(cluster, [cluster.datanode(machines[0]!)]),
  'kill-two': (cluster, { machines }) =>
    killed(
      cluster,
      machines.slice(0, 2).map((machine) => cluster.datanode(machine)),
    ),
  'kill-all': (cluster) => killed(cluster, cluster.names('datanode')),
  pause: async (cluster, { machines }) => paused(cluster, [cluster.datanode(machines[0]!)]),
  isolate: async (cluster, { machines: [first, ...others] }) =>
    losing(cluster, `${name(first!)} from all others`, parted([first!], others)),
  'one-way': async (cluster, { machines: [first, ...others], strength }) => {
    const outwards = strength < 0.5;
    const rules = others.map((other) => (outwards ? cut(first!, other) : cut(other, first!)));
    const way = outwards ? 'what it sends' : 'what it is sent';
    return losing(cluster, `${name(first!)}: ${way} is lost`, rules);
  },
  bridge: async (cluster, { machines: [bridge, ...others] }) => {
    const half = Math.ceil(others.length / 2);
    const rules = parted(others.slice(0, half), others.slice(half));
    return losing(cluster, `only ${name(bridge!)} sees both sides`, rules);
  },
  halves: async (cluster, { machines }) => {
    const [one, other] = [machines.slice(0, 2), machines.slice(2)];
    return losing(cluster, `${one.map(name).join(' and ')} apart`, parted(one, other));
  },
  loss: async (cluster, { machines: [first, ...others], strength }) => {
    const percent = 5 + Math.floor(strength * 30);
    const rules = others.flatMap((other) => [
      cut(first!, other, percent),
      cut(other, first!, percent),
    ]);
    return losing(cluster, `${percent} % of the packets of ${name(first!)}`, rules);
  },
  'slow-link': async (cluster, { machines: [first] }) => {
    cluster.network.narrow(first!, true);
    return { what: name(first!), end: async () => cluster.network.narrow(first!, false) };
  },
  'full-disk': async (cluster) => {
    cluster.fillDisk();
    return {
      what: cluster.datanode(cluster.diskMachine),
      end: async () => cluster.makeRoom(),
    };
  },
  clock: async (cluster, { strength }) => {
    const seconds = Math.round((strength - 0.5) * 7_200);
    cluster.moveClock(seconds);
    const what = `${cluster.datanode(cluster.clockMachine)} by ${seconds} s`;
    return { what, end: async () => cluster.moveClock(0) };
  },
  'etcd-kill': (cluster) => killed(cluster, cluster.names('etcd')),
  'etcd-pause': async (cluster) => paused(cluster, cluster.names('etcd')),
  placedriver: (cluster) => killed(cluster, cluster.names('placedriver')),
  'rolling-restart': rollingRestart,
  rebalance,
};
