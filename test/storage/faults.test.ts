/**
 * One node of three has a disk that is full, broken or read-only, under load: it acknowledges
 * nothing more, others lead, its log says what to do, and when the disk is mended it has its
 * replicas again, with everything that was acknowledged.
 */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  eventually,
  pause,
  planCluster,
  startCluster,
  type TestCluster,
} from '../cluster/cluster.ts';
import { Load } from '../cluster/load.ts';
import { noSmallDisks, SmallDisk } from './small-disk.ts';
import { breakSyncs, hangSyncs, noAttaching } from './strace.ts';

const PARTITIONS = 2;
const DISK_BYTES = 160 * 1_024 * 1_024;
const noDisks = noSmallDisks();
const noTracing = noAttaching();
for (const reason of [noDisks, noTracing]) {
  if (reason !== undefined) process.stdout.write(`SKIPPED in part: ${reason}\n`);
}

let cluster: TestCluster | undefined;
let load: Load | undefined;
let disk: SmallDisk | undefined;
const children: ChildProcess[] = [];

afterEach(async () => {
  await load?.stop();
  load = undefined;
  const ended = children.splice(0).map((child) => {
    child.kill('SIGKILL');
    return child.exitCode !== null || child.signalCode !== null
      ? undefined
      : new Promise((resolve) => child.once('exit', resolve));
  });
  await Promise.all(ended);
  await cluster?.stop();
  disk?.destroy();
  disk = undefined;
  await cluster?.destroy();
  cluster = undefined;
}, 300_000);

/** datanode1 has a disk of its own. */
async function startOnSmallDisk(...flags: string[]): Promise<TestCluster> {
  cluster = await planCluster({ partitions: PARTITIONS, flags });
  await cluster.start();
  await cluster.stop();
  disk = new SmallDisk(DISK_BYTES);
  disk.mount(join(cluster.data, 'datanode1'));
  await cluster.start();
  return cluster;
}

function startLoad(running: TestCluster): Load {
  const others = [1, 2];
  load = new Load({
    ports: others.map((node) => running.gatewayPort(node)),
    clusterPorts: others.map((node) => running.clusterPort(node)),
    partitions: PARTITIONS,
    writers: 4,
    readers: 2,
    keysPerWriter: 16,
  });
  return load;
}

/** A cluster that acknowledges; `ids`: of datanode1, as is `pid`. */
async function startUnderLoad(): Promise<{ running: TestCluster; ids: number[]; pid: number }> {
  cluster = await startCluster({ partitions: PARTITIONS });
  const running = cluster;
  const ids = await replicasOn(running, 'datanode1');
  startLoad(running);
  await acknowledges();
  return { running, ids, pid: running.pidOf('datanode1') };
}

/** Every partition acknowledges, and `node` leads none. */
async function goesOnWithout(running: TestCluster, node: string): Promise<void> {
  await eventually(60_000, `${node} leads nothing`, async () => {
    const { partitions } = await running.status();
    return (
      partitions.length === PARTITIONS &&
      partitions.every(({ leader }) => leader !== null && leader !== node)
    );
  });
  await acknowledges();
}

async function acknowledges(): Promise<void> {
  const before = load!.acknowledged;
  await eventually(60_000, 'writes go on', () =>
    load!.acknowledged.every((count, at) => count > before[at]! + 5),
  );
}

/** `node` takes part again in every partition, with the replicas it had. */
async function isBack(running: TestCluster, node: string, ids: readonly number[]): Promise<void> {
  await eventually(120_000, `${node} has its replicas again`, async () => {
    const { partitions } = await running.status();
    return partitions.every(({ replicas, commit, leader }) => {
      const own = replicas.find((replica) => replica.node === node);
      const here = own?.state === 'running' && ids.includes(own.id);
      return leader !== null && here && own.match >= commit - 100;
    });
  });
}

async function replicasOn(running: TestCluster, node: string): Promise<number[]> {
  const { partitions } = await running.status();
  return partitions.flatMap(({ replicas }) =>
    replicas.filter((replica) => replica.node === node).map(({ id }) => id),
  );
}

