/**
 * `kvorum demo kill-leader`: a cluster of its own under load, whose busiest leaders are killed, and
 * a judge of what became of the writes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { must } from '../../common/assert.ts';
import { KvorumError } from '../../common/errors.ts';
import { Client } from '../../sdk/index.ts';
import { barLine, sayJson } from '../admin/print.ts';
import { isAlive, readRunFiles } from '../run-file.ts';
import { collect } from '../status.ts';
import { startTemporaryCluster, type TemporaryCluster } from '../temporary-cluster.ts';
import { check } from './checker.ts';
import { busiestLeader, isWhole } from './leaders.ts';
import { readBack } from './read-back.ts';
import { type DemoReport, grouped, isClean, type Kill, makeReport, reportLines } from './report.ts';
import { Screen } from './screen.ts';
import { Workload } from './workload.ts';

export interface KillLeaderOptions {
  /** Of load; longer when the killed nodes need longer to come back. */
  readonly seconds: number;
  readonly kills: number;
  readonly nodes: number;
  readonly partitions: number;
  /** Writes under way at once. */
  readonly workers: number;
  readonly json?: boolean;
}

const CLIENTS = 4;
const KEYS = 16;
const LOOK_MS = 100;
const WHOLE_MS = 60_000;

/** Sets the exit code: 1 when anything was found, 128 and the signal's number when one ended it. */
export async function killLeader(options: KillLeaderOptions): Promise<void> {
  const screen = new Screen(process.stdout, options.json === true);
  const interrupted = interruptOnSignal();
  try {
    const report = await demonstrate(options, screen, interrupted.signal);
    if (options.json) sayJson(report);
    else screen.result(['', ...reportLines(report, isColored())]);
    if (!isClean(report)) process.exitCode = 1;
  } catch (failure) {
    if (!interrupted.signal.aborted) throw failure;
    if (!options.json) screen.result(['stopped; nothing of it is left']);
    process.exitCode = 128 + interrupted.signalNumber();
  }
}

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

function interruptOnSignal(): { readonly signal: AbortSignal; signalNumber(): number } {
  const controller = new AbortController();
  let number = 0;
  for (const [name, its] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      number ||= its;
      controller.abort(new Error(`ended by ${name}`));
    });
  }
  return { signal: controller.signal, signalNumber: () => number };
}

function isColored(): boolean {
  return process.stdout.isTTY === true && !process.env['NO_COLOR'];
}

async function demonstrate(
  options: KillLeaderOptions,
  screen: Screen,
  signal: AbortSignal,
): Promise<DemoReport> {
  const { nodes, partitions } = options;
  screen.event(`${nodes} datanodes and a placedriver start, ${partitions} partitions …`);
  const cluster = await startTemporaryCluster({ nodes, partitions, signal });
  try {
    return await new Demonstration(options, cluster, screen, signal).run();
  } finally {
    await cluster.stop();
  }
}

class Demonstration {
  readonly #options: KillLeaderOptions;
  readonly #cluster: TemporaryCluster;
  readonly #screen: Screen;
  readonly #signal: AbortSignal;
  readonly #kills: Kill[] = [];
  #beganMs = 0;

  constructor(
    options: KillLeaderOptions,
    cluster: TemporaryCluster,
    screen: Screen,
    signal: AbortSignal,
  ) {
    this.#options = options;
    this.#cluster = cluster;
    this.#screen = screen;
    this.#signal = signal;
  }

