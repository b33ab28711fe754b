/** One run: a cluster, load, faults one after the other, and the verdict. */
import { setImmediate } from 'node:timers/promises';
import { seededRandom } from '../src/common/random.ts';
import { pause } from '../tools/children.ts';
import { type Abilities, impossible } from './abilities.ts';
import {
  countIn,
  longestGap,
  StallWatch,
  slowest,
  throughput,
  type Window,
} from './availability.ts';
import { ChaosCluster } from './cluster.ts';
import { GatewayDoor } from './doors.ts';
import { beginFault } from './faults.ts';
import { type Addresses, Load, readAll } from './load.ts';
import { LoopbackNetwork, NamespaceNetwork, type Network } from './network.ts';
import type { Options } from './options.ts';
import { Recorder } from './recorder.ts';
import { type FaultKind, type PlannedFault, schedule } from './schedule.ts';
import { judge, type Verdict } from './verdict.ts';

export interface FaultRecord {
  readonly kind: FaultKind;
  readonly what: string;
  /** Seconds from the beginning of the load. */
  readonly fromS: number;
  readonly healedS: number;
  /** Until every node answered for every partition and all replicas had caught up. */
  readonly wholeS: number;
  /** The longest without a successful probe of some partition, until all was whole again. */
  readonly longestGapMs: number;
  readonly slowestMs: { readonly sdk: number; readonly gateway: number; readonly cluster: number };
  readonly refused: number;
  readonly unknown: number;
}

export interface RunResult {
  readonly network: Network['kind'];
  readonly slowLink: string | undefined;
  readonly skipped: readonly (readonly [FaultKind, string])[];
  readonly faults: readonly FaultRecord[];
  readonly verdict: Verdict;
  readonly counts: Recorder['counts'];
  readonly texts: readonly (readonly [string, number])[];
  /** The longest without a successful probe of some partition before the first fault. */
  readonly quietGapMs: number;
  /** Successful calls per second, in steps of a second. */
  readonly perSecond: readonly number[];
  readonly finalReads: number;
  /** Seconds at which the whole machine stood still; not counted as unavailability. */
  readonly stoodStill: readonly { readonly fromS: number; readonly toS: number }[];
  /** What kept the cluster from coming back; empty: nothing did. */
  readonly stuck: readonly string[];
}

const QUIET_MS = 4_000;
const WHOLE_MS = 90_000;
const BUCKET_MS = 1_000;

export interface Surroundings {
  readonly directory: string;
  readonly abilities: Abilities;
  readonly signal: AbortSignal;
  say(line: string): void;
}

export async function run(options: Options, around: Surroundings): Promise<RunResult> {
  const { abilities, directory, say } = around;
  const isPrivate = abilities.noNamespaces === undefined;
  const machines = Math.max(options.datanodes, options.placedrivers, options.etcds);
  const network = isPrivate ? new NamespaceNetwork(machines) : new LoopbackNetwork();
  const cluster = new ChaosCluster(network, {
    directory,
    ...{ datanodes: options.datanodes, placedrivers: options.placedrivers },
    ...{ etcds: options.etcds, partitions: options.partitions },
    faketime: abilities.faketime,
    smallDisk: abilities.noSmallDisk === undefined,
  });
  try {
    say(
      `${options.datanodes} datanodes, ${options.placedrivers} placedrivers, ${options.etcds} etcd start …`,
    );
    await cluster.start();
    return await new ChaosRun(options, around, cluster).go();
  } finally {
    await cluster.destroy();
  }
}

class ChaosRun {
  readonly #options: Options;
  readonly #around: Surroundings;
  readonly #cluster: ChaosCluster;
  readonly #recorder: Recorder;
  readonly #addresses: Addresses;
  readonly #faults: FaultRecord[] = [];
  readonly #stuck: string[] = [];
  readonly #stalls = new StallWatch();
  #beganMs = 0;

