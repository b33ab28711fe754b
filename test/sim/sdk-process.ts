/**
 * A process with a client of the SDK: the product's own objects on a simulated clock and network. A
 * few calls are under way at a time, of all shapes the SDK has; each is remembered with its times.
 * Keys of clients with sessions are written by no others: there nothing is known less than exactly.
 */
import type { Random } from '../../src/common/random.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { Client } from '../../src/sdk/client.ts';
import { ClientError } from '../../src/sdk/errors.ts';
import type { ClientOptions } from '../../src/sdk/options.ts';
import type { PipelineResult } from '../../src/sdk/pipeline.ts';
import { type Call, textOf } from './call.ts';
import { Violation } from './checkers/checker.ts';
import { Bounds, TimeLimit } from './checkers/sdk-limits.ts';
import type { Push } from './checkers/sdk-once.ts';
import type { StaleRead } from './checkers/stale-reads.ts';
import { CLUSTER_PORT, DRIVER, DRIVER_PORT, type SimCluster } from './cluster.ts';
import type { Guest } from './guest.ts';
import type { SdkPlan } from './plan.ts';
import { type SimConnector, simConnector } from './sdk-connector.ts';
import { simGet } from './sim-http.ts';

const CONNECT_MS = 1_000;
/** To close sessions, and to end a lookup that is under way. */
const CLOSE_MS = 1_000 + 2 * CONNECT_MS;
const LOOK_MS = 100;
/** Pause between two calls of a loop, at most: longer than that of other clients, for what it costs. */
const THINK_MS = 100;
/** A client is closed and another made, one time in so many calls. */
const LIVES = 150;
const REGISTERS = 3;
const GONE = null;

/** What became of a command, as its caller is told. */
type Told =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' };

export interface SdkRecord {
  /** What is judged key by key. */
  readonly history: Call[];
  readonly pushes: Push[];
  readonly staleReads: StaleRead[];
  /** Calls that were answered. */
  acknowledged: number;
}

export class SdkProcess {
  readonly #cluster: SimCluster;
  readonly #guest: Guest;
  readonly #number: number;
  readonly #plan: SdkPlan;
  readonly #record: SdkRecord;
  readonly #random: Random;
  readonly #time: TimeLimit;
  readonly #bounds: Bounds;
  /** Of the present client. */
  #connector: SimConnector;
  #client: Client;
  #running = true;
  #elements = 0;
  #lives = 0;
  /** Loops that have not ended. */
  #busy = 0;
  /** What no history shows. */
  found: Violation | undefined;

