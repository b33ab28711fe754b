/**
 * A client that keeps what it reads and is told what to drop (CLIENT TRACKING), in one of its forms, at one
 * node after the other. It keeps a reply until it is told that the key changed, is told to forget all, or
 * loses its connection, and remembers from when to when: see `checkers/caches.ts`.
 */
import type { Network } from '../../src/common/network.ts';
import type { Random } from '../../src/common/random.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { type Call, textOf } from './call.ts';
import type { Kept } from './checkers/caches.ts';
import { unknownTold } from './checkers/outcomes.ts';
import { CLUSTER_PORT, FOLLOWER_PORT, GATEWAY_PORT, type SimCluster } from './cluster.ts';
import { onceKeys } from './once-client.ts';
import { pick } from './plan.ts';
import { PushClient } from './push-client.ts';
import { meaningOf } from './workload.ts';

const ANSWER_MS = 8_000;

const modes = ['plain', 'noloop', 'bcast', 'bcast noloop', 'optin', 'redirect'] as const;
type Mode = (typeof modes)[number];

const words: Readonly<Record<Mode, readonly string[]>> = {
  plain: [],
  noloop: ['NOLOOP'],
  bcast: ['BCAST', 'PREFIX', 'r', 'PREFIX', 'n', 'PREFIX', 'o', 'PREFIX', 'a'],
  'bcast noloop': ['BCAST', 'NOLOOP'],
  optin: ['OPTIN'],
  redirect: [],
};

/** Most at gateways. */
const doors = [GATEWAY_PORT, GATEWAY_PORT, GATEWAY_PORT, CLUSTER_PORT, FOLLOWER_PORT];

interface Value {
  readonly value: string | null;
  readonly sinceMs: number;
}

/** What caching clients leave to be judged. */
export interface CacheRecord {
  readonly history: Call[];
  readonly kept: Kept[];
}

export class CachingClient {
  readonly #cluster: SimCluster;
  readonly #number: number;
  readonly #network: Network;
  readonly #draw: Random;
  readonly #record: CacheRecord;
  readonly #keys: readonly string[];
  readonly #cache = new Map<string, Value>();
  /** Reads under way of a client that hears on another connection: false once it has heard of the key. */
  readonly #expected = new Map<string, boolean>();
  #mode: Mode = 'plain';
  #node = '';
  #door = GATEWAY_PORT;
  #client: PushClient | undefined;
  #listener: PushClient | undefined;
  #running = true;
  #writes = 0;
  told = 0;
  busy = false;

  constructor(cluster: SimCluster, number: number, record: CacheRecord) {
    const { plan, random, network } = cluster;
    this.#cluster = cluster;
    this.#number = number;
    this.#network = network.node(`cacher${number}`);
    this.#draw = random.fork(`cacher${number}`);
    this.#record = record;
    const registers = Array.from({ length: plan.keys }, (_, at) => `r${at}`);
    this.#keys = [...registers, ...registers, 'n0', 'n1', 'a0', ...onceKeys];
    void this.#drive();
  }

  /** It asks for nothing more, and goes on to hear. */
  stop(): void {
    this.#running = false;
  }

  /** What it has now, where it is promised anything about when. */
  get has(): Kept[] {
    return [...this.#cache].map(([key, value]) => this.#keptOf(key, value, 'now'));
  }

  get #name(): string {
    return `cacher${this.#number} (${this.#mode} at ${this.#node}:${this.#door})`;
  }

