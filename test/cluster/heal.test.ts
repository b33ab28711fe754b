import { closeSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { areSettled } from './ask.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { Load } from './load.ts';

const WRITES_MIN = 100;
let running: TestCluster;
let load: Load;
let loads = 0;

const ended = endedAfterEach();

beforeAll(async () => {
  running = await startCluster({ partitions: 4, flags: ['--no-restart'] });
}, 300_000);

afterAll(() => running?.destroy(), 300_000);

function startLoad(): Load {
  const nodes = [0, 1, 2];
  return new Load({
    ports: nodes.map((node) => running.gatewayPort(node)),
    clusterPorts: nodes.map((node) => running.clusterPort(node)),
    partitions: 4,
    writers: 4,
    readers: 2,
    keysPerWriter: 16,
    prefix: `load ${loads++}`,
  });
}

/** Every partition has three settled, running replicas, caught up; `node` has none in `before`. */
async function isWhole(node: string, before: readonly number[]) {
  const { partitions } = await running.status();
  return (
    (await areSettled(running.ports.http)) &&
    partitions.length === 4 &&
    partitions.every(({ replicas, commit, leader }) => {
      const own = replicas.find((replica) => replica.node === node);
      const whole = replicas.every(
        ({ state, role, match }) =>
          state === 'running' && role !== 'learner' && match >= commit - 50,
      );
      return leader !== null && whole && own !== undefined && !before.includes(own.id);
    })
  );
}

async function replicasOn(node: string): Promise<number[]> {
  const { partitions } = await running.status();
  return partitions.flatMap(({ replicas }) =>
    replicas.filter((replica) => replica.node === node).map(({ id }) => id),
  );
}

async function verified(): Promise<void> {
  await load.untilWritten(WRITES_MIN);
  await load.stop();
  const report = await load.verify(running.gatewayPort(1));
  process.stdout.write(`${JSON.stringify(report)}\n`);
  expect(report.violations).toEqual([]);
  expect(report.writes).toBeGreaterThan(WRITES_MIN);
}

describe('a node that lost its disk', () => {
  test('comes back as a new incarnation, filled by its peers under load', async () => {
    const client = new Redis({ port: running.gatewayPort(1) });
    client.on('error', () => {});
    await client.function('LOAD', LIBRARY);
    load = ended(startLoad());
    await pause(1_000);
    const before = await replicasOn('datanode3');
    await running.killAndWait('datanode3');
    rmSync(join(running.data, 'datanode3'), { recursive: true });
    running.startByHand('datanode3');
    const tookMs = await eventually(120_000, 'datanode3 has new replicas', () =>
      isWhole('datanode3', before),
    );
    process.stdout.write(`wiped: whole again after ${tookMs.toFixed(0)} ms\n`);
    // what it holds now counts: another may go
    await running.killAndWait('datanode1');
    const acknowledged = load.acknowledged;
    await eventually(60_000, 'writes go on', () =>
      load.acknowledged.every((count, at) => count > acknowledged[at]! + 2),
    );
    await hasLibrary(running.followerPort(2));
    client.disconnect();
    running.startByHand('datanode1');
    await verified();
  }, 400_000);
});

const LIBRARY = `#!lua name=lib
  redis.register_function{function_name='where', flags={'no-writes'}, callback=function(keys)
    return keys[1]
  end}`;

/** In all partitions, as a follower of each has it. */
async function hasLibrary(port: number): Promise<void> {
  const client = new Redis({ port, readOnly: true });
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
    await eventually(60_000, `it knows the function for ${key}`, async () => {
      const answer = await client.fcall_ro('where', 1, key).catch(String);
      return answer === key;
    });
  }
  client.disconnect();
}

describe('a node whose raft log is damaged', () => {
  test('sets its data aside and is filled by its peers', async () => {
    // the test before has lost a node and started another: both are to be back
    await eventually(120_000, 'all replicas are there', () => isWhole('datanode2', []));
    load = ended(startLoad());
    await pause(1_000);
    const before = await replicasOn('datanode2');
    await running.killAndWait('datanode2');
    flipInLog(join(running.data, 'datanode2', 'log'));
    running.startByHand('datanode2');
    const tookMs = await eventually(120_000, 'datanode2 has new replicas', () =>
      isWhole('datanode2', before),
    );
    process.stdout.write(`damaged log: whole again after ${tookMs.toFixed(0)} ms\n`);
    expect(readdirSync(join(running.data, 'datanode2', 'quarantine'))).toContain('log');
    await verified();
  }, 400_000);
});

/** One bit in the first batch of the first segment, which later batches say is durable. */
function flipInLog(dir: string): void {
  const [first] = readdirSync(dir).filter((name) => statSync(join(dir, name)).size > 0);
  const file = openSync(join(dir, first!), 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, 40);
  writeSync(file, Buffer.from([byte[0]! ^ 4]), 0, 1, 40);
  closeSync(file);
}