  constructor(options: Options, around: Surroundings, cluster: ChaosCluster) {
    this.#options = options;
    this.#around = around;
    this.#cluster = cluster;
    this.#recorder = new Recorder(options.partitions);
    this.#addresses = {
      placedrivers: cluster.placedrivers(),
      gateways: cluster.gateways(),
      clusterPorts: cluster.clusterPorts(),
    };
  }

  async go(): Promise<RunResult> {
    const { seed, clients, faults: wanted, datanodes } = this.#options;
    const reasons = impossible(this.#around.abilities, { datanodes });
    const kinds = wanted.filter((kind) => !reasons.has(kind));
    const skipped = [...reasons].filter(([kind]) => wanted.includes(kind));
    for (const [kind, reason] of skipped) this.#say(`no ${kind}: ${reason}`);
    this.#beganMs = performance.now();
    const random = seededRandom(`work ${seed}`);
    const load = new Load(this.#addresses, clients, random, this.#recorder);
    this.#say(`clients work at three doors, ${clients + 1} each`);
    let toMs: number;
    try {
      await this.#sleep(QUIET_MS);
      await this.#inject(kinds);
      await this.#sleep(QUIET_MS / 2);
    } finally {
      await load.stop();
      toMs = performance.now();
      this.#stalls.stop();
    }
    const finalReads = this.#stuck.length > 0 ? 0 : await readAll(this.#addresses, this.#recorder);
    this.#say(
      `${finalReads} keys were read once more; ${this.#recorder.calls.length} calls are judged`,
    );
    const verdict = await judge(this.#recorder.calls, () => setImmediate());
    const { answers, probes, counts, texts } = this.#recorder;
    const quiet = { fromMs: this.#beganMs + 1_000, toMs: this.#beganMs + QUIET_MS };
    const { network } = this.#cluster;
    return {
      network: network.kind,
      slowLink: (network as { slowLink?: string }).slowLink,
      ...{ skipped, faults: this.#faults, verdict, counts },
      texts: [...texts].sort((a, b) => b[1] - a[1]),
      quietGapMs: longestGap(probes, quiet, this.#options.partitions),
      perSecond: throughput(answers, { fromMs: this.#beganMs, toMs }, BUCKET_MS),
      stoodStill: this.#stalls.stalls
        .filter((stall) => stall.fromMs > this.#beganMs && stall.fromMs < toMs)
        .map(({ fromMs, toMs: till }) => ({ fromS: this.#since(fromMs), toS: this.#since(till) })),
      ...{ finalReads, stuck: this.#stuck },
    };
  }

  async #inject(kinds: readonly FaultKind[]): Promise<void> {
    const { seed, seconds, datanodes } = this.#options;
    const plans = schedule(seed, kinds, datanodes);
    const lastedMs = () => this.#stalls.lastedMs(this.#beganMs, performance.now());
    while (lastedMs() < seconds * 1_000 && this.#stuck.length === 0) {
      const plan = plans.next().value;
      await this.#sleep(plan.quietMs);
      await this.#injectOne(plan);
    }
  }

  async #injectOne(plan: PlannedFault): Promise<void> {
    const fromMs = performance.now();
    this.#say(`${plan.kind} …`);
    let what: string = plan.kind;
    let healedMs = fromMs;
    try {
      const fault = await beginFault(this.#cluster, plan);
      what = fault.what;
      await this.#sleep(plan.holdMs).finally(() => fault.end());
      healedMs = performance.now();
      await this.#whole();
    } catch (failure) {
      if (this.#around.signal.aborted) throw failure;
      this.#stuck.push(
        `${plan.kind} (${what}): ${failure instanceof Error ? failure.message : failure}`,
      );
      this.#say(`  did not come back: ${this.#stuck.at(-1)}`);
    }
    const record = this.#record(plan.kind, what, fromMs, healedMs);
    this.#faults.push(record);
    const { longestGapMs, healedS, wholeS } = record;
    this.#say(
      `  ${what}; healed after ${((healedMs - fromMs) / 1_000).toFixed(1)} s, whole ` +
        `${(wholeS - healedS).toFixed(1)} s later; some partition did not answer for ` +
        `${(longestGapMs / 1_000).toFixed(1)} s`,
    );
  }

  #record(kind: FaultKind, what: string, fromMs: number, healedMs: number): FaultRecord {
    const window: Window = { fromMs, toMs: performance.now() };
    const { answers, probes } = this.#recorder;
    const lasted = (from: number, to: number) => this.#stalls.lastedMs(from, to);
    const waited = (door: 'sdk' | 'gateway' | 'cluster') =>
      Math.round(slowest(answers, window, door, lasted));
    return {
      kind,
      what,
      fromS: this.#since(fromMs),
      healedS: this.#since(healedMs),
      wholeS: this.#since(window.toMs),
      longestGapMs: Math.round(longestGap(probes, window, this.#options.partitions, lasted)),
      slowestMs: { sdk: waited('sdk'), gateway: waited('gateway'), cluster: waited('cluster') },
      refused: countIn(answers, window, 'refused'),
      unknown: countIn(answers, window, 'unknown'),
    };
  }

  /** Seconds from the beginning of the load, to the hundredth. */
  #since(ms: number): number {
    return Math.round((ms - this.#beganMs) / 10) / 100;
  }

  /** Every node answers for every partition, and all replicas have caught up. */
  async #whole(): Promise<void> {
    const keys = Array.from({ length: this.#options.partitions }, (_, at) =>
      this.#recorder.keyOf(at),
    );
    await this.#cluster.until(WHOLE_MS, 'the cluster is whole', async () => {
      this.#around.signal.throwIfAborted();
      if ((await this.#cluster.unsettled()) > 0) return false;
      const answers = this.#addresses.gateways.map(async (address) => {
        const door = new GatewayDoor([address], 0);
        try {
          for (const key of keys) {
            const { kind } = await door.send({ lines: [['SET', key, '1']] });
            if (kind !== 'ok') return false;
          }
          return true;
        } finally {
          door.close();
        }
      });
      return (await Promise.all(answers)).every(Boolean);
    });
  }

  #say(line: string): void {
    const seconds = this.#beganMs === 0 ? 0 : (performance.now() - this.#beganMs) / 1_000;
    const { ok, refused, unknown } = this.#recorder.counts;
    const counts = `${ok} ok, ${refused} refused, ${unknown} unknown`;
    this.#around.say(`${seconds.toFixed(1).padStart(6)} s  ${line}  [${counts}]`);
  }

  async #sleep(ms: number): Promise<void> {
    const untilMs = performance.now() + ms;
    while (performance.now() < untilMs) {
      this.#around.signal.throwIfAborted();
      await pause(Math.min(100, Math.max(1, untilMs - performance.now())));
    }
  }
}
