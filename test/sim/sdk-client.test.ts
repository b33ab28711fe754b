/** A client of the SDK and nodes that do as they are scripted, on virtual time. */
import { expect, test } from 'vitest';
import type { Network } from '../../src/common/network.ts';
import { seededRandom } from '../../src/common/random.ts';
import { createRequestParser } from '../../src/datanode/resp/request-parser.ts';
import { Client } from '../../src/sdk/client.ts';
import type { ClientOptions } from '../../src/sdk/options.ts';
import { array, bulk, scriptedPlacedriver } from '../sdk/peer.ts';
import { SimClock } from './clock.ts';
import { SimNetwork } from './network.ts';
import { Scheduler } from './scheduler.ts';
import { simConnector } from './sdk-connector.ts';

const PORT = 7_001;
/** RESP to answer; undefined: nothing, and nothing after it on this connection. */
type Script = (words: readonly string[], connection: number) => string | undefined;

class Scene {
  readonly scheduler: Scheduler;
  readonly #network: SimNetwork;
  readonly #networks = new Map<string, Network>();
  readonly #clock: SimClock;

  constructor() {
    const random = seededRandom('silent');
    this.scheduler = new Scheduler(random);
    this.#network = new SimNetwork(this.scheduler, random);
    this.#clock = new SimClock(this.scheduler);
  }

  async node(
    host: string,
    script: Script,
    { port = PORT, select = '+OK\r\n' } = {},
  ): Promise<{ connections: number }> {
    const node = { connections: 0 };
    const network = this.#networks.get(host) ?? this.#network.node(host);
    this.#networks.set(host, network);
    await network.listen({ host, port }, (stream) => {
      const number = ++node.connections;
      let silent = false;
      const parser = createRequestParser({
        onRequest: (args) => {
          const words = args.map(String);
          const known = new Map([
            ['CLIENT', '+OK\r\n'],
            ['READONLY', '+OK\r\n'],
            ['SELECT', select],
          ]);
          const answer = silent ? undefined : (known.get(words[0]!) ?? script(words, number));
          silent ||= answer === undefined;
          if (answer !== undefined) stream.write(Buffer.from(answer));
        },
        onProtocolError: (text) => expect.unreachable(text),
      });
      stream.attach({ onData: (chunk) => parser.feed(chunk), onClose: () => {} });
    });
    return node;
  }

  client(options: ClientOptions, get?: ReturnType<typeof scriptedPlacedriver>['get']): Client {
    return new Client(options, {
      clock: this.#clock,
      random: seededRandom('client'),
      connector: simConnector(this.#network.node('client'), this.#clock),
      ...(get && { get }),
    });
  }
}

const leads = (host: string) =>
  array(array(':0\r\n', ':16383\r\n', array(bulk(host), `:${PORT}\r\n`, bulk('id'))));

test('a lookup goes on at another datanode, and asks that one first from then on', async () => {
  const scene = new Scene();
  await scene.node('n1', () => undefined);
  await scene.node('n2', ([name]) => (name === 'CLUSTER' ? leads('n2') : bulk('v')));
  const options = { datanodes: [`n1:${PORT}`, `n2:${PORT}`], attemptTimeoutMs: 500 };
  const client = scene.client({ ...options, lookupMs: 1_000 });
  const values: unknown[] = [];
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  void client.get('k').then((value) => values.push(value));
  await scene.scheduler.run(1_000);
  expect(values).toEqual(['v']);
  await scene.scheduler.run(10_000);
  expect(errors).toEqual([]);
  client.disconnect();
});

test('a datanode that is starting is no gateway: another is asked', async () => {
  const scene = new Scene();
  await scene.node('n1', () => '-LOADING kvorum waits for its first partition table\r\n');
  const lines: string[] = [];
  await scene.node('n2', (words) => {
    if (words[0] === 'CLUSTER') return leads('n2');
    lines.push(words.join(' '));
    return '+OK\r\n';
  });
  const client = scene.client({ datanodes: [`n1:${PORT}`, `n2:${PORT}`] });
  void client.mset({ a: 1, b: 2 });
  await scene.scheduler.run(1_000);
  expect(lines).toEqual(['MSET a 1', 'MSET b 2']);
  client.disconnect();
});

test('a client that is closed during a lookup makes no more connections', async () => {
  const scene = new Scene();
  await scene.node('n1', () => undefined);
  const other = await scene.node('n2', () => leads('n2'));
  const client = scene.client({ datanodes: [`n1:${PORT}`, `n2:${PORT}`] });
  await scene.scheduler.run(1_000);
  let closed = false;
  void client.close().then(() => {
    closed = true;
  });
  await scene.scheduler.run(3_000);
  expect(closed).toBe(true);
  expect(other.connections).toBe(0);
});

test('a connection over which nothing has come for long is replaced', async () => {
  const scene = new Scene();
  const swallows = await scene.node('n1', (_, connection) =>
    connection === 1 ? undefined : bulk('v'),
  );
  await scene.node('n2', () => bulk('v'));
  const nodes = ['n1', 'n2'];
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes: nodes.map((name) => ({ name, host: name, port: PORT })),
    partitions: [{ leader: 'n1', replicas: nodes }],
  });
  const client = scene.client({ placedrivers: ['unused:1'] }, get);
  const took: number[] = [];
  for (let atMs = 0; atMs < 30_000; atMs += 500) {
    const beganMs = scene.scheduler.nowMs;
    let value: unknown;
    void client.get('k').then((got) => {
      value = got;
    });
    expect(await scene.scheduler.runUntil(() => value === 'v', 10_000)).toBe(true);
    took.push(scene.scheduler.nowMs - beganMs);
    await scene.scheduler.run(scene.scheduler.nowMs + 500);
  }
  expect(took.filter((ms) => ms > 100)).toHaveLength(2);
  expect(swallows.connections).toBe(2);
  client.disconnect();
});

