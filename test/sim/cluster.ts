/**
 * Whole datanodes and a placedriver in one process: the product's own object graphs on a simulated
 * clock, network, disk, engine and metadata store. A run follows from its plan.
 */
import { must } from '../../src/common/assert.ts';
import { codeOf } from '../../src/common/errors.ts';
import type { GroupId } from '../../src/common/ids.ts';
import { limits } from '../../src/common/limits.ts';
import type { LogFields, Logger } from '../../src/common/log.ts';
import { type Random, seededRandom } from '../../src/common/random.ts';
import { type DatanodeConfig, datanodeConfigSchema } from '../../src/datanode/config.ts';
import { createDatanode } from '../../src/datanode/datanode.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { keys, type PartitionRecord } from '../../src/meta/schema.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import type { Operator } from '../../src/placedriver/operator/operator.ts';
import { ClusterView } from '../../src/placedriver/view/cluster-view.ts';
import { SimClock } from './clock.ts';
import { driverDoor } from './driver-door.ts';
import { DurableWatch } from './durable-watch.ts';
import { createSimEngines, largeFrom, type Stall } from './engine.ts';
import { Guest } from './guest.ts';
import { type Life, Machine } from './machine.ts';
import { connectSimMeta, type SimMetaClient } from './meta.ts';
import { SimNetwork } from './network.ts';
import type { RunPlan } from './plan.ts';
import { Scheduler } from './scheduler.ts';
import { serveHttp } from './sim-http.ts';

export const GATEWAY_PORT = 6_379;
export const CLUSTER_PORT = 7_001;
export const FOLLOWER_PORT = 8_001;
export const DRIVER = 'placedriver1';
export const DRIVER_PORT = 18_001;
const RESTART_MS = 300;
const LINES_KEPT = 120;
/** For a few hundred keys: to make what a real node has would be most of what a node of a run costs. */
const KNOWN_BYTES = 3 * 4_096;
const HOT_BYTES = 4_096;

export class SimCluster {
  readonly plan: RunPlan;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly network: SimNetwork;
  readonly meta: MemoryMeta;
  readonly clock: SimClock;
  readonly durable = new DurableWatch();
  readonly machines: readonly Machine[];
  /** Clients that faults may hit as well. */
  readonly guests: readonly Guest[];
  /** The last lines logged, for the report of a failure. */
  readonly lines: string[] = [];
  /** What clients of gateways were told of them, and connections that were ended for one. */
  readonly unknownOutcomes: string[] = [];
  /** Of each node, in order: when its process stood still, or ended. */
  readonly standstills = new Map<string, { readonly fromMs: number; toMs: number }[]>();
  /** A scenario in which nobody can tell for too long: that connections end is right. */
  outcomesMayEnd = false;
  /** Failures of the product that no fault explains. */
  readonly broken: string[] = [];
  /** An operator has asked for other members: replicas go to nodes that lost nothing. */
  operatorMoves = false;
  /** Of namespaces that an operator has asked to delete. */
  readonly deletedGroups = new Set<GroupId>();
  #driver:
    | {
        readonly clock: SimClock;
        readonly meta: SimMetaClient;
        readonly coordinator: PlacedriverCoordinator;
      }
    | undefined;
  #starts = 0;
  #table: { readonly revision: number; readonly records: readonly PartitionRecord[] } | undefined;

  constructor(plan: RunPlan) {
    this.plan = plan;
    this.random = seededRandom(`run ${plan.seed}`);
    this.scheduler = new Scheduler(this.random);
    this.network = new SimNetwork(this.scheduler, this.random, plan);
    this.clock = new SimClock(this.scheduler);
    this.meta = new MemoryMeta({ clock: this.clock, latencyMs: 1 });
    const names = Array.from({ length: plan.nodes }, (_, at) => `n${at + 1}`);
    this.machines = names.map((name) => new Machine(name, this.scheduler, this.random, plan));
    for (const { name } of this.machines) this.start(name);
    this.guests = plan.sdk.map((_, at) => new Guest(`sdk${at}`, this.scheduler, this.network));
    this.startDriver();
  }

  machine(name: string): Machine {
    return must(
      this.machines.find((machine) => machine.name === name),
      `no node ${name}`,
    );
  }

