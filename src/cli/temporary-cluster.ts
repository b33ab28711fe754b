/** A cluster of real processes in a directory of its own, which go with it: for tests. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { must } from '../common/assert.ts';
import { KvorumError } from '../common/errors.ts';
import { didYouMean } from '../common/nearest-name.ts';
import { type ProcessPlan, prepareDirectory } from './cluster-dir.ts';
import { type Slot, takeSlot } from './port-slot.ts';
import { isRunning, readRunFiles } from './run-file.ts';
import { Supervisor } from './supervisor.ts';

export interface TemporaryClusterOptions {
  /** Datanodes, 1 to 16. Default 3. */
  readonly nodes?: number;
  /** Partitions of the namespace `default`, 1 to 1,024. Default 4. */
  readonly partitions?: number;
  /** Replicas of each partition, 1 to 7, at most `nodes`. Default 3, or all nodes when fewer. */
  readonly replicas?: number;
  /** Is given each line that `kvorum start` would print. Default: nobody. */
  readonly say?: (line: string) => void;
  /** Aborted before the cluster is ready, it ends the start and all that was started. */
  readonly signal?: AbortSignal;
}

const optionNames: ReadonlySet<string> = new Set<keyof TemporaryClusterOptions>([
  ...(['nodes', 'partitions', 'replicas', 'say', 'signal'] as const),
]);

export class TemporaryCluster {
  /** `host:port` of the placedrivers' HTTP API. */
  readonly placedrivers: readonly string[];
  /** `host:port` of each datanode where any Redis client may connect. */
  readonly gateways: readonly string[];
  /** `host:port` of each datanode for clients of Redis Cluster. */
  readonly clusterPorts: readonly string[];
  /** Configuration, logs and data; removed by `stop`. */
  readonly directory: string;
  readonly #supervisor: Supervisor;
  readonly #slot: Slot;
  #stopped: Promise<void> | undefined;

  constructor(
    directory: string,
    plans: readonly ProcessPlan[],
    supervisor: Supervisor,
    slot: Slot,
  ) {
    const ports = (role: ProcessPlan['role'], door: string) =>
      plans.filter((plan) => plan.role === role).map((plan) => `127.0.0.1:${plan.ports[door]}`);
    this.directory = directory;
    this.placedrivers = ports('placedriver', 'http');
    this.gateways = ports('datanode', 'gateway');
    this.clusterPorts = ports('datanode', 'cluster');
    this.#supervisor = supervisor;
    this.#slot = slot;
  }

  /** What `new Client(url)` takes. */
  url(namespace = 'default'): string {
    return `kvorum://${this.placedrivers.join(',')}/${encodeURIComponent(namespace)}`;
  }

  /** Kills the process of a datanode (from 0), which is started again with its data. */
  kill(node: number): void {
    const name = `datanode${node + 1}`;
    const run = readRunFiles(this.directory).find((one) => one.name === name);
    // of a process that has gone another may have the id by now
    if (run === undefined || !isRunning(run))
      throw new KvorumError('BAD_ARGUMENT', `${name} is not running`);
    process.kill(run.pid, 'SIGKILL');
  }

  /** Ends all processes and removes the directory; may be called again. */
  stop(): Promise<void> {
    this.#stopped ??= this.#supervisor.stop().then(() => {
      this.#slot.release();
      remove(this.directory);
    });
    return this.#stopped;
  }

  /** `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts a cluster on free ports of loopback; resolves when every process is ready. Rejects with
 * `BAD_CONFIG` for wrong options, with the reason of a process that does not start, or with that of
 * the signal.
 */
export async function startTemporaryCluster(
  options: TemporaryClusterOptions = {},
): Promise<TemporaryCluster> {
  checkNames(options);
  const nodes = whole('nodes', options.nodes ?? 3, 16);
  const partitions = whole('partitions', options.partitions ?? 4, 1_024);
  const replicas = whole('replicas', options.replicas ?? Math.min(3, nodes), Math.min(7, nodes));
  const say = options.say ?? (() => {});
  const slot = await takeSlot(5 * nodes + 2);
  const directory = mkdtempSync(join(tmpdir(), 'kvorum-'));
  try {
    const plans = await prepareDirectory({
      nodes,
      partitions,
      replicas,
      data: directory,
      httpPort: slot.first,
      port: slot.first + 2,
      clusterPort: slot.first + 2 + nodes,
      innerPort: slot.first + 2 + 2 * nodes,
      fresh: false,
      restart: true,
    });
    const supervisor = new Supervisor(plans, { script: commandScript(), restart: true, say });
    await startUnlessAborted(supervisor, options.signal);
    return new TemporaryCluster(directory, plans, supervisor, slot);
  } catch (failure) {
    slot.release();
    remove(directory);
    throw failure;
  }
}

async function startUnlessAborted(
  supervisor: Supervisor,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  const giveUp = () => void supervisor.stop();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    await supervisor.start();
    signal?.throwIfAborted();
  } catch (failure) {
    await supervisor.stop();
    throw failure;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

function checkNames(options: TemporaryClusterOptions): void {
  const strange = Object.keys(options).find((name) => !optionNames.has(name));
  if (strange === undefined) return;
  throw new KvorumError(
    'BAD_CONFIG',
    `there is no option ${strange}${didYouMean(strange, optionNames)}; ` +
      `there are ${[...optionNames].join(', ')}`,
  );
}

function whole(option: string, value: number, highest: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= highest) return value;
  throw new KvorumError(
    'BAD_CONFIG',
    `${option} ${value}: must be a whole number from 1 to ${highest}`,
  );
}

/** The command as it was built: beside this file, or in dist when this is the source. */
function commandScript(): string {
  const places = ['../cli/kvorum.js', '../../dist/cli/kvorum.js'].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  return must(places.find(existsSync), `no ${places.join(' nor ')}: npm run build makes it`);
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
