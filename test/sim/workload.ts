/**
 * RESP clients that read and write a few keys through any gateway, one command at a time each, and
 * remember every call with its times: what the histories are judged by.
 */
import type { Random } from '../../src/common/random.ts';
import type { Reply } from '../../src/datanode/resp/reply.ts';
import { CachingClient } from './caching-client.ts';
import { type Call, textOf } from './call.ts';
import type { Kept } from './checkers/caches.ts';
import type { Violation } from './checkers/checker.ts';
import { unknownTold } from './checkers/outcomes.ts';
import type { Push } from './checkers/sdk-once.ts';
import type { StaleRead } from './checkers/stale-reads.ts';
import { SimClient } from './client.ts';
import { GATEWAY_PORT, type SimCluster } from './cluster.ts';
import type { Line } from './commands/draw.ts';
import { FollowerClient } from './follower-client.ts';
import { OnceClient, onceKeys } from './once-client.ts';
import { SdkProcess, type SdkRecord } from './sdk-process.ts';
import { type Asker, type Sent, TypedClient } from './typed.ts';

/** Replies that say for certain that nothing happened. */
const REFUSED = /^(CLUSTERDOWN|TRYAGAIN|LOADING|ERR max)/;
/** Replies that leave it open. */
const UNKNOWN = /^(UNKNOWNOUTCOME|PARTIALOUTCOME|MISCONF)/;

const ANSWER_MS = 8_000;
/** A transaction that was not run. */
const NOTHING_HAPPENED: Reply = { kind: 'nullArray' };

