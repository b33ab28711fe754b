/** Nodes that stop gracefully, and come back, under load: nobody connected elsewhere notices. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive } from '../../src/cli/run-file.ts';
import { Client } from '../../src/sdk/index.ts';
import { eventually, pause, startCluster, type TestCluster, within } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { connect, Load } from './load.ts';

const PARTITIONS = 6;
/** What a transfer may keep the writes of a partition waiting. */
const PAUSE_MS = 200;
const WRITES_MIN = 200;
const COUNTED_MIN = 50;

let loads = 0;

const ended = endedAfterEach();

/** Writers, which judge what they read, through the gateway of one node. */
function loadThrough(running: TestCluster, node: number): Load {
  return ended(
    new Load({
      ports: [running.gatewayPort(node)],
      clusterPorts: [],
      partitions: PARTITIONS,
      prefix: `load ${loads++}`,
      ...{ writers: 4, readers: 2, keysPerWriter: 16 },
    }),
  );
}

/** Every partition is led by the first replica of its record, and nobody catches up. */
async function isLedAsWanted(running: TestCluster): Promise<boolean> {
  const { partitions } = await running.status();
  return (
    partitions.length === PARTITIONS &&
    partitions.every(
      ({ leader, replicas }) => replicas.length === 3 && leader === replicas[0]!.node,
    )
  );
}

/** Some counters, raised one by one through `kvorum/sdk` by way of every node. */
function countThroughSdk(running: TestCluster) {
  const client = new Client(`kvorum://127.0.0.1:${running.ports.http}/default`);
  const counted = Array.from({ length: PARTITIONS }, () => 0);
  const failures: string[] = [];
  let counting = true;
  const tasks = counted.map(async (_, at) => {
    while (counting) {
      await client.incr(`sdk:${at}`).then(
        () => counted[at]!++,
        (failure: unknown) => failures.push(String(failure)),
      );
      await pause(10);
    }
  });
  return {
    counted,
    failures,
    async stop() {
      counting = false;
      await Promise.all(tasks);
      const found = (await client.mget(counted.map((_, at) => `sdk:${at}`))).map(Number);
      await client.close();
      return { counted, found, failures };
    },
  };
}

async function upgrade(running: TestCluster, step: 'begin' | 'done'): Promise<void> {
  const url = `http://127.0.0.1:${running.ports.http}/cluster/upgrade/${step}`;
  expect((await fetch(url, { method: 'POST' })).status).toBe(200);
}

/** Stops one process as an operator would; resolves when it has ended. */
async function terminate(running: TestCluster, name: string): Promise<number> {
  const pid = running.pidOf(name);
  const began = performance.now();
  process.kill(pid, 'SIGTERM');
  await eventually(60_000, `${name} ends`, () => !isAlive(pid));
  return performance.now() - began;
}

const show = (text: string) => process.stdout.write(`${text}\n`);

/** What is stopped is started again by hand, so that it is away as long as a test wants. */
let running: TestCluster;

beforeAll(async () => {
  running = await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] });
}, 300_000);

afterAll(() => running?.destroy(), 300_000);

