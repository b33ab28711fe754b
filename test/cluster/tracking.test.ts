/**
 * Client side caching over three real nodes while leaders die, stand still and move: caches of clients
 * at every node are read all the time, and a history tells whether one gave an older value than it may.
 */
import { connect, type Socket } from 'node:net';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { wire } from '../datanode/server/doors.ts';
import { replyEnd } from '../differential/oracle.ts';
import { scale } from '../scale.ts';
import { eventually, ledAsWanted, pause, startCluster, type TestCluster } from './cluster.ts';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
  await ledAsWanted(cluster, 4);
}, 300_000);

afterAll(() => cluster?.destroy(), 300_000);

const KEYS = Array.from({ length: 24 }, (_, at) => `k${at}`);
/** What the product promises, and what a busy machine adds to it. */
const BOUND_MS = limits.trackingProofMs + 3_000;

/** A client with a cache as simple as can be: what is told is dropped, what is answered kept. */
class CachingClient {
  readonly cache = new Map<string, number>();
  readonly #port: number;
  readonly #on: string;
  #socket: Socket | undefined;
  #bytes: Buffer = Buffer.alloc(0);
  #waiting: ((text: string | undefined) => void)[] = [];
  told = 0;
  forgotten = 0;

  constructor(port: number, on = 'CLIENT TRACKING ON') {
    this.#port = port;
    this.#on = on;
  }

  async get(key: string): Promise<number | undefined> {
    const known = this.cache.get(key);
    if (known !== undefined) return known;
    await this.#ask(`GET ${key}`, (text) => {
      const value = /^\$\d+\r\n(\d+)/.exec(text)?.[1];
      if (value !== undefined) this.cache.set(key, Number(value));
    });
    return undefined;
  }

  async call(line: string): Promise<string | undefined> {
    let reply: string | undefined;
    await this.#ask(line, (text) => {
      reply = text;
    });
    return reply;
  }

  close(): void {
    this.#socket?.destroy();
  }

  async #open(): Promise<Socket> {
    const socket = connect(this.#port, '127.0.0.1');
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('close', () => this.#onClose(socket));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve).once('close', () => resolve());
    });
    if (socket.destroyed) return socket;
    socket.write(wire('HELLO 3') + wire(this.#on));
    this.#waiting.push(
      () => {},
      () => {},
    );
    return socket;
  }

  /** A connection that ended tells that anything may have changed. */
  #onClose(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#bytes = Buffer.alloc(0);
    this.cache.clear();
    for (const answer of this.#waiting.splice(0)) answer(undefined);
  }

  async #ask(line: string, take: (text: string) => void): Promise<void> {
    const socket = this.#socket ?? (await this.#open());
    if (socket.destroyed) return pause(50);
    socket.write(wire(line));
    await new Promise<void>((resolve) => {
      this.#waiting.push((text) => {
        // in the order of the bytes: what comes behind a reply is about it
        if (text !== undefined) take(text);
        resolve();
      });
    });
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const end = replyEnd(this.#bytes, 0);
      if (end === undefined) return;
      const text = this.#bytes.toString('latin1', 0, end);
      this.#bytes = this.#bytes.subarray(end);
      if (text.startsWith('>')) this.#hear(text);
      else this.#waiting.shift()?.(text);
    }
  }

  #hear(text: string): void {
    const [, , what, , ...items] = text.split('\r\n');
    if (what !== 'invalidate') return;
    if (text.endsWith('_\r\n')) {
      this.forgotten++;
      this.cache.clear();
    }
    for (let at = 1; at < items.length; at += 2) this.cache.delete(items[at]!);
    this.told++;
  }
}

/** Versions of each key with the times at which they were acknowledged, and what caches gave. */
class History {
  readonly acknowledged = new Map<string, { version: number; atMs: number }[]>();
  readonly wrong: string[] = [];
  cached = 0;

  acknowledge(key: string, version: number): void {
    const known = this.acknowledged.get(key) ?? [];
    known.push({ version, atMs: performance.now() });
    this.acknowledged.set(key, known);
  }

