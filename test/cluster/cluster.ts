/** A real cluster for tests: `kvorum start` on free ports in a directory of its own. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isAlive } from '../../src/cli/run-file.ts';
import { collect, type StatusReport } from '../../src/cli/status.ts';
import { freePorts, type Ports } from '../ports.ts';
import { noteCommandStats } from '../sent-commands.ts';

const root = join(fileURLToPath(import.meta.url), '..', '..', '..');
export const kvorum = join(root, 'dist', 'cli', 'kvorum.js');
const execFileAsync = promisify(execFile);
/** How directories begin that are made for one cluster, and go with it. */
const TEMPORARY = 'kvorum-test-';
/** Of each process, in an account of a cluster. */
const SAID_LINES = 15;

export interface ClusterOptions {
  readonly nodes?: number;
  readonly partitions?: number;
  readonly flags?: readonly string[];
  /** Reuse the directory of an earlier cluster. */
  readonly data?: string;
  readonly ports?: Ports;
}

export class TestCluster {
  readonly data: string;
  readonly ports: Ports;
  readonly nodes: number;
  readonly flags: readonly string[];
  output = '';
  process: ChildProcess | undefined;
  readonly #byHand: ChildProcess[] = [];

  constructor(data: string, ports: Ports, nodes: number, flags: readonly string[]) {
    this.data = data;
    this.ports = ports;
    this.nodes = nodes;
    this.flags = flags;
  }