/** With `other` gone, what `node` acknowledged since counts; nothing is missing. */
async function verified(running: TestCluster, other: string): Promise<void> {
  running.kill(other);
  await acknowledges();
  await load!.untilWritten(30);
  await load!.stop();
  const report = await load!.verify(running.gatewayPort(0));
  process.stdout.write(`${JSON.stringify(report)}\n`);
  expect(report.violations).toEqual([]);
  expect(report.writes).toBeGreaterThan(30);
}

/** What each thread of a process that should have ended is in the midst of. */
function threadsOf(pid: number): string {
  const read = (file: string) => readFileSync(`/proc/${pid}/task/${file}`, 'utf8').trim();
  return readdirSync(`/proc/${pid}/task`)
    .map((id) => `${read(`${id}/stat`).split(' ', 3).slice(1).join(' ')} in ${read(`${id}/wchan`)}`)
    .join('\n');
}

const logOf = (running: TestCluster, node: string) =>
  readFileSync(join(running.data, 'log', `${node}.log`), 'utf8');

describe.skipIf(noDisks !== undefined)('a full disk', () => {
  test('stops its node’s replicas alone, and they come back when there is room', async () => {
    const running = await startOnSmallDisk();
    const ids = await replicasOn(running, 'datanode1');
    startLoad(running);
    await acknowledges();
    disk!.fill();
    await eventually(60_000, 'datanode1 says so', () =>
      /No space left on device|ENOSPC/.test(logOf(running, 'datanode1')),
    );
    await goesOnWithout(running, 'datanode1');
    await pause(3_000);
    await goesOnWithout(running, 'datanode1');
    expect(logOf(running, 'datanode1')).toMatch(/make room/);
    disk!.makeRoom();
    await isBack(running, 'datanode1', ids);
    await verified(running, 'datanode2');
  }, 400_000);
});

describe.skipIf(noDisks !== undefined)('a disk that turned read-only', () => {
  test('ends its node, which goes on with its data when the disk is mended', async () => {
    const running = await startOnSmallDisk('--no-restart');
    const ids = await replicasOn(running, 'datanode1');
    const pid = running.pidOf('datanode1');
    startLoad(running);
    await acknowledges();
    disk!.breakIt();
    await eventually(90_000, 'datanode1 has ended', () => {
      if (isAlive(pid)) throw new Error(`${threadsOf(pid)}\n${logOf(running, 'datanode1')}`);
      return true;
    });
    await goesOnWithout(running, 'datanode1');
    expect(logOf(running, 'datanode1')).toMatch(/[Rr]ead-only file system|EROFS/);
    expect(logOf(running, 'datanode1')).toMatch(
      /let its file system be written again .*, then start this node again/,
    );
    disk!.mendIt();
    running.startByHand('datanode1');
    await isBack(running, 'datanode1', ids);
    await verified(running, 'datanode2');
  }, 400_000);
});

describe.skipIf(noTracing !== undefined)('a disk whose syncs fail with EIO', () => {
  test('ends its node, which hands over its leaders first and is started again', async () => {
    const { running, ids, pid } = await startUnderLoad();
    children.push(await breakSyncs(pid));
    await eventually(60_000, 'datanode1 has ended', () => !isAlive(pid));
    await acknowledges();
    expect(logOf(running, 'datanode1')).toMatch(/writing failed \(EIO.*replace the disk/);
    await isBack(running, 'datanode1', ids);
    await verified(running, 'datanode3');
  }, 400_000);
});

describe.skipIf(noTracing !== undefined)('a disk that answers no more', () => {
  test('ends its node after a while, and others lead what it led', async () => {
    const { running, ids, pid } = await startUnderLoad();
    const hung = await hangSyncs(pid);
    children.push(hung);
    await eventually(60_000, 'datanode1 says so', () =>
      /no answer for 20 s/.test(logOf(running, 'datanode1')),
    );
    await goesOnWithout(running, 'datanode1');
    // as from a disk's driver, nobody is taken out of the tracer's hands
    hung.kill('SIGKILL');
    await eventually(30_000, 'datanode1 has ended', () => !isAlive(pid));
    expect(logOf(running, 'datanode1')).toMatch(/writing failed \(no answer.*replace the disk/);
    await isBack(running, 'datanode1', ids);
    await verified(running, 'datanode3');
  }, 400_000);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