  /** A cache gives `version` now; `sinceMs`: for what its node stood still nobody can be told. */
  gave(who: string, key: string, version: number, sinceMs: number): void {
    this.cached++;
    const nowMs = performance.now();
    if (nowMs - sinceMs < BOUND_MS) return;
    const newer = this.acknowledged
      .get(key)
      ?.findLast((one) => one.version > version && one.atMs < nowMs - BOUND_MS);
    if (newer === undefined) return;
    const lateMs = Math.round(nowMs - newer.atMs);
    this.wrong.push(
      `${who}: ${key} is ${version}, ${newer.version} was acknowledged ${lateMs} ms ago`,
    );
  }
}

test('no cache gives what was overwritten longer ago than is promised', async () => {
  const history = new History();
  const stop = new AbortController();
  const writers = [0, 1, 2].map((node) => new CachingClient(cluster.gatewayPort(node)));
  const readers = [0, 1, 2].flatMap((node) =>
    ['CLIENT TRACKING ON', 'CLIENT TRACKING ON BCAST PREFIX k'].map((on) => ({
      node,
      on,
      client: new CachingClient(cluster.gatewayPort(node), on),
    })),
  );
  /** When a node was stopped, or went on, last. */
  const stoodMs = [0, 0, 0].map(() => Number.NEGATIVE_INFINITY);
  const stands = [false, false, false];
  const write = async (client: CachingClient, at: number) => {
    for (let version = 1; !stop.signal.aborted; version++) {
      for (const key of KEYS.filter((_, of) => of % 3 === at)) {
        const reply = await client.call(`SET ${key} ${version}`);
        if (reply === '+OK\r\n') history.acknowledge(key, version);
        // most keys rest long enough for a value that was missed to be found out
        await pause(150);
      }
    }
  };
  const read = async ({ node, on, client }: (typeof readers)[number]) => {
    while (!stop.signal.aborted) {
      for (const key of KEYS) {
        const given = await client.get(key);
        const sinceMs = stands[node] ? performance.now() : stoodMs[node]!;
        if (given !== undefined) history.gave(`${on} at ${node}`, key, given, sinceMs);
      }
      await pause(50);
    }
  };
  const under = [...writers.map(write), ...readers.map(read)];
  for (let round = 0; round < scale.trackingRounds; round++) {
    await pause(2_000);
    await standStill(round % 3, stands, stoodMs);
    await pause(1_000);
    await cluster.killAndWait(`datanode${((round + 1) % 3) + 1}`);
    await pause(limits.trackingProofMs + 2_000);
  }
  await pause(BOUND_MS);
  stop.abort();
  for (const { client } of readers) client.close();
  for (const client of writers) client.close();
  await Promise.all(under);
  const [told, forgotten] = [sum(readers, 'told'), sum(readers, 'forgotten')];
  process.stdout.write(`${history.cached} from caches, ${told} told, ${forgotten} to forget all\n`);
  expect(history.wrong.slice(0, 5)).toEqual([]);
  expect(history.cached).toBeGreaterThan(100);
  expect(forgotten).toBeGreaterThan(0);
}, 600_000);

function sum(readers: readonly { client: CachingClient }[], of: 'told' | 'forgotten'): number {
  return readers.reduce((total, { client }) => total + client[of], 0);
}

/** As a machine that is suspended: others lead meanwhile what its node led. */
async function standStill(node: number, stands: boolean[], stoodMs: number[]): Promise<void> {
  let pid = 0;
  // it may be the one that was killed last
  await eventually(60_000, 'it is back', () => {
    pid = cluster.pidOf(`datanode${node + 1}`);
    return true;
  });
  stands[node] = true;
  process.kill(pid, 'SIGSTOP');
  await pause(10_000);
  process.kill(pid, 'SIGCONT');
  stands[node] = false;
  stoodMs[node] = performance.now();
}

