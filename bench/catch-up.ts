/**
 * How fast an emptied datanode is filled by snapshots, with the throttle of the senders out of the
 * way: from the moment it has its first replica until all have caught up and vote. Its data directory
 * is removed while it is down, so it comes back as another incarnation, with new replicas.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { fill } from './fill.ts';
import { rawBytes } from './fill-words.ts';
import { type RunningKvorum, startKvorum } from './kvorum-cluster.ts';
import { FILLS_OF_1K_PER_SECOND, type Scenario, type Stage, VALUE_1K } from './scenario.ts';
import type { Judged } from './targets.ts';

const START_SECONDS = 60;
const SETTLE_MS = 120_000;
/** A transfer slower than this counts as stuck. */
const LEAST_BYTES_PER_SECOND = 1_000_000;
const NODE = 'datanode3';
/** More than any link here carries. */
const UNTHROTTLED = 10 * 1024 ** 3;

export const catchUp: Scenario = {
  text: 'an emptied datanode is filled by snapshots, unthrottled',
  seconds: ({ keys }) => START_SECONDS + keys / FILLS_OF_1K_PER_SECOND + keys / 30_000,
  async measure(stage) {
    const kvorum = await startKvorum(stage.directory);
    try {
      return await measureCatchUp(stage, kvorum);
    } finally {
      await kvorum.stop();
    }
  },
};

async function measureCatchUp(stage: Stage, kvorum: RunningKvorum): Promise<readonly Judged[]> {
  const { datanodes } = kvorum;
  const { keys } = stage.options;
  const size = { count: keys, valueBytes: VALUE_1K };
  for (const name of datanodes.names) await unthrottle(kvorum, name);
  stage.progress(`catch-up: filling with ${keys.toLocaleString('en-US')} keys of 1 KiB`);
  await fill({ port: kvorum.clusterPort, first: 0, ...size });
  await datanodes.untilSettled(SETTLE_MS);
  await datanodes.kill(NODE);
  rmSync(datanodes.directory(NODE), { recursive: true });
  const launchedMs = performance.now();
  datanodes.launch(NODE);
  const boundMs = SETTLE_MS + (rawBytes(size) / LEAST_BYTES_PER_SECOND) * 1_000;
  await datanodes.until(boundMs, `${NODE} has a replica`, async () => {
    return ((await datanodes.status(NODE)) ?? []).length > 0;
  });
  const beganMs = performance.now();
  await datanodes.until(boundMs, `${NODE} is filled`, async () => {
    if ((await datanodes.unsettled()) > 0) return false;
    return ((await datanodes.status(NODE)) ?? []).every(({ role }) => role !== 'learner');
  });
  const overMs = performance.now();
  const megabytes = rawBytes(size) / 1e6;
  return [
    {
      text: 'snapshot catch-up of an emptied node',
      ...{ unit: 'MB/s', better: 'more', reach: 40, goal: 120 },
      measured: megabytes / ((overMs - beganMs) / 1_000),
      note:
        `${megabytes.toFixed(0)} MB in ${((overMs - beganMs) / 1_000).toFixed(1)} s; ` +
        `${((beganMs - launchedMs) / 1_000).toFixed(1)} s from its start to its first replica`,
    },
  ];
}

async function unthrottle({ datanodes }: RunningKvorum, name: string): Promise<void> {
  await datanodes.untilSettled(SETTLE_MS);
  await datanodes.kill(name);
  const path = datanodes.config(name);
  const config = parse(readFileSync(path, 'utf8')) as { limits?: Record<string, number> };
  config.limits = { ...config.limits, 'snapshot-bytes-per-second': UNTHROTTLED };
  writeFileSync(path, stringify(config));
  datanodes.launch(name);
  await datanodes.untilSettled(SETTLE_MS);
}
