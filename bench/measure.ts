/** Measures one system after it has started, and stops it: the rows of redis, kvorum and etcd. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Accounting, type Memory, type Usage } from './accounting.ts';
import { checkPerf, checkPerfLoad } from './check-perf.ts';
import { pause, run } from './children.ts';
import { type RunningEtcd, startEtcd } from './etcd-cluster.ts';
import { BEGIN, type EtcdLoad, type EtcdLoadResult } from './etcd-load-words.ts';
import { startKvorum } from './kvorum-cluster.ts';
import type { Options } from './options.ts';
import { etcdLoads, redisLoads } from './plan.ts';
import * as benchmark from './redis-benchmark.ts';
import { keysOf } from './redis-door.ts';
import { startRedis } from './redis-server.ts';
import { round } from './report.ts';
import type { Row } from './results.ts';
import type { Door, Running } from './system.ts';

export interface Scene {
  readonly options: Options;
  /** For data; empty of this system's. */
  readonly directory: string;
  began(system: Running): void;
  row(row: Omit<Row, 'system' | 'round'>): void;
  memory(name: string, held: Memory): void;
  progress(text: string): void;
}

const here = fileURLToPath(new URL('.', import.meta.url));
const kvorumScript = join(here, '..', '..', 'dist', 'cli', 'kvorum.js');
const etcdLoadScript = join(here, 'etcd-load.js');

/** After the filling, before the first row: what was written is compacted meanwhile. */
const SETTLE_MS = 3_000;
const FILL_PIPELINE = 16;
/** etcd is filled with fewer keys, all of which the GETs then find. */
const ETCD_KEYS = 20_000;

export async function measureRedis(scene: Scene): Promise<void> {
  const redis = await startRedis(scene.directory);
  await measured(scene, redis, async (accounting) => {
    const target = { port: redis.port, cluster: false, keySpace: benchmark.KEY_SPACE };
    await measureDoor(scene, redis, accounting, 'redis', target, keysOf(redis.port));
  });
}

export async function measureKvorum(scene: Scene): Promise<void> {
  const kvorum = await startKvorum(scene.directory, kvorumScript);
  await measured(scene, kvorum, async (accounting) => {
    const { clusterPort, gatewayPort } = kvorum;
    const keys = keysOf(gatewayPort);
    await keys.deleteAll();
    const { keySpace, slots } = await benchmark.clusterKeySpace(clusterPort, keys);
    scene.progress(`redis-benchmark --cluster uses ${slots} slots: -r ${keySpace} in each`);
    const cluster = { port: clusterPort, cluster: true, keySpace };
    await measureDoor(scene, kvorum, accounting, 'kvorum cluster', cluster, keys);
    await keys.deleteAll();
    const gateway = { port: gatewayPort, cluster: false, keySpace: benchmark.KEY_SPACE };
    await measureDoor(scene, kvorum, accounting, 'kvorum gateway', gateway, keys);
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
  } finally {
    accounting.close();
    await system.stop();
  }
}

async function measureDoor(
  scene: Scene,
  system: Running,
  accounting: Accounting,
  door: Door,
  target: benchmark.Target,
  keys: { count(): Promise<number> },
): Promise<void> {
  const { options } = scene;
  scene.progress(`${door}: filling with ${options.fill.toLocaleString('en-US')} SETs`);
  const filling = { test: 'SET', pipeline: FILL_PIPELINE, clients: 50, valueBytes: 100 } as const;
  await benchmark.request(target, filling, options.fill);
  await pause(SETTLE_MS);
  const hitShare = (await keys.count()) / benchmark.KEY_SPACE;
  for (const load of redisLoads(options.full)) {
    const { result, usage } = await benchmark.measure(target, load, options.seconds, (work) =>
      accounting.during(work),
    );
    system.check();
    tell(scene, {
      ...{ door, ...load, ...result, usage },
      ...(load.test === 'GET' && { hitShare }),
    });
  }
}

async function measureEtcdLoad(
  scene: Scene,
  etcd: RunningEtcd,
  accounting: Accounting,
  load: benchmark.Load,
  fill: boolean,
): Promise<void> {
  const { seconds } = scene.options;
  const { test, clients, valueBytes } = load;
  if (fill) scene.progress(`etcd: filling with ${ETCD_KEYS.toLocaleString('en-US')} keys`);
  const keySpace = test === 'GET' ? ETCD_KEYS : benchmark.KEY_SPACE;
  const warmSeconds = Math.min(2, seconds);
  const told: EtcdLoad = {
    ...{ endpoint: etcd.leader, test, clients, valueBytes, keySpace, fill, warmSeconds, seconds },
  };
  let close: ReturnType<Accounting['open']> | undefined;
  let usage: Usage | undefined;
  let result: EtcdLoadResult | undefined;
  const outcome = await run(process.execPath, [etcdLoadScript, JSON.stringify(told)], {
    timeoutMs: 120_000 + seconds * 1_000,
    onOutput(stdout) {
      const [begin, answer] = stdout.split('\n');
      if (begin === BEGIN) close ??= accounting.open();
      if (!answer || !stdout.endsWith('\n')) return;
      result = JSON.parse(answer) as EtcdLoadResult;
      usage = close?.(result.cpuSeconds);
    },
  });
  if (result === undefined || usage === undefined) throw new Error(outcome.stderr);
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
  scene.progress(`etcd: its own check perf --load=${name}, ${seconds} s`);
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
