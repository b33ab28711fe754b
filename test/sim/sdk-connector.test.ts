/** What the SDK is told by its connections over simulated streams; and HTTP over the same. */
import { expect, test } from 'vitest';
import type { ByteStream } from '../../src/common/network.ts';
import { seededRandom } from '../../src/common/random.ts';
import type { Outcome } from '../../src/sdk/connection.ts';
import { SimClock } from './clock.ts';
import { SimNetwork } from './network.ts';
import { Scheduler } from './scheduler.ts';
import { simConnector } from './sdk-connector.ts';
import { serveHttp, simGet } from './sim-http.ts';

const address = { host: 'n1', port: 6_379 };
const settings = {
  address,
  namespace: 'default',
  username: undefined,
  password: undefined,
  connectTimeoutMs: 500,
  readOnly: true,
};

/** A node that answers each chunk as `answer` says; undefined: with nothing. */
async function scene(answer: (text: string) => string | undefined) {
  const random = seededRandom('connector');
  const scheduler = new Scheduler(random);
  const network = new SimNetwork(scheduler, random, { splitChance: 0, mergeChance: 0 });
  const client = { network: network.node('sdk'), clock: new SimClock(scheduler) };
  const heard: string[] = [];
  const streams: ByteStream[] = [];
  await network.node('n1').listen(address, (stream) => {
    streams.push(stream);
    stream.attach({
      onData: (chunk) => {
        heard.push(chunk.toString());
        const text = answer(chunk.toString());
        // in two parts: replies are put together again
        if (text !== undefined) stream.write(Buffer.from(text.slice(0, 3)));
        if (text !== undefined) stream.write(Buffer.from(text.slice(3)));
      },
      onClose: () => {},
    });
  });
  return { scheduler, network, client, heard, streams };
}

const entered = '+OK\r\n+OK\r\n+OK\r\n';
const quiet = { ready: () => {}, closed: () => {} };

test('replies come in order, as ioredis gives them, to what left in one write', async () => {
  const { scheduler, client, heard } = await scene((text) =>
    text.includes('READONLY')
      ? entered
      : '+PONG\r\n:7\r\n$-1\r\n$2\r\nab\r\n*2\r\n:1\r\n-ERR no\r\n-WRONGTYPE of another\r\n',
  );
  const connector = simConnector(client.network, client.clock);
  let ready = 0;
  const connection = connector.open(settings, { ...quiet, ready: () => ready++ });
  const outcomes: Outcome[] = [];
  for (const word of ['PING', 'INCR', 'GET', 'GET', 'EXEC', 'LPUSH']) {
    connection.send([word, 1, Buffer.from('é')], (outcome) => outcomes.push(outcome));
  }
  expect(connection.pending).toBe(6);
  await scheduler.run(1_000);
  expect(ready).toBe(1);
  expect(heard[0]).toContain('SETINFO');
  expect(heard[0]).toContain('SELECT');
  expect(heard).toHaveLength(2);
  expect(heard[1]!.startsWith('*3\r\n$4\r\nPING\r\n$1\r\n1\r\n$2\r\né\r\n*3\r\n')).toBe(true);
  expect(outcomes).toEqual([
    { kind: 'reply', reply: Buffer.from('PONG') },
    { kind: 'reply', reply: 7 },
    { kind: 'reply', reply: null },
    { kind: 'reply', reply: Buffer.from('ab') },
    { kind: 'reply', reply: [1, new Error('ERR no')] },
    { kind: 'error', text: 'WRONGTYPE of another' },
  ]);
  expect(connection.pending).toBe(0);
  expect(connector.standing.size).toBe(1);
});

test('what was sent is lost with its connection, what waited was not sent', async () => {
  const { scheduler, client, streams } = await scene((text) =>
    text.includes('READONLY') ? entered : undefined,
  );
  const connector = simConnector(client.network, client.clock);
  const told: string[] = [];
  const connection = connector.open(settings, {
    ...quiet,
    closed: (cause, refused) => told.push(`closed ${cause?.message} ${refused}`),
  });
  connection.send(['INCR', 'n'], ({ kind }) => told.push(kind));
  await scheduler.run(1_000);
  expect(told).toEqual([]);
  streams[0]!.destroy();
  await scheduler.run(2_000);
  connection.send(['INCR', 'n'], ({ kind }) => told.push(kind));
  expect(told).toEqual(['closed connection reset by peer false', 'lost', 'unsent']);
  expect(connector.standing.size).toBe(0);
});

test('a node that cannot be reached, or lets nobody in, is told', async () => {
  const { scheduler, network, client } = await scene(() => '+OK\r\n+OK\r\n-NOPERM this user\r\n');
  const connector = simConnector(client.network, client.clock);
  const told: string[] = [];
  const open = (to = address) => {
    const connection = connector.open(
      { ...settings, address: to },
      { ...quiet, closed: (cause, refused) => told.push(`${cause?.message} ${refused}`) },
    );
    connection.send(['GET', 'n'], ({ kind }) => told.push(kind));
  };
  open({ host: 'n1', port: 1 });
  await scheduler.run(1_000);
  expect(told.splice(0)).toEqual(['connect n1:1: ECONNREFUSED false', 'unsent']);
  open();
  await scheduler.run(2_000);
  expect(told.splice(0)).toEqual(['NOPERM this user true', 'unsent']);
  network.cut('sdk', 'n1');
  open();
  await scheduler.run(3_000);
  expect(told).toEqual(['connect n1:6379: ETIMEDOUT false', 'unsent']);
});

test('HTTP answers a path by a status and JSON, or not in time', async () => {
  const { scheduler, network, client } = await scene(() => undefined);
  const driver = { host: 'placedriver1', port: 18_001 };
  const asked: string[] = [];
  await serveHttp(network.node('placedriver1'), driver, ({ pathname, search }) => {
    asked.push(pathname + search);
    return search === '' ? { status: 200, body: { text: 'é'.repeat(500) } } : { status: 304 };
  });
  const get = simGet(client.network, client.clock, 300);
  const got: unknown[] = [];
  const ask = (path: string) =>
    get(`http://placedriver1:18001${path}`, new AbortController().signal).then(
      async (answer) => got.push(answer.status, answer.status === 200 && (await answer.json())),
      (error: Error) => got.push(error.message),
    );
  void ask('/query/default');
  await scheduler.run(1_000);
  void ask('/query/default?epoch=7');
  await scheduler.run(2_000);
  expect(asked).toEqual(['/query/default', '/query/default?epoch=7']);
  expect(got.splice(0)).toEqual([200, { text: 'é'.repeat(500) }, 304, false]);
  network.cut('placedriver1', 'sdk');
  void ask('/v1/nodes');
  await scheduler.run(3_000);
  expect(got).toEqual(['connect placedriver1:18001: ETIMEDOUT']);
});
