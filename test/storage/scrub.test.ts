import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { areSettled } from '../cluster/ask.ts';
import { eventually, startCluster, type TestCluster } from '../cluster/cluster.ts';
import { connect } from '../cluster/load.ts';
import { flipBitIn } from './flip.ts';
import { quiet } from './truth.ts';

const KEYS = 4_000;
const VALUE = 'v'.repeat(2_000);

let cluster: TestCluster | undefined;

afterEach(async () => {
  await cluster?.destroy();
}, 300_000);

test('is found by the scrub, and the replica is rebuilt from its peers', async () => {
  cluster = await startCluster({ partitions: 1, flags: ['--no-restart'] });
  const running = cluster;
  const client = connect(running.gatewayPort(0));
  await running.killAndWait('datanode3');
  for (let from = 0; from < KEYS; from += 500) {
    const batch = client.pipeline();
    for (let at = from; at < from + 500; at++) batch.set(`key:${at}`, `${at} ${VALUE}`);
    for (const [failure] of (await batch.exec()) ?? []) expect(failure).toBeNull();
  }
  const config = join(running.data, 'datanode3.yaml');
  appendFileSync(config, 'timing:\n  scrub-pause-ms: 200\n');
  running.startByHand('datanode3');
  const own = async () => {
    const [partition] = (await running.status()).partitions;
    const replica = partition?.replicas.find(({ node }) => node === 'datanode3');
    const whole = partition?.leader !== null && replica?.match === partition?.commit;
    return replica?.state === 'running' && replica.role === 'follower' && whole
      ? replica
      : undefined;
  };
  await eventually(90_000, 'datanode3 has caught up', async () => (await own()) !== undefined);
  const before = (await own())!.id;

  const engines = join(running.data, 'datanode3', 'engines');
  await quiet(engines);
  const tables = readdirSync(engines, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ldb'))
    .map((name) => join(engines, name))
    .sort((a, b) => statSync(b).size - statSync(a).size);
  const table = tables[0]!;
  flipBitIn(table, Math.floor(statSync(table).size / 2), 3);
  const tookMs = await eventually(90_000, 'datanode3 has another replica', async () => {
    const now = await own();
    return now !== undefined && now.id !== before && (await areSettled(running.ports.http));
  });
  process.stdout.write(`rebuilt ${tookMs.toFixed(0)} ms after the flip\n`);
  const log = readFileSync(join(running.data, 'log', 'datanode3.log'), 'utf8');
  expect(log).toMatch(new RegExp(`${table}:\\d+: checksum mismatch`));
  // what it holds now counts: the two others held everything before
  running.kill('datanode2');
  await eventually(60_000, 'partition 0 is served', async () => (await client.dbsize()) === KEYS);
  for (let from = 0; from < KEYS; from += 500) {
    const keys = Array.from({ length: 500 }, (_, at) => `key:${from + at}`);
    expect(await client.mget(keys)).toEqual(keys.map((_, at) => `${from + at} ${VALUE}`));
  }
  client.disconnect();
}, 300_000);