describe('a rolling restart under load', () => {
  test('shows no error to clients of other nodes, and puts the leaders back', async () => {
    await eventually(60_000, 'leaders are where they belong', () => isLedAsWanted(running));
    const sdk = countThroughSdk(running);
    await upgrade(running, 'begin');
    for (const node of [0, 1, 2]) {
      const name = `datanode${node + 1}`;
      const through = loadThrough(running, (node + 1) % 3);
      await pause(1_000);
      const tookMs = await terminate(running, name);
      await pause(300);
      running.startByHand(name);
      const backMs = await eventually(60_000, `leaders are back on ${name}`, () =>
        isLedAsWanted(running),
      );
      await pause(500);
      await through.untilWritten(WRITES_MIN);
      await through.stop();
      const report = await through.verify(running.gatewayPort((node + 2) % 3));
      show(`${name} stopped in ${tookMs.toFixed(0)} ms, leads again after ${backMs.toFixed(0)} ms`);
      show(JSON.stringify(report));
      expect(report).toMatchObject({ violations: [], refused: 0, unknown: 0 });
      expect(report.writes).toBeGreaterThan(WRITES_MIN);
    }
    await upgrade(running, 'done');
    await eventually(60_000, 'the SDK has counted', () => {
      return Math.min(...sdk.counted) > COUNTED_MIN || sdk.failures.length > 0;
    });
    const { counted, found, failures } = await sdk.stop();
    show(`the SDK counted to ${counted.join(', ')}`);
    expect(failures).toEqual([]);
    expect(found).toEqual(counted);
    expect(Math.min(...counted)).toBeGreaterThan(COUNTED_MIN);
  }, 500_000);

  test('a client of the node that stops gets every reply before its connection ends', async () => {
    await eventually(60_000, 'leaders are where they belong', () => isLedAsWanted(running));
    const client = connect(running.gatewayPort(0));
    const closed = once(client, 'close');
    const acknowledged = new Map<string, number>();
    let stopping = false;
    const writers = Array.from({ length: 12 }, async (_, at) => {
      const key = `rolling:${at}`;
      try {
        while (!stopping) acknowledged.set(key, await client.incr(key));
      } catch {
        // sent when nothing was read any more: not carried out
      }
    });
    await eventually(60_000, 'every client is answered', () => {
      return acknowledged.size === writers.length;
    });
    const gone = terminate(running, 'datanode1');
    await within(60_000, closed, () => 'the connection does not end');
    stopping = true;
    await gone;
    await Promise.all(writers);
    const other = connect(running.gatewayPort(1));
    const carriedOut = new Map<string, number>();
    for (const key of acknowledged.keys()) carriedOut.set(key, Number(await other.get(key)));
    expect(carriedOut).toEqual(acknowledged);
    expect(carriedOut.size).toBe(writers.length);
    other.disconnect();
    client.disconnect();
    running.startByHand('datanode1');
  }, 300_000);
});

describe('leaders', () => {
  test('are back where the table wants them after a kill -9, without an error', async () => {
    await eventually(60_000, 'leaders are where they belong', () => isLedAsWanted(running));
    // it comes back when others lead: a quick one could be back before that was seen
    await running.killAndWait('datanode1');
    await eventually(60_000, 'others lead', async () => {
      const { partitions } = await running.status();
      return partitions.every(({ leader }) => leader !== null && leader !== 'datanode1');
    });
    running.startByHand('datanode1');
    const load = loadThrough(running, 1);
    const tookMs = await eventually(60_000, 'leaders are back', () => isLedAsWanted(running));
    await pause(500);
    await load.stop();
    const report = await load.verify(running.gatewayPort(2));
    show(`killed: leaders are back after ${tookMs.toFixed(0)} ms; ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ violations: [], refused: 0, unknown: 0 });
  }, 300_000);

  test('that are handed over keep the writes of their partition waiting for a moment', async () => {
    const running = ended(await startCluster({ partitions: 1, flags: ['--no-restart'] }));
    const gaps: number[] = [];
    for (let round = 0; round < 3; round++) {
      // the client's own node may be the one that was stopped in the round before
      await eventually(60_000, 'all nodes are there, and the wanted one leads', async () => {
        const [partition] = (await running.status()).partitions;
        const { leader, replicas = [] } = partition ?? {};
        const allRun = replicas.filter(({ state }) => state === 'running').length === 3;
        return allRun && leader === replicas[0]?.node;
      });
      const first = (await running.status()).partitions[0]!.leader!;
      const through = (Number(first.slice(-1)) % 3) as number;
      const client = connect(running.gatewayPort(through));
      let longest = 0;
      let last = performance.now();
      let writing = true;
      const writer = (async () => {
        while (writing) {
          await client.incr('gap');
          const now = performance.now();
          longest = Math.max(longest, now - last);
          last = now;
        }
      })();
      await pause(1_000);
      const quiet = longest;
      longest = 0;
      await terminate(running, first);
      writing = false;
      await writer;
      client.disconnect();
      gaps.push(longest - quiet);
      running.startByHand(first);
    }
    // a busy machine keeps writes waiting as well: what it did before does not count
    show(`writes wait ${gaps.map((ms) => ms.toFixed(0))} ms longer while a node stops`);
    expect(Math.min(...gaps)).toBeLessThan(PAUSE_MS);
  }, 400_000);
});

describe('a node that nobody can take over from', () => {
  test('stops promptly', async () => {
    const cluster = ended(await startCluster({ nodes: 1, partitions: 2, flags: ['--no-restart'] }));
    // it would wait five seconds for others
    expect(await terminate(cluster, 'datanode1')).toBeLessThan(5_000);
  });
});
