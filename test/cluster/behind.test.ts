/** A follower that was away for longer than the log is kept, while clients write on. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseMetrics } from '../common/http/parse-metrics.ts';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { connect, Load } from './load.ts';

const MIB = 1024 * 1024;
const RATE = 4 * MIB;
const VALUE = 16 * 1024;
const PER_PIPELINE = 64;
const names = ['datanode1', 'datanode2', 'datanode3'];

const ended = endedAfterEach();

/** By hand, from its own configuration with a lower rate for snapshots. */
function startThrottled(running: TestCluster, name: string): ChildProcess {
  const config = `${name}-throttled.yaml`;
  const text = readFileSync(join(running.data, `${name}.yaml`), 'utf8');
  const limits = `limits:\n  snapshot-bytes-per-second: ${RATE}\n`;
  writeFileSync(join(running.data, config), `${text}\n${limits}`);
  return running.startByHand(name, config);
}

/** Random text, which neither engine nor wire makes smaller. */
async function fill(port: number, mib: number, mark: string): Promise<void> {
  const client = connect(port);
  const count = (mib * MIB) / VALUE;
  for (let from = 0; from < count; from += PER_PIPELINE) {
    const batch = client.pipeline();
    for (let at = from; at < Math.min(count, from + PER_PIPELINE); at++) {
      const filler = Array.from({ length: 64 }, () => Math.random().toString(36)).join('');
      batch.set(`fill:${at}`, `${mark} ${filler.repeat(VALUE / filler.length)}`);
    }
    for (const [failure] of (await batch.exec()) ?? []) expect(failure).toBeNull();
  }
  client.disconnect();
}

/** Bytes of all files below `folder`; what goes away meanwhile counts nothing. */
function bytesBelow(folder: string): number {
  let total = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile()) total += stat.size;
  }
  return total;
}

async function counter(running: TestCluster, name: string, of: readonly string[]) {
  const { processes } = await running.status();
  let total = 0;
  for (const process of processes.filter((one) => of.includes(one.name))) {
    const page = await (await fetch(`http://127.0.0.1:${process.ports.http}/metrics`)).text();
    total += parseMetrics(page).samples(name)[0]?.value ?? 0;
  }
  return total;
}

test(`is sent ${scale.snapshotMiB} MiB, throttled and broken off once, and catches up`, async () => {
  const running = ended(await startCluster({ partitions: 1, flags: ['--no-restart'] }));
  await running.killAndWait(...names);
  startThrottled(running, 'datanode1');
  startThrottled(running, 'datanode2');
  await eventually(60_000, 'two of three lead', async () => {
    const { partitions } = await running.status();
    return partitions[0]?.leader != null;
  });
  await fill(running.gatewayPort(0), scale.snapshotMiB, 'old');
  const load = ended(
    new Load({
      ports: [0, 1].map((node) => running.gatewayPort(node)),
      clusterPorts: [0, 1].map((node) => running.clusterPort(node)),
      ...{ partitions: 1, writers: 6, readers: 2, keysPerWriter: 16 },
    }),
  );
  const began = performance.now();
  const late = startThrottled(running, 'datanode3');
  const boundMs = ((scale.snapshotMiB * MIB) / RATE) * 1_000;
  await eventually(60_000, 'datanode3 is there', async () => {
    const [partition] = (await running.status()).partitions;
    return partition?.replicas.find(({ node }) => node === 'datanode3')?.state === 'running';
  });
  const folder = join(running.data, 'datanode3', 'engines');
  await eventually(boundMs * 10, 'a part of the snapshot has arrived', () => {
    const arrived = bytesBelow(folder);
    return arrived > (scale.snapshotMiB * MIB) / 6;
  });
  // silent for longer than connections bear: the stream breaks in its middle
  late.kill('SIGSTOP');
  await pause(3_000);
  late.kill('SIGCONT');
  const others = fill(running.gatewayPort(1), scale.snapshotMiB / 2, 'new');
  await eventually(boundMs * 10 + 30_000, 'datanode3 has caught up', async () => {
    const [partition] = (await running.status()).partitions;
    const own = partition?.replicas.find(({ node }) => node === 'datanode3');
    return own !== undefined && own.match > 0 && own.match >= partition!.commit - 50;
  });
  const tookMs = performance.now() - began;
  await others;
  await pause(1_000);
  const sent = await counter(running, 'kvorum_snapshots_sent_total', names);
  const broken = await counter(running, 'kvorum_snapshots_failed_total', names.slice(0, 2));
  await load.stop();
  const report = await load.verify(running.gatewayPort(0));
  process.stdout.write(
    `caught up after ${(tookMs / 1_000).toFixed(1)} s (at least ${(boundMs / 1_000).toFixed(1)} s` +
      ` by the throttle); ${sent} snapshots sent, ${broken} broken off; ${JSON.stringify(report)}\n`,
  );
  expect(report.violations).toEqual([]);
  expect(tookMs).toBeGreaterThan(boundMs * 0.8);
  expect(broken).toBeGreaterThanOrEqual(1);
  // the log was held for it all the time, also while its stream was broken off
  expect(sent).toBe(1);
  const reader = connect(running.gatewayPort(2));
  expect(await reader.get('fill:0')).toMatch(/^new /);
  expect(await reader.get(`fill:${(scale.snapshotMiB * MIB) / VALUE - 1}`)).toMatch(/^old /);
  reader.disconnect();
}, 400_000);