  /** Resolves once the cluster says it is ready, with the milliseconds that took. */
  async start(boundMs = 240_000): Promise<number> {
    const began = performance.now();
    const child = spawn(process.execPath, [kvorum, 'start', ...this.flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process = child;
    this.output = '';
    const ready = new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer) => {
        this.output += chunk.toString();
        if (this.output.includes('Ctrl-C stops it')) resolve();
      };
      child.stdout?.on('data', hear);
      child.stderr?.on('data', hear);
      // `close`, not `exit`: only then is all heard that it said last
      child.once('close', (code) => reject(new Error(`start ended with ${code}: ${this.output}`)));
    });
    await within(boundMs, ready, () => `not ready: ${this.output}`);
    return performance.now() - began;
  }

  gatewayPort(node: number): number {
    return this.ports.gateway + node;
  }

  clusterPort(node: number): number {
    return this.ports.cluster + node;
  }

  /** Where its node answers reads from the state of followers. */
  followerPort(node: number): number {
    const file = join(this.data, 'run', `datanode${node + 1}.json`);
    return JSON.parse(readFileSync(file, 'utf8')).ports.follower as number;
  }

  /** What `kvorum status` collects, in this process: waits ask many times a second. */
  status(): Promise<StatusReport> {
    return collect(this.data);
  }

  /** The same by the command itself, a process, and how it ended. */
  async statusByCommand(): Promise<StatusReport & { readonly code: number }> {
    const args = [kvorum, 'status', '--data', this.data, '--json'];
    const { stdout, code } = await execFileAsync(process.execPath, args).then(
      (ended) => ({ ...ended, code: 0 }),
      (failure: { stdout: string; code: number }) => failure,
    );
    return { ...(JSON.parse(stdout) as StatusReport), code };
  }

  pidOf(name: string): number {
    const run = JSON.parse(readFileSync(join(this.data, 'run', `${name}.json`), 'utf8'));
    return run.pid as number;
  }

  /** SIGKILL to one process of this cluster, by its id. */
  kill(name: string): void {
    process.kill(this.pidOf(name), 'SIGKILL');
  }

  /** The same; resolves when the processes are gone, and their ports and files with them. */
  async killAndWait(...names: readonly string[]): Promise<void> {
    const pids = names.map((name) => this.pidOf(name));
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await eventually(30_000, `${names} are gone`, () => !pids.some(isAlive));
  }

  /** Runs one process as a person would, outside of `kvorum start`; it ends with the cluster. */
  startByHand(name: string, configFile = `${name}.yaml`): ChildProcess {
    const role = name.startsWith('datanode') ? 'datanode' : 'placedriver';
    const config = join(this.data, configFile);
    // as `kvorum start` does it: what the process before told of itself is over
    rmSync(join(this.data, 'run', `${name}.json`), { force: true });
    const log = openSync(this.#logOf(name), 'a');
    // it ends with its standard input, so also when these tests are killed
    const child = spawn(process.execPath, [kvorum, role, '--config', config, '--life-line'], {
      stdio: ['pipe', log, log],
    });
    closeSync(log);
    child.stdin?.on('error', () => {});
    this.#byHand.push(child);
    return child;
  }

  #logOf(name: string): string {
    return join(this.data, 'run', `${name}.log`);
  }

  /** For who looks why a test failed: what the processes say of themselves, and said last. */
  async account(...names: readonly string[]): Promise<string> {
    const status = await this.status().then(
      (report) => JSON.stringify(report),
      (failure: unknown) => String(failure),
    );
    const logs = names.filter((name) => existsSync(this.#logOf(name)));
    const said = logs.map((name) => {
      const lines = readFileSync(this.#logOf(name), 'utf8').trimEnd().split('\n');
      return `${name} started by hand said last:\n${lines.slice(-SAID_LINES).join('\n')}`;
    });
    const last = this.output.trimEnd().split('\n').slice(-SAID_LINES).join('\n');
    return [`status: ${status}`, ...said, `start said last:\n${last}`].join('\n');
  }

  /** Stops as Ctrl-C does, and kills what was started by hand; resolves when all have ended. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.process;
    const runs = child !== undefined && child.exitCode === null && child.signalCode === null;
    if (runs) await this.#noteCommands();
    await Promise.all(this.#byHand.splice(0).map(killed));
    if (!runs) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    await within(120_000, ended, () => `does not stop: ${this.output}`);
  }

  /** What ran on the nodes that still answer. */
  async #noteCommands(): Promise<void> {
    const asked = Array.from({ length: this.nodes }, async (_, node) => {
      const args = ['-p', String(this.gatewayPort(node)), 'INFO', 'commandstats'];
      const { stdout } = await execFileAsync('redis-cli', args, { timeout: 5_000 });
      noteCommandStats(stdout);
    });
    await Promise.allSettled(asked);
  }

  async destroy(): Promise<void> {
    await this.stop();
    rmSync(this.data, { recursive: true, force: true });
    const around = dirname(this.data);
    if (basename(around).startsWith(TEMPORARY)) rmSync(around, { recursive: true, force: true });
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** Starts a cluster; the caller destroys it. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const cluster = await planCluster(options);
  await cluster.start();
  return cluster;
}

export async function planCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const nodes = options.nodes ?? 3;
  const data = options.data ?? join(mkdtempSync(join(tmpdir(), TEMPORARY)), 'data');
  const ports = options.ports ?? (await freePorts(nodes));
  const flags = [
    ...['--data', data, '--nodes', String(nodes), '--partitions', String(options.partitions ?? 4)],
    ...['--port', String(ports.gateway), '--cluster-port', String(ports.cluster)],
    ...['--http-port', String(ports.http), ...(options.flags ?? [])],
  ];
  return new TestCluster(data, ports, nodes, flags);
}

/** Rejects with `explain()` when `promise` takes longer than `ms`. */
export async function within<T>(ms: number, promise: Promise<T>, explain: () => string) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`after ${ms} ms: ${explain()}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Polls until `condition` holds; rejects with its last error or `what` after `ms`. At first often,
 * then ten times a second: to ask a whole cluster takes time from what is waited for.
 */
export async function eventually(
  ms: number,
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<number> {
  const began = performance.now();
  let last = '';
  for (let pauseMs = 10; performance.now() - began < ms; pauseMs = Math.min(100, pauseMs * 1.5)) {
    try {
      if (await condition()) return performance.now() - began;
    } catch (error) {
      last = String(error);
    }
    await pause(pauseMs);
  }
  throw new Error(`not within ${ms} ms: ${what} ${last}`);
}

/** Resolves once each of the `partitions` of `default` has a leader. */
export async function allLed(cluster: TestCluster, partitions: number): Promise<void> {
  await eventually(60_000, 'every partition has a leader', async () => {
    const lines = (await cluster.status()).partitions;
    return lines.length === partitions && lines.every(({ leader }) => leader !== null);
  });
}

/**
 * Resolves once the first replica of each partition's record leads it, as the master wants it: from
 * then on leaders move only when something happens to them.
 */
export async function ledAsWanted(cluster: TestCluster, partitions: number): Promise<void> {
  await eventually(60_000, 'leaders are where the table wants them', async () => {
    const lines = (await cluster.status()).partitions;
    return (
      lines.length === partitions &&
      lines.every(({ leader, replicas }) => leader !== null && leader === replicas[0]?.node)
    );
  });
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
