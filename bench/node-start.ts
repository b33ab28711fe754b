/**
 * How long a datanode that holds much takes to start: from its launch until it says that it is ready,
 * so until its replicas are open and verified and it knows every leader. After it was stopped as an
 * operator does, which is what counts; and after kill -9, when its logs end anywhere.
 */
import { fill } from './fill.ts';
import { rawBytes } from './fill-words.ts';
import { type RunningKvorum, startKvorum } from './kvorum-cluster.ts';
import { percentile } from './percentile.ts';
import { FILLS_OF_1K_PER_SECOND, type Scenario, type Stage, VALUE_1K } from './scenario.ts';
import type { Judged } from './targets.ts';

const STARTS = 5;
const START_SECONDS = 15;
const EACH_SECONDS = 10;
const SETTLE_MS = 120_000;
const READY_MS = 300_000;
const LOOK_MS = 10;
const NODE = 'datanode1';

export const nodeStart: Scenario = {
  text: 'start of a datanode that holds many keys of 1 KiB',
  seconds: ({ keys }) => START_SECONDS + keys / FILLS_OF_1K_PER_SECOND + 2 * STARTS * EACH_SECONDS,
  async measure(stage) {
    const kvorum = await startKvorum(stage.directory);
    try {
      return await measureStarts(stage, kvorum);
    } finally {
      await kvorum.stop();
    }
  },
};

async function measureStarts(stage: Stage, kvorum: RunningKvorum): Promise<readonly Judged[]> {
  const { keys } = stage.options;
  const size = { count: keys, valueBytes: VALUE_1K };
  stage.progress(`start: filling with ${keys.toLocaleString('en-US')} keys of 1 KiB`);
  await fill({ port: kvorum.clusterPort, first: 0, ...size });
  const clean: number[] = [];
  const killed: number[] = [];
  for (let at = 0; at < STARTS; at++) {
    clean.push(await startAfter(kvorum, 'terminate'));
    killed.push(await startAfter(kvorum, 'kill'));
    const shown = [clean, killed].map((all) => all.at(-1)!.toFixed(2));
    stage.progress(`start ${at + 1} of ${STARTS}: ${shown[0]} s, after kill -9 ${shown[1]} s`);
  }
  const gigabytes = (rawBytes(size) / 1e9).toFixed(2);
  const of = (all: readonly number[]) => `${Math.max(...all).toFixed(2)} s at most`;
  return [
    {
      text: 'start of a node, p50',
      ...{ unit: 's', better: 'less', reach: 4, goal: 1, measured: percentile(clean, 0.5) },
      note:
        `${gigabytes} GB on it, ${STARTS} starts, ${of(clean)}; after kill -9 p50 ` +
        `${percentile(killed, 0.5).toFixed(2)} s, ${of(killed)}`,
    },
  ];
}

/** Seconds. */
async function startAfter(kvorum: RunningKvorum, end: 'terminate' | 'kill'): Promise<number> {
  const { datanodes } = kvorum;
  await datanodes.untilSettled(SETTLE_MS);
  await datanodes[end](NODE);
  const began = performance.now();
  datanodes.launch(NODE);
  await datanodes.until(READY_MS, `${NODE} is ready`, () => datanodes.isReady(NODE), LOOK_MS);
  return (performance.now() - began) / 1_000;
}