  /** The wanted table, as it is in the store; read anew only when that has changed. */
  records(): readonly PartitionRecord[] {
    const { revision, items } = this.meta;
    if (this.#table?.revision === revision) return this.#table.records;
    const records: PartitionRecord[] = [];
    for (const [key, { value }] of items) {
      if (key.startsWith(keys.partitions)) records.push(JSON.parse(value) as PartitionRecord);
    }
    this.#table = { revision, records };
    return records;
  }

  /** Begins a life of the node; it is there some virtual time later. */
  start(name: string): void {
    const machine = this.machine(name);
    if (machine.life !== undefined) return;
    const clock = machine.newClock();
    const life: Life = { clock, meta: connectSimMeta(this.meta, clock), datanode: undefined };
    machine.life = life;
    machine.startedMs = this.scheduler.nowMs;
    machine.forgotMs = this.scheduler.nowMs;
    machine.diskFaulted = machine.diskFaults > 0;
    this.note(`start ${name}`);
    const disk = machine.disk.session();
    const { plan } = this;
    const stall = this.#stall(clock, this.random.fork(`engines of ${name} ${this.#starts}`));
    createDatanode({
      config: this.#config(name),
      clock,
      random: this.random.fork(`${name} ${this.#starts++}`),
      network: this.network.node(name),
      disk,
      logger: this.#logger(name),
      engines: createSimEngines(
        disk,
        '/data/engines',
        plan.engineRotateBytes,
        stall,
        machine.unsureEngines,
        largeFrom(plan.engineWholeBytes),
      ),
      store: life.meta,
      processId: 1,
      configFile: '',
      os: 'simulated',
      systemMemoryBytes: 0,
      usage: () => ({ rssBytes: 0, heapBytes: 0, cpuUserSeconds: 0, cpuSystemSeconds: 0 }),
      tuning: {
        host: {
          behindBatchBytesMax: this.#behindBytes(),
          applyHeldBytes: plan.engineWholeBytes,
          knownRecordsBytes: KNOWN_BYTES,
          hotValuesBytes: HOT_BYTES,
          ...plan,
        },
        log: {
          segmentBytes: plan.segmentBytes,
          observe: (log) =>
            this.durable.wrap(log, name, () => !machine.disk.hasUnsyncedData('/data/log')),
        },
      },
      fatal: (error) => this.#ended(machine, life, error),
    }).then(
      (datanode) => {
        if (machine.life === life) life.datanode = datanode;
      },
      (error: unknown) => this.#ended(machine, life, error),
    );
  }

  /** `power`: what was not synced may be lost; `process`: the system keeps it. */
  crash(name: string, kind: 'power' | 'process'): void {
    const machine = this.machine(name);
    const { life } = machine;
    if (life === undefined) return;
    this.note(`crash ${name} ${kind}`);
    machine.life = undefined;
    machine.paused = false;
    this.#standsStill(name);
    life.clock.kill();
    life.meta.crash();
    this.network.crash(name, { silent: kind === 'power' });
    machine.disk.crash(kind === 'power' ? 'os' : 'process');
  }

  /** As SIGTERM does: leaders are handed over, then the process ends. */
  async stop(name: string): Promise<void> {
    const { life } = this.machine(name);
    this.note(`stop ${name}`);
    await life?.datanode?.stop();
    if (this.machine(name).life === life) this.crash(name, 'process');
  }

  pause(name: string): void {
    const machine = this.machine(name);
    if (machine.life === undefined || machine.paused) return;
    this.note(`pause ${name}`);
    machine.paused = true;
    this.#standsStill(name);
    machine.life.clock.pause();
    this.network.pause(name);
  }

  resume(name: string): void {
    const machine = this.machine(name);
    if (!machine.paused) return;
    this.note(`resume ${name}`);
    machine.paused = false;
    this.standstills.get(name)!.at(-1)!.toMs = this.scheduler.nowMs;
    machine.life?.clock.resume();
    this.network.resume(name);
  }

  #standsStill(name: string): void {
    const known = this.standstills.get(name) ?? [];
    known.push({ fromMs: this.scheduler.nowMs, toMs: Number.POSITIVE_INFINITY });
    this.standstills.set(name, known);
  }

