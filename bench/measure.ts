/** Measures one system after it has started, and stops it: the rows of redis, kvorum and etcd. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause } from '../tools/children.ts';
import { Accounting, type Memory } from './accounting.ts';
import { checkPerf, checkPerfLoad } from './check-perf.ts';
import { type RunningEtcd, startEtcd } from './etcd-cluster.ts';
import { BEGIN, type EtcdLoad, type EtcdLoadResult } from './etcd-load-words.ts';
import { startKvorum } from './kvorum-cluster.ts';
import { underLeases } from './lease-reads.ts';
import { runLoad } from './load-program.ts';
import type { Options } from './options.ts';
import { etcdLoads, leaseLoads, redisLoads, restOfFilling } from './plan.ts';
import * as benchmark from './redis-benchmark.ts';
import { keysOf } from './redis-door.ts';
import { startRedis } from './redis-server.ts';
import type { Row } from './results.ts';
import { round } from './sheet.ts';
import type { Door, Running } from './system.ts';
import { measureTimed, type TimedRow } from './timed.ts';

export interface Scene {
  readonly options: Options;
  /** For data; empty. */
  readonly directory: string;
  began(system: Running): void;
  row(row: Omit<Row, 'system' | 'round'>): void;
  timed(row: Omit<TimedRow, 'system' | 'round'>): void;
  memory(name: string, held: Memory): void;
  progress(text: string): void;
}

const here = fileURLToPath(new URL('.', import.meta.url));
const etcdLoadScript = join(here, 'etcd-load.js');

/** After the filling, before the first row: what was written is compacted meanwhile. */
const SETTLE_MS = 3_000;
/** In which the death of a server is heard of at the latest. */
const DEATH_MS = 200;

/** The first part of a filling tells how long the rest will take. */
const FILL_FIRST = 0.1;
/** etcd is filled with fewer keys, all of which the GETs then find. */
const ETCD_KEYS = 20_000;

export async function measureRedis(scene: Scene): Promise<void> {
  const redis = await startRedis(scene.directory);
  await measured(scene, redis, async (accounting) => {
    const target = { port: redis.port, cluster: false, keySpace: benchmark.KEY_SPACE };
    const site = { scene, system: redis, accounting, keys: keysOf(redis.port) };
    await fillDoor(scene, 'redis', target);
    await measureDoor(site, 'redis', target);
  });
}

export async function measureKvorum(scene: Scene): Promise<void> {
  const kvorum = await startKvorum(scene.directory);
  await measured(scene, kvorum, async (accounting) => {
    const { clusterPort, gatewayPort } = kvorum;
    const keys = keysOf(gatewayPort);
    await keys.deleteAll();
    const { keySpace, slots, tags } = await benchmark.clusterKeySpace(clusterPort, keys);
    scene.progress(`redis-benchmark --cluster uses ${slots} slots: -r ${keySpace} in each`);
    const cluster = { port: clusterPort, cluster: true, keySpace, tags };
    const site = { scene, system: kvorum, accounting, keys };
    await fillDoor(scene, 'kvorum cluster', cluster);
    const underLease = leaseLoads(scene.options.full);
    if (underLease.length > 0) {
      await underLeases(kvorum, () =>
        measureLoads(site, 'kvorum cluster, leases', cluster, underLease),
      );
    }
    await measureDoor(site, 'kvorum cluster', cluster);
    await keys.deleteAll();
    const gateway = { port: gatewayPort, cluster: false, keySpace: benchmark.KEY_SPACE };
    await fillDoor(scene, 'kvorum gateway', gateway);
    await measureDoor(site, 'kvorum gateway', gateway);
  });
}

export async function measureEtcd(scene: Scene): Promise<void> {
  const etcd = await startEtcd(scene.directory);
  await measured(scene, etcd, async (accounting) => {
    let fill = true;
    for (const load of etcdLoads(scene.options.full)) {
      await measureEtcdLoad(scene, etcd, accounting, load, fill);
      fill = false;
    }
    if (scene.options.checkPerf) await measureCheckPerf(scene, etcd, accounting);
  });
}

/** Runs `work` on a system that has started; notes its processes' memory; stops it in any case. */
async function measured(
  scene: Scene,
  system: Running,
  work: (accounting: Accounting) => Promise<void>,
): Promise<void> {
  const accounting = new Accounting(system.processes);
  try {
    scene.began(system);
    await work(accounting);
    system.check();
    for (const [name, held] of Object.entries(accounting.memory())) scene.memory(name, held);
  } catch (failure) {
    // When a server has died, that is the cause; what its client says of it is not.
    await pause(DEATH_MS);
    system.check();
    accounting.check();
    throw failure;
  } finally {
    accounting.close();
    await system.stop();
  }
}

/** A system that runs and holds its keys. */
interface Site {
  readonly scene: Scene;
  readonly system: Running;
  readonly accounting: Accounting;
  readonly keys: { count(): Promise<number> };
}

