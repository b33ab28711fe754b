/**
 * How long nobody can write after a leader has died: from `kill -9` of a datanode to the first write
 * accepted, for each partition it led. Writes go through the gateways of the two other nodes; those
 * that count are sent after the process has gone. The node is started again before the next kill.
 */
import { tagsOf } from './key-tags.ts';
import { type RunningKvorum, startKvorum } from './kvorum-cluster.ts';
import { percentile } from './percentile.ts';
import { Probe } from './probe.ts';
import type { Scenario, Stage } from './scenario.ts';
import type { Judged } from './targets.ts';

const START_SECONDS = 15;
/** A kill, the start of the node, and until leaders are where they should be. */
const KILL_SECONDS = 15;
const SETTLE_MS = 90_000;
/** Beyond which the cluster counts as broken. */
const FAILOVER_MS = 30_000;

export const failover: Scenario = {
  text: 'kill -9 of a leader to the first write accepted',
  seconds: ({ kills }) => START_SECONDS + kills * KILL_SECONDS,
  async measure(stage) {
    const kvorum = await startKvorum(stage.directory);
    try {
      return judge(await killAll(stage, kvorum));
    } finally {
      await kvorum.stop();
    }
  },
};

async function killAll(stage: Stage, kvorum: RunningKvorum): Promise<readonly number[]> {
  const { names } = kvorum.datanodes;
  const { kills } = stage.options;
  const pauses: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const victim = names[kill % names.length]!;
    const found = await killOne(kvorum, victim);
    pauses.push(...found);
    const shown = found.map((ms) => ms.toFixed(0)).join(', ');
    stage.progress(`failover: kill ${kill + 1} of ${kills}, ${victim}: ${shown} ms`);
  }
  return pauses;
}

/** Milliseconds, for each partition that `victim` led. */
async function killOne(kvorum: RunningKvorum, victim: string): Promise<readonly number[]> {
  const { datanodes, partitions } = kvorum;
  const led = async () =>
    ((await datanodes.status(victim)) ?? []).filter(({ role }) => role === 'leader');
  await datanodes.untilSettled(SETTLE_MS);
  const share = Math.floor(partitions / datanodes.names.length);
  await datanodes.until(SETTLE_MS, `${victim} leads its share`, async () => {
    return (await led()).length >= share;
  });
  const tags = tagsOf(
    (await led()).map(({ partition }) => partition),
    partitions,
  );
  const survivors = datanodes.names.filter((name) => name !== victim);
  const ports = survivors.map((name) => datanodes.gatewayPort(name));
  const probes = await Promise.all(
    tags.map((tag) => Promise.all(ports.map((port) => Probe.open(port, `{${tag}}:failover`)))),
  );
  const all = probes.flat();
  const late = setTimeout(() => closeAll(all), FAILOVER_MS);
  try {
    // nobody sleeps who is written to: what is measured is a group in use
    await Promise.all(all.map((probe) => probe.write()));
    const beganMs = performance.now();
    await datanodes.kill(victim);
    return await Promise.all(
      probes.map(async (same) => {
        const first = await Promise.race(same.map((probe) => probe.write()));
        if (first === undefined) throw new Error(`no write within ${FAILOVER_MS / 1_000} s`);
        return first.answeredMs - beganMs;
      }),
    );
  } finally {
    clearTimeout(late);
    closeAll(all);
    datanodes.launch(victim);
  }
}

function closeAll(probes: readonly Probe[]): void {
  for (const probe of probes) probe.close();
}

function judge(pausesMs: readonly number[]): readonly Judged[] {
  const note = `${pausesMs.length} partitions lost their leader`;
  const of = (share: number) => percentile(pausesMs, share) / 1_000;
  const common = { unit: 's', better: 'less', note } as const;
  return [
    { text: 'failover, p50', ...common, reach: 1, goal: 0.6, measured: of(0.5) },
    { text: 'failover, p99', ...common, reach: 1.8, goal: 1, measured: of(0.99) },
  ];
}