  startDriver(): void {
    if (this.#driver !== undefined) return;
    const clock = new SimClock(this.scheduler);
    const meta = connectSimMeta(this.meta, clock);
    const { nodes, partitions, replicas, reads } = this.plan;
    const coordinator = new PlacedriverCoordinator({
      store: meta,
      clock,
      random: this.random.fork(`${DRIVER} ${this.#starts++}`),
      logger: this.#logger(DRIVER),
      name: DRIVER,
      leaseTtlMs: 3_000,
      default: { nodes, partitions, replicas, reads },
    });
    this.#driver = { clock, meta, coordinator };
    coordinator.start();
    if (this.guests.length > 0) this.#openDriver(clock, meta);
  }

  /** Clients ask it for the partitions. */
  #openDriver(clock: SimClock, store: SimMetaClient): void {
    const view = new ClusterView({ store, clock, logger: this.#logger(DRIVER) });
    view.start();
    const address = { host: DRIVER, port: DRIVER_PORT };
    void serveHttp(this.network.node(DRIVER), address, driverDoor(view, clock));
  }

  /** What an operator may ask of the master; undefined while there is none. */
  get operator(): Operator | undefined {
    return this.#driver?.coordinator.operator;
  }

  /** SIGSTOP for the master's process until its lease has run out; another may be started. Returns SIGCONT. */
  pauseDriver(): () => void {
    const { clock, meta } = must(this.#driver, 'a placedriver runs');
    this.note('placedriver stands still');
    this.#driver = undefined;
    clock.pause();
    meta.loseLeases();
    return () => {
      this.note('the former placedriver goes on');
      clock.resume();
    };
  }

  crashDriver(): void {
    if (this.#driver === undefined) return;
    this.#driver.clock.kill();
    this.#driver.meta.crash();
    this.#driver = undefined;
    if (this.guests.length > 0) this.network.crash(DRIVER);
  }

  note(text: string): void {
    this.scheduler.note(text);
    this.#line(`-- ${text}`);
  }

  /** What a plan lets go in parts is not to be hidden behind what is pending. */
  #behindBytes(): number {
    return Math.min(limits.engineBehindBatchBytesMax, this.plan.engineWholeBytes);
  }

  #stall(clock: SimClock, random: Random): Stall {
    const { share, ms } = this.plan.engineStalls;
    return async (isFirstPart) => {
      // once for a write, in however many parts it goes: those of a plan are far smaller than real ones
      if (!isFirstPart || random.float() >= share) return;
      const delayMs = ms * random.float();
      await new Promise<void>((resolve) => clock.setTimer(delayMs, resolve));
    };
  }

  #config(name: string): DatanodeConfig {
    const { tickMs, electionTicks, engineSyncMs, staleMs } = this.plan;
    return datanodeConfigSchema.parse({
      name,
      'data-dir': '/data',
      host: name,
      tags: this.#tags(name),
      meta: { endpoints: ['simulated:1'] },
      timing: {
        'lease-ttl-ms': 2_000,
        'tick-ms': tickMs,
        'election-ticks': electionTicks,
        'heartbeat-ticks': 2,
        'engine-sync-interval-ms': engineSyncMs,
        'replica-max-staleness-ms': staleMs,
      },
    });
  }

  #tags(name: string): DatanodeConfig['tags'] {
    return this.plan.dataCentres === 1 ? {} : { dc_info: this.dataCentreOf(name) };
  }

  dataCentreOf(name: string): string {
    const at = this.machines.findIndex((machine) => machine.name === name);
    return `dc${at % this.plan.dataCentres}`;
  }

  /** The process ended by itself; its supervisor starts it again. */
  #ended(machine: Machine, life: Life, error: unknown): void {
    if (machine.life !== life) return; // it died while it was starting
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#line(`${machine.name} ended: ${text}`);
    const expected = machine.diskFaulted || codeOf(error) === 'CONFLICT';
    if (!expected) this.broken.push(`${machine.name} ended: ${text}`);
    this.crash(machine.name, 'process');
    this.scheduler.after(RESTART_MS, () => this.start(machine.name));
  }

  #logger(name: string): Logger {
    const say = (level: string) => (message: string, fields?: LogFields) =>
      this.#line(`${name} ${level} ${message} ${fields ? JSON.stringify(fields) : ''}`);
    const logger: Logger = {
      debug: () => {},
      info: (message, fields) => {
        if (message === 'snapshot installed') this.machine(name).forgotMs = this.scheduler.nowMs;
        say('info')(message, fields);
      },
      warn: (message, fields) => {
        const isUnknown = fields?.['outcome'] === 'unknown';
        if (isUnknown && !this.outcomesMayEnd && !this.#othersForgot(name)) {
          this.unknownOutcomes.push(`${name} ends a connection: ${fields['why']}`);
        }
        say('warn')(message, fields);
      },
      error: (message, fields) => {
        say('error')(message, fields);
        // a failure that nobody foresaw ends one replica, where it has one
        if (fields?.['code'] === 'INTERNAL') this.broken.push(`${name} ${fields['error']}`);
      },
      child: () => logger,
    };
    return logger;
  }

  /**
   * So many others lost what they knew of entries since the node lives that nobody may know what became of
   * its own: all members of a group but itself.
   */
  #othersForgot(name: string): boolean {
    const { startedMs } = this.machine(name);
    const forgot = this.machines.filter(
      (machine) => machine.name !== name && machine.forgotMs > startedMs,
    );
    return forgot.length >= this.plan.replicas - 1;
  }

  #line(text: string): void {
    this.lines.push(`${this.scheduler.nowMs.toFixed(1)} ${text.slice(0, 600)}`);
    if (this.lines.length > LINES_KEPT) this.lines.shift();
  }
}
