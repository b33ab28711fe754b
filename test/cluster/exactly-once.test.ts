/**
 * Writes through the SDK while the nodes that lead are killed, stand still and hand their leaders
 * over: each acknowledged one took effect once, and no client got an error. Judged by the checker of
 * `kvorum demo`, over connections of its own.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { check } from '../../src/cli/demo/checker.ts';
import { busiestLeader, isWhole } from '../../src/cli/demo/leaders.ts';
import { readBack } from '../../src/cli/demo/read-back.ts';
import { Workload } from '../../src/cli/demo/workload.ts';
import { collect, type PartitionLine } from '../../src/cli/status.ts';
import { Client } from '../../src/sdk/index.ts';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';

const PARTITIONS = 6;
const NODES = ['datanode1', 'datanode2', 'datanode3'];
/** The second is longer than a client of the SDK waits for an answer before it asks elsewhere. */
const STANDSTILLS_MS = [2_500, 8_000, 1_000];
const BACK_MS = 60_000;
/** Leaders that are to be transferred are dealt out in so many ways at most. */
const TURNS_MAX = 12;
/** Tells what hangs from what is slow, also on a machine with other load. */
const TIMEOUT_MS = 60_000;

let cluster: TestCluster;
const clients: Client[] = [];

beforeAll(async () => {
  cluster = await startCluster({ partitions: PARTITIONS });
  await whole();
  for (let at = 0; at < 4; at++) {
    const placedrivers = [`127.0.0.1:${cluster.ports.http}`];
    clients.push(new Client({ placedrivers, timeoutMs: TIMEOUT_MS }));
  }
}, 300_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await cluster?.destroy();
}, 300_000);

async function partitions(): Promise<readonly PartitionLine[]> {
  return (await collect(cluster.data)).partitions;
}

async function whole(): Promise<void> {
  await eventually(BACK_MS, 'all partitions are led and all replicas run', async () => {
    return isWhole(await partitions(), PARTITIONS);
  });
}

async function busiest(): Promise<string> {
  return busiestLeader(await partitions())!.name;
}

/** Asks until it is taken: a node that has just come back may not be registered yet. */
async function transfer(partition: number, to: string): Promise<void> {
  const path = `/v1/namespaces/default/partitions/${partition}/transfer-leader`;
  await eventually(BACK_MS, `${to} may lead ${partition}`, async () => {
    const response = await fetch(`http://127.0.0.1:${cluster.ports.http}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to }),
    });
    if (!response.ok) throw new Error(await response.text());
    return true;
  });
}

/** Elections over all partitions, so far. */
async function terms(): Promise<number> {
  return (await partitions()).reduce((sum, { term }) => sum + term, 0);
}

/** Some leader is another, or will be in a moment. */
async function haveRisen(before: number): Promise<boolean> {
  for (let look = 0; look < 50; look++) {
    if ((await terms()) > before) return true;
    await pause(100);
  }
  return false;
}

/** The node that leads each partition when they are dealt out in turns from `turn` on. */
function evenTable(now: readonly { partition: number }[], turn: number): Map<number, string> {
  return new Map(
    now.map(({ partition }) => [partition, NODES[(partition + turn) % NODES.length]!]),
  );
}

/** What another node leads than the table wants. */
function differing<P extends { partition: number; leader: string | null }>(
  now: readonly P[],
  table: ReadonlyMap<number, string>,
): P[] {
  return now.filter(({ partition, leader }) => leader !== table.get(partition));
}

const events = {
  async killed(): Promise<void> {
    const victim = await busiest();
    const pid = cluster.pidOf(victim);
    process.kill(pid, 'SIGKILL');
    await eventually(BACK_MS, `${victim} is back`, () => cluster.pidOf(victim) !== pid);
  },

  async 'stood still'(time: number): Promise<void> {
    const pid = cluster.pidOf(await busiest());
    process.kill(pid, 'SIGSTOP');
    try {
      await pause(STANDSTILLS_MS[time % STANDSTILLS_MS.length]!);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  },

  async transferred(time: number): Promise<void> {
    const before = await terms();
    for (let turn = time; turn < time + TURNS_MAX; turn++) {
      const now = await partitions();
      // As even as the master wants leaders to be: it undoes what is not. It may do so all the same
      // while not all leaders are where it wants them, or lie as this table has it: the next one then.
      const table = evenTable(now, turn);
      for (const { partition } of differing(now, table)) {
        await transfer(partition, table.get(partition)!);
      }
      if (await haveRisen(before)) return;
    }
    throw new Error(`no leader was transferred, by any of ${TURNS_MAX} tables`);
  },
};

test(
  `${scale.exactlyOnceWrites} writes take effect once each, whatever happens to leaders`,
  async () => {
    const began = performance.now();
    const firstTerms = await terms();
    const load = new Workload({
      ...{ writers: clients, workers: 256, keys: 64, prefix: 'once' },
      kinds: ['counter', 'list'],
    });
    const names = Object.keys(events) as (keyof typeof events)[];
    const happened: string[] = [];
    const note = (what: string) => {
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      const { acknowledged, longestPauseMs } = load.progress();
      happened.push(`${seconds} s: ${what}; ${acknowledged}, ${longestPauseMs.toFixed(0)} ms`);
    };
    let round = 0;
    while (round < names.length || load.progress().acknowledged < scale.exactlyOnceWrites) {
      const name = names[round % names.length]!;
      await events[name](Math.floor(round / names.length));
      note(name);
      await whole();
      await pause(300);
      round++;
      note('whole');
      expect(load.errorTexts, happened.slice(-20).join('\n')).toEqual([]);
    }
    await load.stop();
    const { errors, longestPauseMs } = load.progress();
    const seconds = (performance.now() - began) / 1_000;
    const verdicts = await Promise.all(
      NODES.map(async (_, node) => {
        const address = `127.0.0.1:${cluster.gatewayPort(node)}`;
        return check(load.told, await readBack(address, load.told));
      }),
    );
    for (const verdict of verdicts) {
      expect(verdict).toMatchObject({ lost: 0, duplicates: 0, unexpected: 0, findings: [] });
    }
    expect({ errors, errorTexts: load.errorTexts }).toEqual({ errors: 0, errorTexts: [] });
    const { acknowledged } = verdicts[0]!;
    expect(acknowledged).toBeGreaterThanOrEqual(scale.exactlyOnceWrites);
    process.stdout.write(
      `${acknowledged} writes in ${seconds.toFixed(0)} s, leaders ${names.join(', ')} in turn, ` +
        `${round} times, ${(await terms()) - firstTerms} elections; ` +
        `0 lost, 0 twice, longest pause ${longestPauseMs.toFixed(0)} ms\n`,
    );
  },
  180_000 + scale.exactlyOnceWrites * 3,
);