export class Workload {
  readonly history: Call[] = [];
  /** Commands over all types, which are not judged key by key. */
  readonly sent: Sent[] = [];
  /** Of clients of the SDK; what they did is in the history as well. */
  readonly pushes: Push[] = [];
  /** At follower-read ports. */
  readonly staleReads: StaleRead[] = [];
  /** Of clients that keep what they read: what they have dropped. */
  readonly kept: Kept[] = [];
  readonly #cachers: readonly CachingClient[];
  readonly #sdk: readonly SdkProcess[];
  readonly #sdkRecord: SdkRecord;
  readonly #followers: readonly FollowerClient[];
  #acknowledged = 0;
  /** RESP clients that still wait for an answer. */
  #busy = 0;
  readonly #cluster: SimCluster;
  #running = true;
  #values = 0;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
    const { clients, consumers, sdk, followers, cachers = 0 } = cluster.plan;
    for (let client = 0; client < clients + consumers; client++) void this.#drive(client);
    const { history, pushes, staleReads } = this;
    this.#sdkRecord = { history, pushes, staleReads, acknowledged: 0 };
    this.#sdk = sdk.map((_, at) => new SdkProcess(cluster, at, this.#sdkRecord));
    this.#followers = Array.from(
      { length: followers },
      (_, at) => new FollowerClient(cluster, at, staleReads),
    );
    const { kept } = this;
    this.#cachers = Array.from(
      { length: cachers },
      (_, at) => new CachingClient(cluster, at, { history, kept }),
    );
  }

  get acknowledged(): number {
    return this.#acknowledged + this.#sdkRecord.acknowledged;
  }

  /** Clients that still wait for an answer. */
  get busy(): number {
    const others = [...this.#followers, ...this.#cachers].filter(({ busy }) => busy).length;
    return this.#sdk.reduce((sum, { busy }) => sum + busy, this.#busy + others);
  }

  /** What a client has met that no history shows. */
  get found(): Violation | undefined {
    return this.#sdk.find(({ found }) => found !== undefined)?.found;
  }

  /** What clients keep now. */
  get cached(): Kept[] {
    return this.#cachers.flatMap(({ has }) => has);
  }

  stop(): void {
    this.#running = false;
    for (const client of [...this.#sdk, ...this.#followers, ...this.#cachers]) client.stop();
  }

  async #drive(number: number): Promise<void> {
    const { network, clock, random, plan, machines } = this.#cluster;
    const client = new SimClient(network.node(`client${number}`), clock);
    const draw = random.fork(`client ${number}`);
    const sets = random.fork(`sets of client ${number}`);
    let door = number % machines.length;
    const host = () => machines[door]!.name;
    const typed = new TypedClient(
      number,
      this.#asker(client, number, host),
      clock,
      random.fork(`typed client ${number}`),
      this.sent,
    );
    const once = this.#onceClient(client, number, draw, host);
    const another = () => {
      door = draw.below(machines.length);
      client.disconnect();
    };
    while (this.#running) {
      const ofTypes = plan.topic === 'types';
      const answered =
        !ofTypes && draw.below(5) === 0
          ? await this.#callOnce(once, number, draw, another)
          : ofTypes
            ? await this.#anyType(typed, client, number, draw, host())
            : await this.#call(client, number, this.#judged(draw, sets), host());
      if (!answered || draw.below(50) === 0) another();
      const pauseMs = draw.float() * plan.thinkMs;
      await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
    }
  }

  /** Mostly commands over all types; beside them some that are judged key by key. */
  async #anyType(
    typed: TypedClient,
    client: SimClient,
    number: number,
    draw: Random,
    host: string,
  ): Promise<boolean> {
    const { flushes, clients, about } = this.#cluster.plan;
    const kind = draw.below(10);
    const blocks = number >= clients;
    if (kind === 0 && !flushes) return this.#call(client, number, this.#command(draw), host);
    this.#busy++;
    const ofTypes = () =>
      kind <= 2 || about === 'queues' ? typed.queue() : typed.any({ flushes });
    const answered = await (blocks ? typed.block() : ofTypes());
    this.#busy--;
    return answered;
  }

  #onceClient(client: SimClient, number: number, draw: Random, host: () => string): OnceClient {
    const { clock } = this.#cluster;
    return new OnceClient(`session-of-${number}`, {
      ask: async (words) => {
        const reply = await this.#ask(client, number, words, host());
        if (reply === undefined) client.disconnect();
        return reply;
      },
      meaning: meaningOf,
      pause: () => new Promise((resolve) => clock.setTimer(1 + draw.float() * 50, resolve)),
      running: () => this.#running,
    });
  }

  /** A counter that is only counted under sessions, or what it is. */
  async #callOnce(
    once: OnceClient,
    number: number,
    draw: Random,
    another: () => void,
  ): Promise<boolean> {
    const { clock } = this.#cluster;
    const name = draw.below(3) === 0 ? 'GET' : 'INCR';
    const words = [name, onceKeys[draw.below(onceKeys.length)]!];
    const invokedMs = clock.monotonicMs();
    this.#busy++;
    if (draw.below(4) === 0) another();
    const { sent, reply } = await once.call(words);
    this.#busy--;
    if (!sent) return true;
    const returnedMs = reply === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs();
    this.history.push({ client: number, words, invokedMs, returnedMs, reply });
    if (reply !== undefined) this.#acknowledged++;
    return reply !== undefined;
  }

  #asker(client: SimClient, number: number, host: () => string): Asker {
    return {
      ask: (line, patienceMs) => this.#ask(client, number, line, host(), patienceMs),
      askOn: async (line) => {
        const reply = await client.callOn(line, ANSWER_MS);
        this.#note(number, line, reply);
        return reply;
      },
      leave: () => client.disconnect(),
      meaning: (reply) => {
        const meaning = meaningOf(reply);
        if (meaning === 'known') this.#acknowledged++;
        return meaning;
      },
    };
  }

  async #call(
    client: SimClient,
    number: number,
    words: readonly string[],
    host: string,
  ): Promise<boolean> {
    const { clock } = this.#cluster;
    const call: Call = {
      client: number,
      words,
      invokedMs: clock.monotonicMs(),
      returnedMs: Number.POSITIVE_INFINITY,
      reply: undefined,
    };
    this.#busy++;
    const reply =
      words[0] === 'CAS'
        ? await this.#compareAndSet(client, number, call, host)
        : await this.#ask(client, number, words, host);
    this.#busy--;
    if (reply?.kind === 'nullArray') return true; // the watch was broken: nothing happened
    if (reply?.kind === 'error' && REFUSED.test(reply.text)) return true;
    this.history.push(call);
    if (reply === undefined || isUnknown(reply)) return reply !== undefined;
    call.returnedMs = clock.monotonicMs();
    call.reply = reply;
    this.#acknowledged++;
    return true;
  }

  async #ask(
    client: SimClient,
    number: number,
    words: Line,
    host: string,
    patienceMs = ANSWER_MS,
  ): Promise<Reply | undefined> {
    const reply = await client.call({ host, port: GATEWAY_PORT }, words, patienceMs);
    this.#note(number, words, reply);
    return reply;
  }

  #note(number: number, words: Line, reply: Reply | undefined): void {
    const wrong = unknownTold(words, reply);
    if (wrong !== undefined) this.#cluster.unknownOutcomes.push(wrong);
    this.#cluster.scheduler.note(`client${number} ${words.join(' ')}: ${textOf(reply)}`);
  }

  /** WATCH, GET and a transaction; into `call` goes what it was to change into what. */
  async #compareAndSet(
    client: SimClient,
    number: number,
    call: { words: readonly string[] },
    host: string,
  ): Promise<Reply | undefined> {
    const [, key] = call.words as [string, string];
    const watched = await this.#ask(client, number, ['WATCH', key], host);
    if (watched?.kind !== 'simple') return NOTHING_HAPPENED;
    // all of it on one connection: on another there is neither watch nor transaction
    const ask = async (...words: string[]) => {
      const reply = await client.callOn(words, ANSWER_MS);
      this.#note(number, words, reply);
      return reply;
    };
    const before = await ask('GET', key);
    if (before?.kind !== 'bulk' && before?.kind !== 'null') return NOTHING_HAPPENED;
    const value = `v${++this.#values}`;
    call.words = ['CAS', key, before.kind === 'bulk' ? textOf(before) : '', value];
    for (const words of [['MULTI'], ['SET', key, value]]) {
      if ((await ask(...words))?.kind === 'simple') continue;
      client.disconnect();
      return NOTHING_HAPPENED;
    }
    return ask('EXEC');
  }

  /** One that is judged key by key. */
  #judged(draw: Random, sets: Random): string[] {
    return sets.below(12) === 0 ? this.#set(sets) : this.#command(draw);
  }

  #command(draw: Random): string[] {
    const { topic } = this.#cluster.plan;
    if (topic === 'registers' && draw.below(10) > 0) return this.#register(draw);
    if (topic === 'expiry' && draw.below(10) > 0) return this.#deadline(draw);
    switch (draw.below(10)) {
      case 0:
        return ['INCR', `n${draw.below(2)}`];
      case 1:
        return ['APPEND', `a${draw.below(2)}`, `${++this.#values},`];
      case 2:
        return ['GET', `${'na'[draw.below(2)]}${draw.below(2)}`];
      case 3:
        return this.#deadline(draw);
      default:
        return this.#register(draw);
    }
  }

  /** Sets of a few members: which of them SPOP takes is drawn from the entry's seed. */
  #set(draw: Random): string[] {
    const key = `set${draw.below(2)}`;
    const kind = draw.below(10);
    if (kind < 4) return ['SADD', key, `m${draw.below(5)}`];
    if (kind < 6) return kind === 4 && draw.below(3) === 0 ? ['SPOP', key, '2'] : ['SPOP', key];
    if (kind === 6) return ['SRANDMEMBER', key];
    return kind === 7 ? ['SREM', key, `m${draw.below(5)}`] : ['SMEMBERS', key];
  }

  #register(draw: Random): string[] {
    const key = `r${draw.below(this.#cluster.plan.keys)}`;
    const kind = draw.below(20);
    if (kind === 0) return ['DEL', key];
    if (kind === 1) return ['CAS', key];
    return kind < 8 ? ['SET', key, `v${++this.#values}`] : ['GET', key];
  }

  #deadline(draw: Random): string[] {
    const key = `e${draw.below(2)}`;
    if (draw.below(4) > 0) return ['GET', key];
    return ['SET', key, `v${++this.#values}`, 'PX', `${50 + draw.below(1_500)}`];
  }
}

/** What a reply says about what became of its command. */
export function meaningOf(reply: Reply | undefined): 'unknown' | 'refused' | 'known' {
  if (reply === undefined || isUnknown(reply)) return 'unknown';
  return reply.kind === 'error' && REFUSED.test(reply.text) ? 'refused' : 'known';
}

function isUnknown(reply: Reply): boolean {
  return reply.kind === 'error' && UNKNOWN.test(reply.text);
}
