/** What a scenario is: a name that says the class of bug, a cluster and a script. */
import { drawPlan, type RunPlan } from '../plan.ts';
import { type RunResult, runPlan } from '../run.ts';
import type { Script } from './scene.ts';

export interface Scenario {
  /** The entry of the list of bug classes that it stands for, and the class. */
  readonly name: string;
  readonly plan: RunPlan;
  readonly script: Script;
}

/** Three nodes, one partition, a quick and even world; what a scenario needs otherwise it says. */
const quiet: Partial<RunPlan> = {
  ...{
    nodes: 3,
    dataCentres: 1,
    partitions: 1,
    replicas: 3,
    clients: 0,
    consumers: 0,
    keys: 1,
    faults: [],
  },
  ...{ sdk: [], followers: 0, absence: undefined, topic: 'registers', flushes: false, thinkMs: 10 },
  ...{ turnMs: 0, tickMs: 40, electionTicks: 6, sleepAfterTicks: 0, reads: 'linearizable' },
  ...{ latencyMinMs: 0.5, latencyMaxMs: 3, bytesPerMs: Number.POSITIVE_INFINITY },
  ...{ splitChance: 0.1, mergeChance: 0.5, diskLatencyMs: 0.3, skewMs: 0, drift: 0 },
  ...{ engineStalls: { share: 0, ms: 0 }, engineSyncMs: 50, engineRotateBytes: 16_384 },
  engineWholeBytes: Number.POSITIVE_INFINITY,
  keyFilterMisses: 5,
  ...{ logKeepEntries: 200, logKeepBytes: 100_000, logHeldBytes: 1_000_000 },
  ...{ segmentBytes: 16_384, messageBytesMax: 1_048_576 },
};

export function scenario(name: string, changes: Partial<RunPlan>, script: Script): Scenario {
  return { name, plan: { ...drawPlan(name), ...quiet, ...changes }, script };
}

export function playScenario(
  { plan, script }: Scenario,
  options: { readonly judged?: boolean; readonly trapped?: boolean } = {},
): Promise<RunResult> {
  const { judged = true, trapped = true } = options;
  return runPlan(plan, judged, { script, trapped });
}
