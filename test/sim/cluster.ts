/**
 * Whole datanodes and a placedriver in one process: the product's own object graphs on a simulated
 * clock, network, disk, engine and metadata store. A run follows from its seed.
 */
import { must } from '../../src/common/assert.ts';
import type { LogFields, Logger } from '../../src/common/log.ts';
import { type Random, seededRandom } from '../../src/common/random.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { createDatanode, type Datanode } from '../../src/datanode/datanode.ts';
import { createMemoryHost, type MemoryHost } from '../../src/datanode/engine/memory.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import { SimClock } from './clock.ts';
import { SimDisk } from './disk.ts';
import { SimNetwork } from './network.ts';
import { Scheduler } from './scheduler.ts';

export const GATEWAY_PORT = 6_379;

/** What a node keeps over its lives, and what it has in the present one. */
interface Machine {
  readonly name: string;
  readonly disk: SimDisk;
  readonly engines: MemoryHost;
  life: { readonly clock: SimClock; readonly meta: { crash(): void } } | undefined;
  datanode: Datanode | undefined;
}

export interface SimClusterOptions {
  readonly seed: string;
  readonly nodes: number;
  readonly partitions: number;
}

export class SimCluster {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly network: SimNetwork;
  /** The last lines logged, for the report of a failure. */
  readonly lines: string[] = [];
  readonly #meta: MemoryMeta;
  readonly #machines: Machine[] = [];
  readonly #harness: SimClock;

  constructor(options: SimClusterOptions) {
    this.random = seededRandom(options.seed);
    this.scheduler = new Scheduler(this.random);
    this.network = new SimNetwork(this.scheduler, this.random);
    this.#harness = new SimClock(this.scheduler);
    this.#meta = new MemoryMeta({ clock: this.#harness, latencyMs: 1 });
    for (let at = 1; at <= options.nodes; at++) this.#addMachine(`n${at}`);
    this.#startPlacedriver(options);
  }

  get names(): readonly string[] {
    return this.#machines.map(({ name }) => name);
  }

  get clock(): SimClock {
    return this.#harness;
  }

  isUp(name: string): boolean {
    return this.#machine(name).life !== undefined;
  }

  /** True when every running node has its table, its replicas and all leaders. */
  allReady(): boolean {
    return this.#machines.every(
      ({ life, datanode }) => life === undefined || datanode?.status().ready === true,
    );
  }

  /** Begins a life of the node; it is there some virtual time later. */
  start(name: string): void {
    const machine = this.#machine(name);
    const skew = this.random.fork(`skew ${name}`);
    const clock = new SimClock(this.scheduler, { offsetMs: skew.below(200) - 100 });
    const meta = this.#meta.connect();
    const life = { clock, meta };
    machine.life = life;
    this.note(`start ${name}`);
    const config = datanodeConfigSchema.parse({
      name,
      'data-dir': '/data',
      host: name,
      meta: { endpoints: ['simulated'] },
      timing: { 'lease-ttl-ms': 3_000 },
    });
    createDatanode({
      config,
      clock,
      random: this.random.fork(`${name} ${this.scheduler.executed}`),
      network: this.network.node(name),
      disk: machine.disk.session(),
      logger: this.#logger(name),
      engines: machine.engines,
      store: meta,
      processId: 1,
      configFile: '',
      os: 'simulated',
      systemMemoryBytes: 0,
      usage: () => ({ rssBytes: 0, heapBytes: 0, cpuUserSeconds: 0, cpuSystemSeconds: 0 }),
      fatal: (error) => this.#failed(name, life, error),
    }).then(
      (datanode) => {
        if (machine.life === life) machine.datanode = datanode;
      },
      (error) => this.#failed(name, life, error),
    );
  }

  /** `power`: what was not synced may be lost; `process`: the system keeps it. */
  crash(name: string, kind: 'power' | 'process'): void {
    const machine = this.#machine(name);
    const life = must(machine.life, `${name} runs`);
    this.note(`crash ${name} ${kind}`);
    machine.life = undefined;
    machine.datanode = undefined;
    life.clock.kill();
    life.meta.crash();
    this.network.crash(name, { silent: kind === 'power' });
    machine.disk.crash(kind === 'power' ? 'os' : 'process');
    machine.engines.crash(this.random, kind);
  }

  note(text: string): void {
    this.scheduler.note(text);
    this.#line(`-- ${text}`);
  }

  #failed(name: string, life: unknown, error: unknown): void {
    if (this.#machine(name).life !== life) return; // it died while it was starting
    throw new Error(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
  }

  #addMachine(name: string): void {
    const draw = this.random.fork(`machine ${name}`);
    this.#machines.push({
      name,
      disk: new SimDisk({ random: draw, clock: this.#harness, latencyMs: 0.5 }),
      engines: createMemoryHost({ clock: this.#harness, latencyMs: () => draw.float() }),
      life: undefined,
      datanode: undefined,
    });
  }

  #startPlacedriver({ nodes, partitions }: SimClusterOptions): void {
    const coordinator = new PlacedriverCoordinator({
      store: this.#meta.connect(),
      clock: this.#harness,
      random: this.random.fork('placedriver'),
      logger: this.#logger('placedriver'),
      name: 'placedriver1',
      leaseTtlMs: 3_000,
      default: { nodes, partitions, replicas: Math.min(3, nodes) },
    });
    coordinator.start();
  }

  #machine(name: string): Machine {
    return must(
      this.#machines.find((machine) => machine.name === name),
      `no node ${name}`,
    );
  }

  #logger(name: string): Logger {
    const say = (level: string) => (message: string, fields?: LogFields) =>
      this.#line(`${name} ${level} ${message} ${fields ? JSON.stringify(fields) : ''}`);
    const logger: Logger = {
      debug: () => {},
      info: say('info'),
      warn: say('warn'),
      error: say('error'),
      child: () => logger,
    };
    return logger;
  }

  #line(text: string): void {
    this.lines.push(`${this.scheduler.nowMs.toFixed(1)} ${text}`);
    if (this.lines.length > 200) this.lines.shift();
  }
}
