/** Real processes of a cluster: which there are, what runs now, and how each is started again. */

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { pause, Server } from '../tools/children.ts';
import { statusOf, unsettledOf } from '../tools/settled.ts';
import type { Network } from './network.ts';

export interface Shape {
  readonly directory: string;
  readonly datanodes: number;
  readonly placedrivers: number;
  readonly etcds: number;
  readonly partitions: number;
  /** The library by which the clock of one datanode can be moved. */
  readonly faketime: string | undefined;
  /** Whether one datanode's disk can be small: a tmpfs. */
  readonly smallDisk: boolean;
}

type Role = 'etcd' | 'placedriver' | 'datanode';

const kvorum = join(fileURLToPath(import.meta.url), '..', '..', '..', '..', 'dist', 'cli');
/** A raft log has some segments of 64 MiB. */
const SMALL_DISK = '448m';
export const GATEWAY_PORT = 6379;
export const CLUSTER_PORT = 7001;
const DATANODE_HTTP = 27_001;
const PLACEDRIVER_HTTP = 18_001;
const ETCD_CLIENT = 2379;
const ETCD_PEER = 2380;
const READY_MS = 120_000;
const GONE_MS = 60_000;
const LOOK_MS_MAX = 3_000;

export class ChaosCluster {
  readonly network: Network;
  readonly shape: Shape;
  /** The machine whose clock moves, and the one whose disk fills. */
  readonly clockMachine = 1;
  readonly diskMachine = 2;
  readonly #running = new Map<string, Server>();
  readonly #paused = new Set<string>();

  constructor(network: Network, shape: Shape) {
    this.network = network;
    this.shape = shape;
  }

  datanode(machine: number): string {
    return `datanode${machine + 1}`;
  }

  names(role: Role): string[] {
    const { etcds, placedrivers, datanodes } = this.shape;
    const count = { etcd: etcds, placedriver: placedrivers, datanode: datanodes }[role];
    return Array.from({ length: count }, (_, at) => `${role}${at + 1}`);
  }

  gateways(): string[] {
    return this.names('datanode').map((_, at) => `${this.network.address(at)}:${GATEWAY_PORT}`);
  }

  clusterPorts(): string[] {
    return this.names('datanode').map((_, at) => `${this.network.address(at)}:${CLUSTER_PORT}`);
  }

  placedrivers(): string[] {
    return this.names('placedriver').map(
      (_, at) => `${this.network.address(at)}:${PLACEDRIVER_HTTP}`,
    );
  }

  async start(): Promise<void> {
    const { directory, smallDisk } = this.shape;
    for (const name of ['log', ...this.names('datanode'), ...this.names('placedriver')]) {
      mkdirSync(join(directory, name), { recursive: true });
    }
    if (smallDisk) mountSmall(join(directory, this.datanode(this.diskMachine)));
    if (this.shape.faketime !== undefined) this.moveClock(0);
    for (const name of this.names('etcd')) this.launch(name);
    await pause(1_000);
    for (const name of [...this.names('placedriver'), ...this.names('datanode')]) this.launch(name);
    await this.until(
      READY_MS,
      'all partitions are led',
      async () => (await this.unsettled()) === 0,
    );
  }