  constructor(cluster: SimCluster, number: number, record: SdkRecord) {
    this.#cluster = cluster;
    this.#guest = cluster.guests[number]!;
    this.#number = number;
    this.#plan = cluster.plan.sdk[number]!;
    this.#record = record;
    this.#random = cluster.random.fork(`sdk ${number}`);
    this.#connector = this.#newConnector();
    this.#time = new TimeLimit(this.#guest, cluster.clock);
    this.#bounds = new Bounds(cluster.plan, this.#plan, this.#guest.name);
    this.#client = this.#newClient();
    for (let loop = 0; loop < this.#plan.loops; loop++) void this.#loop(loop);
    this.#look();
  }

  /** Calls and closes that have not ended. */
  get busy(): number {
    return this.#busy;
  }

  stop(): void {
    this.#running = false;
  }

  #newConnector(): SimConnector {
    return simConnector(this.#guest.network, this.#guest.clock);
  }

  #newClient(): Client {
    const { clock, network } = this.#guest;
    return new Client(this.#options(), {
      clock,
      random: this.#random.fork(`life ${this.#lives++}`),
      connector: this.#connector,
      get: simGet(network, clock, CONNECT_MS),
    });
  }

  #options(): ClientOptions {
    const { kind, patient, loops: _, ...options } = this.#plan;
    const { machines, plan } = this.#cluster;
    const common = {
      ...options,
      ...(patient && { attemptsMax: 100_000 }),
      connectTimeoutMs: CONNECT_MS,
      replicaMaxStalenessMs: plan.staleMs,
    };
    if (kind === 'datanodes') {
      return { ...common, datanodes: machines.map(({ name }) => `${name}:${CLUSTER_PORT}`) };
    }
    const placedrivers = [`${DRIVER}:${DRIVER_PORT}`];
    return { ...common, placedrivers, sessions: kind === 'sessions' };
  }

  async #loop(number: number): Promise<void> {
    const { clock } = this.#guest;
    const draw = this.#random.fork(`loop ${number}`);
    this.#busy++;
    try {
      while (this.#running) {
        if (number === 0 && draw.below(LIVES) === 0) await this.#replace();
        await this.#any(draw);
        const pauseMs = draw.float() * THINK_MS;
        await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
      }
      if (this.#busy === 1) await this.#close(this.#client, this.#connector);
    } catch (failure) {
      this.#object(failure);
    }
    this.#busy--;
  }

  /** The other loops' calls are rejected, or not, and their next ones go to the new client. */
  async #replace(): Promise<void> {
    const [client, connector] = [this.#client, this.#connector];
    this.#connector = this.#newConnector();
    this.#client = this.#newClient();
    await this.#close(client, connector);
  }

  async #close(client: Client, { standing }: SimConnector): Promise<void> {
    const ended = this.#time.begin('close()', this.#plan.timeoutMs + CLOSE_MS);
    await client.close();
    ended();
    if (client.status !== 'end') throw wrong(`a closed client is in state ${client.status}`);
    if (standing.size > 0) throw wrong(`a closed client has ${standing.size} connections`);
  }

  /** Looks at what is under way, on a clock that never stops. */
  #look(): void {
    this.#cluster.scheduler.after(LOOK_MS, () => {
      try {
        this.#time.check();
        this.#bounds.check(this.#client.pending, this.#connector.standing);
      } catch (failure) {
        this.#object(failure);
      }
      if (this.#busy > 0) this.#look();
    });
  }

  #object(failure: unknown): void {
    if (failure instanceof Violation) this.found ??= failure;
    else this.#cluster.broken.push(failure instanceof Error ? failure.stack! : String(failure));
  }

  #any(draw: Random): Promise<void> {
    const kind = draw.below(22);
    if (kind < 4) return this.#count(draw);
    if (kind < 8) return this.#push(draw);
    if (kind === 8) return this.#list(draw);
    if (kind < 11) return this.#transact();
    if (kind === 11) return this.#readPair();
    if (kind === 12) return this.#pipeline(draw);
    if (kind === 13) return this.#setMany(draw);
    if (kind === 14) return this.#getMany(draw);
    if (kind === 15) return this.#deleteMany(draw);
    if (kind === 16) return this.#readStale(draw);
    if (kind === 17) return this.#set(draw);
    return kind < 20 ? this.#get(draw) : this.#watch(draw);
  }

  async #count(draw: Random): Promise<void> {
    const key = this.#counter(draw);
    await this.#write(['INCR', key], this.#client.incr(key));
  }

  async #push(draw: Random): Promise<void> {
    const key = this.#listKey(draw);
    const element = this.#element();
    await this.#pushed(key, element, this.#client.rpush(key, element));
  }

  async #pushed(
    key: string,
    element: string,
    made: Promise<unknown>,
    limitMs?: number,
  ): Promise<void> {
    const told = await this.#write(['RPUSH', key, element], made, limitMs);
    this.#record.pushes.push({ key, element, outcome: told.kind });
  }

  async #list(draw: Random): Promise<void> {
    const key = this.#listKey(draw);
    await this.#read(['LRANGE', key, '0', '-1'], this.#client.lrange(key, 0, -1));
  }

  async #set(draw: Random): Promise<void> {
    const [key, value] = [this.#register(draw), this.#element()];
    await this.#write(['SET', key, value], this.#client.set(key, value));
  }

  async #get(draw: Random): Promise<void> {
    const key = draw.below(3) === 0 ? this.#counter(draw) : this.#register(draw);
    await this.#read(['GET', key], this.#client.get(key));
  }

  /** Each for itself, whatever becomes of the others. */
  async #pipeline(draw: Random): Promise<void> {
    const [counter, list] = [this.#counter(draw), this.#listKey(draw)];
    const [register, other] = [this.#register(draw), this.#register(draw)];
    const [element, value] = [this.#element(), this.#element()];
    const pipeline = this.#client.pipeline();
    pipeline.incr(counter).rpush(list, element).set(register, value).get(other).incr(counter);
    const pipelined = pipeline.length;
    const results = pipeline.exec();
    const one = (at: number) => results.then((all) => resultOf(all[at]!));
    // the time of a command that waits for room begins then: it waits for others whose time runs
    const { timeoutMs, loops, maxQueued } = this.#plan;
    const rooms = 2 * loops * pipelined > maxQueued ? pipelined : 0;
    const limitMs = timeoutMs * (rooms + 1);
    await Promise.all([
      this.#write(['INCR', counter], one(0), limitMs),
      this.#pushed(list, element, one(1), limitMs),
      this.#write(['SET', register, value], one(2), limitMs),
      this.#read(['GET', other], one(3), limitMs),
      this.#write(['INCR', counter], one(4), limitMs),
    ]);
  }

  /** Over several partitions: each key's part for itself. */
  async #setMany(draw: Random): Promise<void> {
    const keys = this.#registers(draw);
    const pairs = keys.map((key) => [key, this.#element()] as const);
    const made = this.#client.mset(Object.fromEntries(pairs));
    await this.#parts(
      made,
      pairs.map((pair) => ['SET', ...pair]),
      (_, value) => value,
    );
  }

  async #getMany(draw: Random): Promise<void> {
    const keys = this.#registers(draw);
    const invokedMs = this.#now();
    const told = await this.#told('mget', this.#client.mget(keys));
    if (told.kind !== 'done') return;
    const values = told.value as (string | null)[];
    if (values.length !== keys.length) throw wrong(`${values.length} values of ${keys}`);
    for (const [at, key] of keys.entries()) {
      this.#remember(['GET', key], invokedMs, this.#now(), replyOf(values[at]));
    }
  }

  /** The reply counts keys of all parts: which of them were there is not known. */
  async #deleteMany(draw: Random): Promise<void> {
    const keys = this.#registers(draw);
    await this.#parts(
      this.#client.del(keys),
      keys.map((key) => ['DEL', key]),
      () => undefined,
    );
  }

  /** One call that writes several keys: unless it is refused any of its parts may have taken effect. */
  async #parts(
    made: Promise<unknown>,
    lines: readonly (readonly string[])[],
    replyTo: (at: number, value: unknown) => unknown,
  ): Promise<void> {
    const invokedMs = this.#now();
    const told = await this.#told(lines[0]![0]!, made);
    const done = told.kind === 'done';
    const returnedMs = done ? this.#now() : Number.POSITIVE_INFINITY;
    if (told.kind === 'refused') return;
    for (const [at, words] of lines.entries()) {
      const value = done ? replyTo(at, told.value) : undefined;
      const reply = value === undefined ? undefined : replyOf(value);
      this.#remember(words, invokedMs, returnedMs, reply);
    }
  }

  /** Three keys that only these transactions write, each as often: nobody sees them differ. */
  async #transact(): Promise<void> {
    const [one, other, list] = pairKeys(this.#prefix);
    const element = this.#element();
    const multi = this.#client.multi();
    const invokedMs = this.#now();
    const told = await this.#told('exec', multi.incr(one).incr(other).rpush(list, element).exec());
    this.#record.pushes.push({ key: list, element, outcome: told.kind });
    if (told.kind === 'refused') return;
    const done = told.kind === 'done';
    const returnedMs = done ? this.#now() : Number.POSITIVE_INFINITY;
    const values = done ? (told.value as PipelineResult[]).map(resultOf) : [];
    const lines = [
      ['INCR', one],
      ['INCR', other],
      ['RPUSH', list, element],
    ];
    for (const [at, words] of lines.entries()) {
      this.#remember(words, invokedMs, returnedMs, done ? replyOf(values[at]) : undefined);
    }
    if (done && new Set(values).size > 1) throw wrong(`a transaction counted ${values}`);
  }

  /** Reads a counter and sets it to one more, if nobody else did: as one INCR would. */
  async #watch(draw: Random): Promise<void> {
    const key = `${this.#prefix}w${draw.below(2)}`;
    let next = 0;
    const raised = this.#client.watch(key, async (tx) => {
      const invokedMs = this.#now();
      const value = await tx.get(key);
      this.#remember(['GET', key], invokedMs, this.#now(), replyOf(value));
      next = Number(value) + 1;
      return tx.multi().set(key, next);
    });
    await this.#write(
      ['INCR', key],
      raised.then(() => next),
    );
  }

  async #readPair(): Promise<void> {
    const [one, other] = pairKeys(this.#prefix);
    const invokedMs = this.#now();
    const told = await this.#told('mget', this.#client.mget(one, other));
    if (told.kind !== 'done') return;
    const [a, b] = told.value as (string | null)[];
    if (a !== b) throw wrong(`of one transaction ${one} is ${a}, ${other} is ${b}`);
    this.#remember(['GET', one], invokedMs, this.#now(), replyOf(a));
  }

  async #readStale(draw: Random): Promise<void> {
    const key = draw.below(2) === 0 ? this.#counter(draw) : this.#register(draw);
    const invokedMs = this.#now();
    const told = await this.#told('get', this.#client.get(key, { consistency: 'stale' }));
    if (told.kind !== 'done') return;
    const value = (told.value ?? GONE) as string | null;
    const by = this.#guest.name;
    this.#record.staleReads.push({ by, key, value, invokedMs, returnedMs: this.#now() });
  }

  async #write(words: readonly string[], made: Promise<unknown>, limitMs?: number): Promise<Told> {
    const invokedMs = this.#now();
    const told = await this.#told(words[0]!, made, limitMs);
    if (told.kind === 'done') this.#remember(words, invokedMs, this.#now(), replyOf(told.value));
    if (told.kind === 'unknown') {
      this.#remember(words, invokedMs, Number.POSITIVE_INFINITY, undefined);
    }
    return told;
  }

  async #read(words: readonly string[], made: Promise<unknown>, limitMs?: number): Promise<void> {
    const invokedMs = this.#now();
    const told = await this.#told(words[0]!, made, limitMs);
    if (told.kind === 'done') this.#remember(words, invokedMs, this.#now(), replyOf(told.value));
  }

  /** Waits for the call; throws Violation for an error that no fault explains. */
  async #told(
    what: string,
    made: Promise<unknown>,
    limitMs: number = this.#plan.timeoutMs,
  ): Promise<Told> {
    const ended = this.#time.begin(what, limitMs);
    try {
      const value = await made;
      this.#record.acknowledged++;
      this.#note(what, shown(value));
      return { kind: 'done', value };
    } catch (failure) {
      const kind = this.#meaning(what, failure);
      this.#note(what, kind);
      return { kind };
    } finally {
      ended();
    }
  }

  #meaning(what: string, failure: unknown): 'refused' | 'unknown' {
    if (failure instanceof ClientError) {
      if (failure.retriable) return 'refused';
      if (this.#plan.patient) throw wrong(`${what} is given up: ${failure.message}`);
      if (failure.code === 'OUTCOME_UNKNOWN' || failure.code === 'PARTIAL') return 'unknown';
      if (failure.code === 'EXECABORT') return 'refused';
      throw wrong(`${what}: ${failure.code}: ${failure.message}`);
    }
    throw failure;
  }

  #remember(
    words: readonly string[],
    invokedMs: number,
    returnedMs: number,
    reply: Reply | undefined,
  ): void {
    const client = 1_000 + this.#number;
    this.#record.history.push({ client, words, invokedMs, returnedMs, reply });
  }

  #note(what: string, text: string): void {
    this.#cluster.scheduler.note(`${this.#guest.name} ${what}: ${text}`);
  }

  #now(): number {
    return this.#cluster.clock.monotonicMs();
  }

  get #prefix(): string {
    return this.#plan.kind === 'sessions' ? 's' : 'p';
  }

  #counter(draw: Random): string {
    return `${this.#prefix}c${draw.below(2)}`;
  }

  #listKey(draw: Random): string {
    return `${this.#prefix}l${draw.below(2)}`;
  }

  #register(draw: Random): string {
    return `sr${draw.below(REGISTERS)}`;
  }

  #registers(draw: Random): string[] {
    const first = draw.below(REGISTERS);
    const count = 1 + draw.below(REGISTERS);
    return Array.from({ length: count }, (_, at) => `sr${(first + at) % REGISTERS}`);
  }

  #element(): string {
    return `${this.#guest.name}-${++this.#elements}`;
  }
}

/** Of the counters and the list of transactions. */
function pairKeys(prefix: string): [one: string, other: string, list: string] {
  const tag = `{${prefix}t}`;
  return [`${tag}c0`, `${tag}c1`, `${tag}l`];
}

/** Keys that hold lists: they are read by LRANGE. */
export function isList(key: string): boolean {
  return /^(?:[sp]l\d|\{[sp]t\}l)$/.test(key);
}

function resultOf([error, value]: PipelineResult): unknown {
  if (error !== null) throw error;
  return value;
}

/** As the server gave it, as far as the checkers need it. */
function replyOf(value: unknown): Reply {
  if (value === null || value === undefined) return { kind: 'null' };
  if (typeof value === 'number') return { kind: 'integer', value };
  if (Array.isArray(value)) return { kind: 'array', items: value.map(replyOf) };
  return { kind: 'bulk', bytes: Buffer.from(String(value)) };
}

function shown(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(shown)}]` : textOf(replyOf(value));
}

function wrong(text: string): Violation {
  return new Violation('sdk', text);
}