  async run(): Promise<DemoReport> {
    const { workers } = this.#options;
    await this.#whole();
    const writers = Array.from({ length: CLIENTS }, () => new Client(this.#cluster.url()));
    await Promise.all(writers.map((client) => client.connect()));
    this.#screen.event(`${workers} clients write through the SDK: INCR, RPUSH and SET\n`);
    this.#beganMs = performance.now();
    const kinds = ['counter', 'list', 'register'] as const;
    const load = new Workload({ writers, workers, kinds, keys: KEYS, prefix: 'demo' });
    try {
      await this.#disturb(load);
      const seconds = Math.round(this.#elapsedMs() / 100) / 10;
      await load.stop();
      return await this.#judge(load, seconds);
    } finally {
      for (const client of writers) client.disconnect();
      await load.stop();
    }
  }

  async #judge(load: Workload, seconds: number): Promise<DemoReport> {
    const { partitions } = this.#options;
    const { errors: clientErrors, longestPauseMs } = load.progress();
    // The node that was killed last shows what it has now.
    const reader = this.#kills.at(-1)?.node ?? 'datanode1';
    const address = must(this.#cluster.gateways[placeOf(reader)], `${reader} has a gateway`);
    const verdict = check(load.told, await readBack(address, load.told));
    const judged = { verdict, clientErrors, longestPauseMs, errors: load.errorTexts };
    return makeReport({ seconds, partitions, kills: this.#kills }, judged);
  }

  /** Kills, evenly over the time. */
  async #disturb(load: Workload): Promise<void> {
    const { seconds, kills } = this.#options;
    const wholeMs = seconds * 1_000;
    const timer = setInterval(() => this.#showProgress(load), LOOK_MS);
    try {
      for (let at = 1; at <= kills; at++) {
        await this.#until((wholeMs * at) / (kills + 1));
        await this.#killBusiest();
      }
      await this.#until(wholeMs);
    } finally {
      clearInterval(timer);
    }
  }

  async #killBusiest(): Promise<void> {
    const { partitions } = this.#options;
    const { directory } = this.#cluster;
    const { name, led } = must(
      busiestLeader((await collect(directory)).partitions),
      'a whole cluster has leaders',
    );
    const pid = must(this.#pidOf(name), `${name} runs`);
    const killedMs = performance.now();
    this.#cluster.kill(placeOf(name));
    this.#tell(`kill -9 ${name}: it led ${led} of ${partitions} partitions`);
    await this.#waitFor(`${name} is started again`, async () => {
      return (this.#pidOf(name) ?? pid) !== pid;
    });
    await this.#whole();
    const backMs = Math.round(performance.now() - killedMs);
    this.#kills.push({ node: name, pid, led, backMs });
    this.#tell(`${name} is back with all its replicas, ${(backMs / 1_000).toFixed(1)} s later`);
  }

  #whole(): Promise<void> {
    const { partitions } = this.#options;
    return this.#waitFor('all partitions are led and all replicas run', async () =>
      isWhole((await collect(this.#cluster.directory)).partitions, partitions),
    );
  }

  async #waitFor(what: string, holds: () => Promise<boolean>): Promise<void> {
    const untilMs = performance.now() + WHOLE_MS;
    while (!(await holds())) {
      if (performance.now() > untilMs) {
        throw new KvorumError('DEADLINE', `not within ${WHOLE_MS / 1_000} s: ${what}`);
      }
      await sleep(LOOK_MS, undefined, { signal: this.#signal });
    }
  }

  async #until(elapsedMs: number): Promise<void> {
    const leftMs = elapsedMs - this.#elapsedMs();
    await sleep(Math.max(0, leftMs), undefined, { signal: this.#signal });
  }

  /** Of the process that runs; undefined between two. */
  #pidOf(name: string): number | undefined {
    const run = readRunFiles(this.#cluster.directory).find((one) => one.name === name);
    return run && isAlive(run.pid) ? run.pid : undefined;
  }

  #elapsedMs(): number {
    return performance.now() - this.#beganMs;
  }

  #tell(line: string): void {
    const seconds = (this.#elapsedMs() / 1_000).toFixed(1);
    this.#screen.event(`${seconds.padStart(6)} s  ${line}`);
  }

  #showProgress(load: Workload): void {
    const { acknowledged, errors, longestPauseMs } = load.progress();
    const progress = Math.min(1, this.#elapsedMs() / (this.#options.seconds * 1_000));
    const pause = `longest pause ${grouped(longestPauseMs)} ms`;
    const said = [`${grouped(acknowledged)} writes acknowledged`, `${errors} errors`, pause];
    this.#screen.live(barLine(progress, said.join(', ')));
  }
}

/** `datanode1` is the first, 0. */
function placeOf(name: string): number {
  return Number(name.replace('datanode', '')) - 1;
}