  async #drive(): Promise<void> {
    const { clock, plan } = this.#cluster;
    while (this.#running) {
      this.busy = true;
      const untilMs = clock.monotonicMs() + pick(this.#draw, [1_000, 20_000, 20_000]);
      if (await this.#open()) {
        while (this.#running && this.#client?.isOpen && clock.monotonicMs() < untilMs) {
          await this.#step();
          this.busy = false;
          await this.#pause(plan.thinkMs);
          this.busy = true;
        }
      }
      if (this.#running) this.#close();
      this.busy = false;
      await this.#pause(100);
    }
  }

  #pause(longestMs: number): Promise<void> {
    const pauseMs = 1 + this.#draw.float() * longestMs;
    return new Promise((resolve) => this.#cluster.clock.setTimer(pauseMs, resolve));
  }

  async #open(): Promise<boolean> {
    const { machines } = this.#cluster;
    this.#mode = pick(this.#draw, modes);
    this.#node = pick(this.#draw, machines).name;
    this.#door = pick(this.#draw, doors);
    const redirects = this.#mode === 'redirect';
    let to = '';
    if (redirects) {
      this.#listener = await this.#connect();
      const lines = [
        ['CLIENT', 'ID'],
        ['SUBSCRIBE', '__redis__:invalidate'],
      ];
      const [id] = (await this.#listener?.send(lines, ANSWER_MS)) ?? [];
      if (id?.kind !== 'integer') return false;
      to = String(id.value);
    }
    this.#client = await this.#connect();
    const lines = redirects
      ? [['CLIENT', 'TRACKING', 'ON', 'REDIRECT', to]]
      : [
          ['HELLO', '3'],
          ['CLIENT', 'TRACKING', 'ON', ...words[this.#mode]],
        ];
    if (this.#door === FOLLOWER_PORT) lines.push(['READONLY']);
    const replies = (await this.#client?.send(lines, ANSWER_MS)) ?? [];
    return replies.length > 0 && replies.every((reply) => reply && reply.kind !== 'error');
  }

  #connect(): Promise<PushClient | undefined> {
    const to = { host: this.#node, port: this.#door };
    return PushClient.open(this.#network, this.#cluster.clock, to, {
      onPush: (items) => this.#hear(items),
      onEnd: () => this.#close(),
    });
  }

  /** Whoever loses a connection has nothing any more. */
  #close(): void {
    const [client, listener] = [this.#client, this.#listener];
    this.#client = undefined;
    this.#listener = undefined;
    this.#forgetAll('its connection ended');
    client?.close();
    listener?.close();
  }

  // -- what it is told --------------------------------------------------------------------------

  #hear(items: readonly Reply[]): void {
    const what = items.at(-1)!;
    this.told++;
    this.#cluster.scheduler.note(`${this.#name} hears ${items.map(textOf).join(' ')}`);
    if (what.kind === 'null' || what.kind === 'nullArray') this.#forgetAll('it was told to');
    else if (what.kind === 'array') {
      for (const key of what.items) this.#drop(textOf(key), 'it was told');
    }
  }

  #forgetAll(end: string): void {
    for (const key of [...this.#cache.keys()]) this.#drop(key, end);
    for (const key of this.#expected.keys()) this.#expected.set(key, false);
  }

  #drop(key: string, end: string): void {
    if (this.#expected.has(key)) this.#expected.set(key, false);
    const known = this.#cache.get(key);
    if (known === undefined) return;
    this.#cache.delete(key);
    // of what a follower does not apply, cut off, it tells nobody
    if (this.#door !== FOLLOWER_PORT) this.#record.kept.push(this.#keptOf(key, known, end));
  }

  #keptOf(key: string, { value, sinceMs }: Value, end: string): Kept {
    const untilMs = this.#cluster.clock.monotonicMs();
    return { by: this.#name, node: this.#node, key, value, sinceMs, untilMs, end };
  }

  /** A reply: what it had of the key before is over, whatever that was. */
  #keep(key: string, reply: Reply): void {
    this.#drop(key, 'it was read anew');
    if (this.#mode === 'redirect' && this.#expected.get(key) !== true) return;
    if (reply.kind !== 'bulk' && reply.kind !== 'null') return;
    const value = reply.kind === 'bulk' ? textOf(reply) : null;
    this.#cache.set(key, { value, sinceMs: this.#cluster.clock.monotonicMs() });
  }

  // -- what it sends ----------------------------------------------------------------------------

  async #step(): Promise<void> {
    const kind = this.#draw.below(20);
    if (kind < 1) return this.#write();
    if (kind < 4) return this.#readTogether();
    const keys = Array.from({ length: kind < 12 ? 1 : 3 }, () => pick(this.#draw, this.#keys));
    // what it has it takes from there, but for now and then
    const unknown = keys.filter((key) => !this.#cache.has(key) || this.#draw.below(20) === 0);
    await this.#read([...new Set(unknown)], kind === 12);
  }

  /** GETs in one write; `writes`: behind them one of its own. */
  async #read(keys: readonly string[], writes = false): Promise<void> {
    if (keys.length === 0) return;
    const lines: string[][] = [];
    for (const key of keys) {
      if (this.#mode === 'optin') lines.push(['CLIENT', 'CACHING', 'YES']);
      lines.push(['GET', key]);
    }
    if (writes) lines.push(this.#drawWrite());
    await this.#send(lines);
  }

  /** Two keys by one command, in a transaction or without. */
  async #readTogether(): Promise<void> {
    const keys = [...new Set([pick(this.#draw, this.#keys), pick(this.#draw, this.#keys)])];
    const lines: string[][] = this.#mode === 'optin' ? [['CLIENT', 'CACHING', 'YES']] : [];
    if (this.#draw.below(2) === 0) lines.push(['MGET', ...keys]);
    else lines.push(['MULTI'], ['GET', keys[0]!], ['EXEC']);
    await this.#send(lines);
  }

  async #write(): Promise<void> {
    await this.#send([this.#drawWrite()]);
  }

  #drawWrite(): string[] {
    const key = `r${this.#draw.below(this.#cluster.plan.keys)}`;
    const value = `c${this.#number}.${++this.#writes}`;
    return this.#draw.below(8) === 0 ? ['DEL', key] : ['SET', key, value];
  }

  async #send(lines: readonly (readonly string[])[]): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    const { clock } = this.#cluster;
    const calls = lines.map((line) => this.#sending(line, lines));
    const replies = await client.send(lines, ANSWER_MS, (reply, at) => {
      const call = calls[at];
      this.#answered(lines, at, reply);
      if (call === undefined || meaningOf(reply) !== 'known') return;
      call.returnedMs = clock.monotonicMs();
      call.reply = reply;
    });
    this.#expected.clear();
    for (const [at, call] of calls.entries()) {
      const reply = replies[at];
      this.#note(lines[at]!, reply);
      if (call !== undefined && meaningOf(reply) !== 'refused' && !isMoved(reply)) {
        this.#record.history.push(call);
      }
    }
    if (replies.includes(undefined)) client.close();
  }

  /** What history is to know of; of what it writes itself it has nothing any more. */
  #sending(line: readonly string[], lines: readonly (readonly string[])[]): Call | undefined {
    const [name, key] = line as [string, string];
    if (name === 'MGET') for (const one of line.slice(1)) this.#expected.set(one, true);
    if (name === 'GET') this.#expected.set(key, true);
    const writes = name === 'SET' || name === 'DEL';
    if (writes && this.#mode.includes('noloop')) this.#drop(key, 'it writes it itself');
    if (!writes && (name !== 'GET' || this.#door === FOLLOWER_PORT)) return undefined;
    if (!writes && lines.some(([first]) => first === 'MULTI')) return undefined;
    const invokedMs = this.#cluster.clock.monotonicMs();
    const nothing = { returnedMs: Number.POSITIVE_INFINITY, reply: undefined };
    return { client: 700 + this.#number, words: line, invokedMs, ...nothing };
  }

  #answered(lines: readonly (readonly string[])[], at: number, reply: Reply): void {
    const [name, ...keys] = lines[at] as [string, ...string[]];
    const isOwn = name === 'SET' || name === 'DEL';
    if (name === 'GET') this.#keep(keys[0]!, reply);
    else if (isOwn && this.#mode.includes('noloop')) this.#drop(keys[0]!, 'it wrote it itself');
    else if (reply.kind === 'array' && name === 'MGET') {
      for (const [of, key] of keys.entries()) this.#keep(key, reply.items[of]!);
    } else if (reply.kind === 'array' && name === 'EXEC') {
      this.#keep(lines[at - 1]![1]!, reply.items[0]!);
    }
  }

  #note(line: readonly string[], reply: Reply | undefined): void {
    const wrong = unknownTold([...line], reply);
    if (wrong !== undefined) this.#cluster.unknownOutcomes.push(wrong);
    this.#cluster.scheduler.note(`${this.#name} ${line.join(' ')}: ${textOf(reply)}`);
  }
}

/** By the cluster port, or to a leader from a follower's: nothing happened. */
function isMoved(reply: Reply | undefined): boolean {
  return reply?.kind === 'error' && /^(MOVED|CLUSTERDOWN|ASK)/.test(reply.text);
}