test('every door tells: of keys by cluster and follower ports, scripts, deadlines and FLUSHALL', async () => {
  const writer = new CachingClient(cluster.gatewayPort(2));
  const doors = [cluster.gatewayPort(0), cluster.clusterPort(0), cluster.followerPort(0)];
  for (const port of doors) {
    const client = new CachingClient(port);
    for (const key of KEYS) expect(await writer.call(`SET ${key} 1`)).toBe('+OK\r\n');
    await eventually(60_000, `port ${port} has answered`, async () => {
      if (port === doors[2]) await client.call('READONLY');
      for (const key of KEYS) await client.get(key);
      return client.cache.size > 0;
    });
    const had = client.cache.size;
    for (const key of KEYS) expect(await writer.call(`SET ${key} 2`)).toBe('+OK\r\n');
    await eventually(
      20_000,
      `port ${port} is told of ${had}`,
      () => ![...client.cache.values()].includes(1),
    );
    client.close();
  }
  const client = new CachingClient(doors[0]!);
  const isTold = async (what: string) => {
    await eventually(20_000, what, () => client.told > 0);
    client.told = 0;
  };
  await client.call('PING');
  await writer.call('SET {s}script 1');
  await client.call('EVAL_RO return(redis.call("get",KEYS[1])) 1 {s}script');
  await writer.call('SET {s}script 2');
  await isTold('the key of a script');
  await eventually(20_000, 'it has read what lives for a moment', async () => {
    await writer.call('SET {s}short 1 PX 700');
    await client.get('{s}short');
    return client.cache.has('{s}short');
  });
  await eventually(20_000, 'a deadline', () => !client.cache.has('{s}short'));
  await client.call('GET {s}script');
  // a node that stood still makes its clients forget all as well
  client.forgotten = 0;
  await writer.call('FLUSHALL');
  await eventually(20_000, 'FLUSHALL', () => client.forgotten > 0);
  for (const one of [client, writer]) one.close();
}, 240_000);

test('who redirects to a client that has quit, and holds its own end open, is told that it has gone', async () => {
  const port = cluster.gatewayPort(0);
  const listener = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let heard = '';
  listener.on('data', (chunk: Buffer) => {
    heard += chunk.toString();
  });
  listener.write(wire('CLIENT ID'));
  await eventually(20_000, 'it has an id', () => heard.endsWith('\r\n'));
  const id = /^:(\d+)/.exec(heard)![1];
  const client = new CachingClient(port, `CLIENT TRACKING ON REDIRECT ${id}`);
  const writer = new CachingClient(cluster.gatewayPort(1));
  await eventually(20_000, 'it reads what is tracked', async () => {
    await writer.call('SET {q}key 1');
    await client.call('GET {q}key');
    return (await client.call('CLIENT TRACKINGINFO')) !== undefined;
  });
  listener.write(wire('QUIT'));
  await eventually(20_000, 'it has quit', () => heard.endsWith('+OK\r\n'));
  await writer.call('SET {q}key 2');
  await eventually(20_000, 'the client knows', async () => {
    return (await client.call('CLIENT TRACKINGINFO'))?.includes('broken_redirect') === true;
  });
  listener.destroy();
  for (const one of [client, writer]) one.close();
}, 120_000);

test('node-redis: its cache hears of what others write, by any node', async () => {
  await eventually(60_000, 'all are back', async () => {
    const report = await cluster.status();
    return JSON.stringify(report).length > 0;
  });
  const place = (node: number) => ({
    socket: { port: cluster.gatewayPort(node), host: '127.0.0.1' },
    RESP: 3 as const,
  });
  const cached = createClient({ ...place(0), clientSideCache: { ttl: 0, maxEntries: 100 } });
  const other = createClient(place(1));
  for (const client of [cached, other]) {
    client.on('error', () => {});
    await client.connect();
  }
  for (const key of ['nr1', 'nr2', 'nr3', 'nr4', 'nr5', 'nr6']) {
    await other.set(key, 'old');
    expect(await cached.get(key)).toBe('old');
    await other.set(key, 'new');
    await eventually(20_000, 'the new value is read', async () => {
      return (await cached.get(key)) === 'new';
    });
  }
  cached.destroy();
  other.destroy();
}, 120_000);