  launch(name: string): void {
    if (this.#running.has(name)) throw new Error(`${name} runs already`);
    const machine = machineOf(name);
    const words = [...this.network.prefix(machine), ...this.#program(name, machine)];
    this.#running.set(name, new Server(name, words[0]!, words.slice(1)));
  }

  /** SIGKILL; resolves when it has gone. */
  async kill(name: string): Promise<void> {
    const server = this.#running.get(name);
    if (server === undefined) return;
    server.process.kill('SIGKILL');
    await this.#gone(name, server);
  }

  /** SIGTERM, as an operator does. */
  async terminate(name: string): Promise<void> {
    const server = this.#running.get(name);
    if (server === undefined) return;
    await server.stop();
    await this.#gone(name, server);
  }

  stopClock(name: string): void {
    this.#running.get(name)?.process.kill('SIGSTOP');
    this.#paused.add(name);
  }

  goOn(name: string): void {
    this.#running.get(name)?.process.kill('SIGCONT');
    this.#paused.delete(name);
  }

  /** The processes that should run, and have ended by themselves. */
  fallen(): string[] {
    return [...this.#running]
      .filter(([, { process }]) => process.exitCode !== null || process.signalCode !== null)
      .map(([name, server]) => `${name}: ${server.output.trim().split('\n').at(-1) ?? ''}`);
  }

  /** Takes every byte of the small disk. */
  fillDisk(): void {
    const path = this.#filler();
    const file = openSync(path, 'w');
    try {
      for (const bytes of [1024 * 1024, 4096, 1]) {
        const zeros = Buffer.alloc(bytes);
        try {
          for (;;) writeSync(file, zeros);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  makeRoom(): void {
    rmSync(this.#filler(), { force: true });
  }

  /** Of the machine whose clock moves: how far it is off; libfaketime looks once a second. */
  moveClock(seconds: number): void {
    writeFileSync(this.#clockFile(), `${seconds < 0 ? '' : '+'}${seconds}s\n`);
  }

  /** One request to the HTTP API of a placedriver that answers. Rejects when none does. */
  async api(method: string, path: string): Promise<unknown> {
    let failure: unknown;
    for (const address of this.placedrivers()) {
      try {
        const response = await fetch(`http://${address}${path}`, {
          method,
          signal: AbortSignal.timeout(5_000),
        });
        const text = await response.text();
        if (response.ok) return text === '' ? undefined : JSON.parse(text);
        failure = new Error(`${method} ${path}: ${response.status} ${text}`);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** Replicas that are not as they should be: away, behind, or of a group without a leader. */
  async unsettled(): Promise<number> {
    const { partitions } = this.shape;
    const answers = await Promise.all(
      this.names('datanode').map((_, machine) =>
        statusOf(`${this.network.address(machine)}:${DATANODE_HTTP}`),
      ),
    );
    return unsettledOf(answers, { partitions, replicas: 3 });
  }

  /**
   * Polls; throws after `ms`, with what fell meanwhile. A look counts for 3 s at most: when it took
   * longer, the machine stood still.
   */
  async until(ms: number, what: string, holds: () => Promise<boolean>): Promise<void> {
    let last = '';
    for (let elapsedMs = 0; elapsedMs < ms; ) {
      const began = performance.now();
      try {
        if (await holds()) return;
      } catch (error) {
        last = String(error);
      }
      await pause(100);
      elapsedMs += Math.min(LOOK_MS_MAX, performance.now() - began);
    }
    throw new Error(`not within ${ms / 1000} s: ${what} ${last} ${this.fallen().join('; ')}`);
  }

  /** Ends all processes at once, and takes the small disk away. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.kill(name)));
    const disk = join(this.shape.directory, this.datanode(this.diskMachine));
    if (this.shape.smallDisk && existsSync(disk)) spawnSync('umount', ['-l', disk]);
  }

  async #gone(name: string, server: Server): Promise<void> {
    this.#paused.delete(name);
    const { process: child } = server;
    await this.until(
      GONE_MS,
      `${name} ends`,
      async () => child.exitCode !== null || child.signalCode !== null,
    );
    this.#running.delete(name);
  }

  #program(name: string, machine: number): string[] {
    if (name.startsWith('etcd')) return this.#etcd(name, machine);
    const role = name.startsWith('datanode') ? 'datanode' : 'placedriver';
    const config = join(this.shape.directory, `${name}.yaml`);
    const fields = role === 'datanode' ? this.#datanodeFields(machine) : this.#placedriverFields();
    const common = {
      name,
      'data-dir': join(this.shape.directory, name),
      host: this.network.address(machine),
      meta: { endpoints: this.#etcdUrls() },
      log: { level: 'info', file: join(this.shape.directory, 'log', `${name}.log`) },
    };
    writeFileSync(config, stringify({ ...common, ...fields }));
    const { faketime } = this.shape;
    const moved = role === 'datanode' && machine === this.clockMachine && faketime !== undefined;
    const env = moved
      ? [
          'env',
          `LD_PRELOAD=${faketime}`,
          `FAKETIME_TIMESTAMP_FILE=${this.#clockFile()}`,
          'FAKETIME_CACHE_DURATION=1',
          'FAKETIME_DONT_FAKE_MONOTONIC=1',
        ]
      : [];
    return [...env, process.execPath, join(kvorum, 'kvorum.js'), role, '--config', config];
  }

  #datanodeFields(machine: number): object {
    const follower = 8_001;
    const ports = { gateway: GATEWAY_PORT, cluster: CLUSTER_PORT, follower, http: DATANODE_HTTP };
    return {
      ports: { ...ports, transport: 17_001 },
      tags: { dc_info: `dc${(machine % 3) + 1}` },
      timing: { 'lease-ttl-ms': 5_000 },
    };
  }

  #placedriverFields(): object {
    const { datanodes: nodes, partitions } = this.shape;
    return {
      ports: { http: PLACEDRIVER_HTTP },
      default: { nodes, partitions, replicas: 3 },
      timing: { 'lease-ttl-ms': 3_000 },
    };
  }

  #etcd(name: string, machine: number): string[] {
    const url = (at: number, port: number) => `http://${this.network.address(at)}:${port}`;
    const members = this.names('etcd').map((member, at) => `${member}=${url(at, ETCD_PEER)}`);
    const [client, peer] = [url(machine, ETCD_CLIENT), url(machine, ETCD_PEER)];
    const args = ['--name', name, '--data-dir', join(this.shape.directory, name)];
    args.push('--listen-client-urls', client, '--advertise-client-urls', client);
    args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
    args.push('--initial-cluster', members.join(','), '--log-level', 'error');
    // two cores carry all machines: a default of 1 s elects when it should not
    return ['etcd', ...args, '--heartbeat-interval', '250', '--election-timeout', '2500'];
  }

  #etcdUrls(): string[] {
    return this.names('etcd').map((_, at) => `http://${this.network.address(at)}:${ETCD_CLIENT}`);
  }

  #clockFile(): string {
    return join(this.shape.directory, 'clock');
  }

  #filler(): string {
    return join(this.shape.directory, this.datanode(this.diskMachine), 'filler');
  }
}

/** `datanode1`, `etcd1` and `placedriver1` share machine 0. */
function machineOf(name: string): number {
  return Number(/\d+$/.exec(name)?.[0]) - 1;
}

function mountSmall(directory: string): void {
  const args = ['-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'tmpfs', directory];
  const { status, stderr } = spawnSync('mount', args);
  if (status !== 0) throw new Error(`mount: ${stderr.toString().trim()}`);
}
