/**
 * kill -9 at any moment: under load that keeps every file moving, of any process, of two at once,
 * and in one of five rounds again while the killed one is still recovering; else when some writes
 * have been acknowledged since, so that there is something to lose.
 */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { eventually, pause, startCluster, type TestCluster } from '../cluster/cluster.ts';
import { Load } from '../cluster/load.ts';
import { scale } from '../scale.ts';
import { BulkLoad } from './bulk-load.ts';
import { inRounds, limitOf } from './rounds.ts';

const seed = process.env['KVORUM_KILL_SEED'] ?? '1';
const NODES = ['datanode1', 'datanode2', 'datanode3'];
const PARTITIONS = 4;
const AWAY_MS = 1_500;
/** Words of a node that does not trust its files. */
const DAMAGE = /a replica stopped|set aside|CORRUPT|damage/;
/** Of writes that are waited for before a kill, at most. */
const WRITES_BETWEEN = 60;
/** Before a kill, and for each thing that is waited for behind the last one. */
const ROUND_WAIT_MS = 240_000;
const WAIT_MS = 240_000;

let cluster: TestCluster | undefined;
let load: Load | undefined;
let bulk: BulkLoad | undefined;
const children = new Map<string, ChildProcess>();
const killedByUs = new Set<ChildProcess>();
const comingBack = new Set<NodeJS.Timeout>();
/** Processes that ended though nobody had killed them, and how. */
const endedAlone: string[] = [];

afterEach(async () => {
  for (const timer of comingBack) clearTimeout(timer);
  await Promise.all([load?.stop(), bulk?.stop()]);
  await cluster?.destroy();
}, 300_000);

function startAgain(running: TestCluster, name: string): void {
  const child = running.startByHand(name);
  children.set(name, child);
  child.once('exit', (code, signal) => {
    if (!killedByUs.has(child)) endedAlone.push(`${name}: ${signal ?? `exit code ${code}`}`);
  });
}

async function kill(running: TestCluster, name: string): Promise<void> {
  const child = children.get(name);
  if (child === undefined) running.kill(name);
  else if (child.exitCode === null && child.signalCode === null) {
    killedByUs.add(child);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

test(
  'loses nothing that was acknowledged',
  async () => {
    cluster = await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] });
    const running = cluster;
    const gateways = NODES.map((_, at) => running.gatewayPort(at));
    load = new Load({
      ports: gateways,
      clusterPorts: NODES.map((_, at) => running.clusterPort(at)),
      partitions: PARTITIONS,
      writers: 6,
      readers: 2,
      keysPerWriter: 16,
    });
    bulk = new BulkLoad(gateways, 3);
    const random = seededRandom(`kills ${seed}`);
    const kills = new Map<string, number>();
    const away = new Set<string>();
    await inRounds({ what: 'kills', count: scale.randomKills }, async () => {
      const wanted = random.below(5) === 0 ? 0 : random.below(WRITES_BETWEEN);
      if (wanted > 0) await moreWrites(running, load!, wanted);
      await pause(random.below(2_000));
      const victims = [NODES[random.below(NODES.length)]!];
      if (random.below(4) === 0) victims.push(NODES[random.below(NODES.length)]!);
      if (random.below(6) === 0) victims.push('placedriver1');
      for (const name of new Set(victims)) {
        if (away.has(name)) continue;
        await kill(running, name);
        kills.set(name, (kills.get(name) ?? 0) + 1);
        away.add(name);
        // now and then it is gone for a while, and the others go on without it
        const start = () => {
          away.delete(name);
          startAgain(running, name);
        };
        comingBack.add(setTimeout(start, random.below(5) === 0 ? AWAY_MS : 0));
      }
    });
    await pause(AWAY_MS + 100);
    const before = load.acknowledged;
    await within(running, WAIT_MS, 'writes go on everywhere', () =>
      load!.acknowledged.every((count, at) => count > before[at]! + 2),
    );
    const enough = 10 * scale.randomKills;
    await within(running, WAIT_MS, `${enough} writes`, () => load!.report.writes > enough);
    await within(running, WAIT_MS, 'large values are written', () => bulk!.bytes > 1e5);
    expect(endedAlone).toEqual([]);
    await Promise.all([load.stop(), bulk.stop()]);
    await everyReplicaHolds(running);
    const report = await load.verify(gateways[0]!);
    const wrong = await bulk.verify(gateways[1]!);
    const { violations, ...counts } = report;
    const killed = JSON.stringify(Object.fromEntries(kills));
    process.stdout.write(`seed ${seed} killed ${killed}: ${JSON.stringify(counts)}\n`);
    process.stdout.write(`large values: ${(bulk.bytes / 1e6).toFixed(0)} MB acknowledged\n`);
    expect([...violations, ...wrong]).toEqual([]);
    // peers fill again what a node has found damaged: so nothing may be, whatever moment it was killed at
    expect(NODES.flatMap((name) => damageToldBy(running, name))).toEqual([]);
  },
  // each wait ends before the test does, and says what did not come
  5 * WAIT_MS + limitOf(scale.randomKills),
);

async function moreWrites(running: TestCluster, load: Load, count: number): Promise<void> {
  const written = () => load.acknowledged.reduce((sum, writes) => sum + writes, 0);
  const before = written();
  await within(running, ROUND_WAIT_MS, 'writes go on', () => written() - before >= count);
}

/** Each replica has come back to its group's commit index. */
async function everyReplicaHolds(running: TestCluster): Promise<void> {
  await within(running, WAIT_MS, 'every replica has caught up', async () => {
    const { partitions } = await running.status();
    const isThere = partitions.every(({ replicas, commit }) =>
      replicas.every(({ state, match }) => state === 'running' && match >= commit),
    );
    return partitions.length === PARTITIONS && isThere;
  });
}

function damageToldBy(running: TestCluster, name: string): string[] {
  const lines = readFileSync(join(running.data, 'log', `${name}.log`), 'utf8').split('\n');
  return lines.filter((line) => DAMAGE.test(line));
}

/** As `eventually`, with what the processes say of themselves when it does not come. */
async function within(
  running: TestCluster,
  ms: number,
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  await eventually(ms, what, condition).catch(async ({ message }: Error) => {
    const account = await running.account(...NODES, 'placedriver1');
    throw new Error([message, ...endedAlone, account].join('\n'));
  });
}