test('keys are sent by slot where ranges of slots may be of several partitions', async () => {
  const scene = new Scene();
  const lines: string[] = [];
  await scene.node('n1', (words) => {
    if (words[0] === 'CLUSTER') return leads('n1');
    lines.push(words.join(' '));
    return words[0] === 'MSET' ? '+OK\r\n' : array(...words.slice(1).map(bulk));
  });
  const client = scene.client({ datanodes: [`n1:${PORT}`] });
  const got: unknown[] = [];
  void client.mget('a', 'b', '{a}2').then((values) => got.push(values));
  void client.mset({ a: 1, b: 2, '{b}': 3 }).then((value) => got.push(value));
  await scene.scheduler.run(1_000);
  expect(lines).toEqual(['MGET a {a}2', 'MGET b', 'MSET a 1', 'MSET b 2 {b} 3']);
  expect(got).toEqual([['a', 'b', '{a}2'], 'OK']);
  client.disconnect();
});

test('slots that nobody leads for the moment leave the others as they are', async () => {
  const scene = new Scene();
  const lines: string[] = [];
  await scene.node('n1', (words) => {
    // the slot of `a` is 15495, that of `b` 3300
    const [first, last] = [':0\r\n', ':8191\r\n'];
    if (words[0] === 'CLUSTER') {
      return array(array(first, last, array(bulk('n1'), `:${PORT}\r\n`, bulk('id'))));
    }
    lines.push(words.join(' '));
    const later = lines.length < 4 && words[1] === 'a';
    return later ? '-CLUSTERDOWN nobody leads\r\n' : array(...words.slice(1).map(bulk));
  });
  const client = scene.client({ datanodes: [`n1:${PORT}`] });
  const got: unknown[] = [];
  void client.mget('a', 'b').then((values) => got.push(values));
  await scene.scheduler.run(1_000);
  expect(got).toEqual([['a', 'b']]);
  expect(lines).toEqual(['MGET a', 'MGET b', 'MGET a', 'MGET a']);
  client.disconnect();
});

test('a follower-read port that serves another namespace is passed over', async () => {
  const scene = new Scene();
  await scene.node('n1', () => bulk('of the leader'));
  await scene.node('n2', () => bulk('of the gateway'));
  const select = '-ERR SELECT is not allowed in cluster mode\r\n';
  const refuses = await scene.node('n2', () => bulk('wrong'), { port: 8_001, select });
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes: ['n1', 'n2'].map((name) => ({ name, host: name, port: PORT, followerPort: 8_001 })),
    partitions: [{ leader: 'n1', replicas: ['n1', 'n2'] }],
  });
  const client = scene.client({ placedrivers: ['unused:1'], namespace: 'other' }, get);
  const got: unknown[] = [];
  for (let at = 0; at < 3; at++) {
    void client.get('k', { consistency: 'stale' }).then((value) => got.push(value));
    await scene.scheduler.run(scene.scheduler.nowMs + 2_000);
  }
  expect(got).toEqual(Array(3).fill('of the leader'));
  expect(refuses.connections).toBe(1);
  client.disconnect();
});

test('the time of a pipeline counts from exec(), while it waits for the partitions as well', async () => {
  const scene = new Scene();
  await scene.node('n1', () => undefined);
  const driver = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'n1', host: 'n1', port: PORT }],
    partitions: [{ leader: 'n1', replicas: ['n1'] }],
  });
  const known = new Promise<void>((resolve) => void scene.scheduler.after(600, resolve));
  const options = { placedrivers: ['unused:1'], timeoutMs: 1_000, sessions: false };
  const client = scene.client(options, async (...asked) => {
    await known;
    return driver.get(...asked);
  });
  const codes: unknown[] = [];
  const exec = client.pipeline().set('k', 1).get('k').exec();
  void exec.then((results) => codes.push(...results.map(([error]) => error?.code)));
  await scene.scheduler.run(980);
  expect(codes).toEqual([]);
  await scene.scheduler.run(1_050);
  expect(codes).toEqual(['OUTCOME_UNKNOWN', 'TIMEOUT']);
  client.disconnect();
});