async function measureDoor(site: Site, door: Door, target: benchmark.Target): Promise<void> {
  const { scene, system, accounting } = site;
  const { options } = scene;
  await measureLoads(site, door, target, redisLoads(options.full));
  if (!options.full) return;
  await measureTimed(target, options.seconds, accounting, (row) => {
    system.check();
    scene.timed({ door, ...row });
    const { name, rate, perSecond, p99Ms } = row;
    const asked = rate === 0 ? '' : ` of ${round(rate)}/s sent`;
    scene.progress(`${door}: ${name}: ${round(perSecond)}/s${asked}, p99 ${round(p99Ms)} ms`);
  });
}

async function measureLoads(
  { scene, system, accounting, keys }: Site,
  door: Door,
  target: benchmark.Target,
  loads: readonly benchmark.Load[],
): Promise<void> {
  for (const load of loads) {
    const found = load.test === 'GET' && { hitShare: (await keys.count()) / benchmark.KEY_SPACE };
    await benchmark.prepare(target, load);
    const { result, usage } = await benchmark.measure(target, load, scene.options.seconds, (work) =>
      accounting.during(work),
    );
    system.check();
    tell(scene, { door, ...load, ...result, usage, ...found });
  }
}

async function fillDoor(scene: Scene, door: Door, target: benchmark.Target): Promise<void> {
  const { fill, full } = scene.options;
  const count = (value: number) => Math.round(value).toLocaleString('en-US');
  scene.progress(`${door}: filling with ${count(fill)} SETs`);
  const filling = { test: 'SET', pipeline: 16, clients: 50, valueBytes: 100 } as const;
  const first = fill * FILL_FIRST;
  const { perSecond } = await benchmark.request(target, filling, first);
  const rest = full ? fill - first : restOfFilling(fill, first, perSecond);
  // Two runs and no more: runs of redis-benchmark that follow each other may draw the same keys,
  // for it seeds by time and process id.
  await benchmark.request(target, filling, rest);
  if (first + rest < fill) {
    scene.progress(`${door}: too slow for more than ${count(first + rest)} SETs`);
  }
  await pause(SETTLE_MS);
}

async function measureEtcdLoad(
  scene: Scene,
  etcd: RunningEtcd,
  accounting: Accounting,
  load: benchmark.Load,
  fill: boolean,
): Promise<void> {
  const { seconds } = scene.options;
  const { clients, valueBytes } = load;
  const test = load.test === 'GET' ? 'GET' : 'SET';
  if (fill) scene.progress(`etcd: filling with ${ETCD_KEYS.toLocaleString('en-US')} keys`);
  const keySpace = test === 'GET' ? ETCD_KEYS : benchmark.KEY_SPACE;
  const warmSeconds = Math.min(2, seconds);
  const told: EtcdLoad = {
    ...{ endpoint: etcd.leader, test, clients, valueBytes, keySpace, fill, warmSeconds, seconds },
  };
  const { result, usage } = await runLoad<EtcdLoadResult>(etcdLoadScript, told, accounting, {
    ...{ begin: BEGIN, who: 'the gRPC clients of etcd' },
  });
  etcd.check();
  const { perSecond, p50Ms, p99Ms, hits, requests } = result;
  const hitShare = hits / requests;
  tell(scene, {
    ...{ door: 'etcd', ...load, perSecond, p50Ms, p99Ms, usage },
    ...(test === 'GET' && { hitShare }),
  });
}

async function measureCheckPerf(
  scene: Scene,
  etcd: RunningEtcd,
  accounting: Accounting,
): Promise<void> {
  const { name, clients, valueBytes, seconds } = checkPerfLoad;
  scene.progress(`etcd: its own check perf --load=${name}, ${seconds} s or longer`);
  const { result, usage } = await accounting.during(() => checkPerf(etcd.endpoints));
  etcd.check();
  const [p50Ms, p99Ms] = [Number.NaN, Number.NaN];
  const { perSecond, complaints } = result;
  const load = { test: 'SET', pipeline: 1, clients, valueBytes } as const;
  tell(scene, { door: 'etcd check perf', ...load, perSecond, p50Ms, p99Ms, usage });
  if (complaints.length > 0) scene.progress(`etcd says: ${complaints.join('; ')}`);
}

function tell(scene: Scene, row: Omit<Row, 'system' | 'round'>): void {
  scene.row(row);
  const { door, test, pipeline, clients, valueBytes, perSecond, p50Ms, usage, hitShare } = row;
  const others = usage.otherCores > 0.15 ? `; others ${usage.otherCores.toFixed(1)} cores` : '';
  const hits = hitShare === undefined ? '' : `; ${(hitShare * 100).toFixed(0)} % found`;
  scene.progress(
    `${door}: ${test} ×${pipeline}, ${clients} clients, ${valueBytes} bytes: ` +
      `${round(perSecond)}/s, p50 ${round(p50Ms)} ms${hits}${others}`,
  );
}
