/** A subscriber leaves who does not answer, and whoever is no more among the nodes. */
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { Client } from '../../src/sdk/index.ts';
import { ioredisConnector } from '../../src/sdk/ioredis-connection.ts';
import { Subscriber } from '../../src/sdk/subscriber.ts';
import { HandClock } from './hand-clock.ts';
import { HandConnection } from './hand-connection.ts';
import { array, bulk, Peer, scriptedPlacedriver } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const SILENT_MS = 1_000;
const PING_MS = 300;

function scene({ backoffMaxMs = 10 } = {}) {
  const clock = new HandClock();
  const opened: HandConnection[] = [];
  const known = new Set(['n0', 'n1', 'n2']);
  const subscriber = new Subscriber({
    clock,
    target: (place) => ({ host: [...known][place % known.size]!, port: 1 }),
    isKnown: ({ host }) => known.has(host),
    isLeftAlone: () => false,
    open: (address, events) => {
      const connection = new HandConnection(address, events);
      opened.push(connection);
      return connection;
    },
    backoffMinMs: 10,
    backoffMaxMs,
    silentMs: SILENT_MS,
    pingMs: PING_MS,
  });
  const errors: string[] = [];
  subscriber.on('error', (error) => errors.push(error.message));
  ends.push(() => subscriber.close());
  /** What a promise has been resolved with runs. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, opened, known, subscriber, errors, settle };
}

async function subscribed(options = {}) {
  const all = scene(options);
  const call = all.subscriber.subscribe('news');
  all.opened[0]!.answer();
  await call;
  return all;
}

test('a node that does not answer SUBSCRIBE is left for another', async () => {
  const { clock, opened, subscriber, errors, settle } = scene();
  const call = subscriber.subscribe('news');
  clock.run(SILENT_MS - 1);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false]);
  clock.run(1);
  await settle();
  expect(errors).toEqual(['n0:1 says nothing']);
  clock.run(10);
  expect(opened.map(({ address, isClosed }) => [address.host, isClosed])).toEqual([
    ['n0', true],
    ['n1', false],
  ]);
  opened[1]!.answer();
  await call;
});

test('a node that has stood still since is found, and not the next one again', async () => {
  const { clock, opened, settle, subscriber } = await subscribed();
  for (let beat = 1; beat <= 3; beat++) {
    clock.run(PING_MS);
    expect(opened[0]!.lines).toEqual(['SUBSCRIBE news', ...Array(beat).fill('PING')]);
    opened[0]!.answer();
    await settle();
  }
  clock.run(PING_MS);
  clock.run(SILENT_MS);
  expect(opened[0]!.isClosed).toBe(true);
  await settle();
  const ready = new Promise<void>((resolve) => subscriber.once('ready', resolve));
  clock.run(10);
  expect(opened[1]).toMatchObject({ address: { host: 'n1' }, lines: ['SUBSCRIBE news'] });
  opened[1]!.answer();
  await ready;
});

test('messages are as good as an answer', async () => {
  const { clock, opened } = await subscribed();
  clock.run(PING_MS);
  clock.run(SILENT_MS - 1);
  opened[0]!.events.push?.('message', Buffer.from('news'), Buffer.from('hello'));
  clock.run(SILENT_MS - 1);
  expect(opened[0]!.isClosed).toBe(false);
  clock.run(SILENT_MS);
  expect(opened[0]!.isClosed).toBe(true);
});

test('a node that is no more among the nodes is left', async () => {
  const { clock, known, opened, errors } = await subscribed();
  known.delete('n0');
  clock.run(PING_MS);
  expect(opened[0]!.isClosed).toBe(true);
  expect(errors).toEqual(['n0:1 is no more among the nodes']);
});

describe('closed', () => {
  test('nothing is left of it: no connection, no timer', async () => {
    const { clock, opened, subscriber } = await subscribed();
    await subscriber.close();
    expect(opened[0]!.isClosed).toBe(true);
    expect(clock.armed).toBe(0);
  });

  test('while it waits for the next node: none is asked', async () => {
    const { clock, opened, subscriber } = await subscribed();
    opened[0]!.close();
    await subscriber.close();
    clock.run(1_000);
    expect(opened).toHaveLength(1);
    expect(clock.armed).toBe(0);
  });

  test('who subscribes meanwhile is told, the first as well as those behind it', async () => {
    const { subscriber } = scene();
    const calls = ['a', 'b'].map((name) =>
      expect(subscriber.subscribe(name)).rejects.toMatchObject({ code: 'CLOSED' }),
    );
    await subscriber.close();
    await Promise.all(calls);
    const { subscriber: standing } = await subscribed();
    const call = expect(standing.subscribe('more')).rejects.toMatchObject({ code: 'CLOSED' });
    await standing.close();
    await call;
  });
});

test('a refused call takes back what it has added, and nothing that was there', async () => {
  const { clock, opened, subscriber } = await subscribed();
  const call = subscriber.subscribe('news', 'secret');
  opened[0]!.answerFirst('NOPERM no');
  await expect(call).rejects.toMatchObject({ code: 'NOPERM' });
  opened[0]!.close();
  clock.run(10);
  expect(opened[1]!.lines).toEqual(['SUBSCRIBE news']);
});

test('the first, and who came behind it, are told of the next node', async () => {
  const { clock, opened, subscriber, settle } = scene();
  const calls = [subscriber.subscribe('a'), subscriber.subscribe('b')];
  opened[0]!.close();
  await settle();
  clock.run(10);
  opened[1]!.answer();
  await Promise.all(calls);
});

test('what was sent is lost before the end is told: one next connection is made', async () => {
  const { clock, opened, subscriber, settle } = await subscribed();
  const call = subscriber.subscribe('more');
  opened[0]!.lose();
  await settle();
  expect(opened).toHaveLength(1);
  opened[0]!.close();
  clock.run(10);
  expect(opened).toHaveLength(2);
  opened[1]!.answer();
  await call;
});

test('a name that is refused at the next node is wanted no more, and the others are heard', async () => {
  const { clock, opened, subscriber, errors, settle } = await subscribed();
  const call = subscriber.subscribe('secret');
  opened[0]!.answer();
  await call;
  opened[0]!.close();
  clock.run(10);
  opened[1]!.answerFirst('NOPERM no');
  await settle();
  expect(opened[1]!.lines.slice(1)).toEqual(['SUBSCRIBE news', 'SUBSCRIBE secret']);
  opened[1]!.answerFirst();
  opened[1]!.answerFirst('NOPERM not this one');
  await settle();
  expect(errors).toEqual(['NOPERM not this one']);
  opened[1]!.close();
  clock.run(10);
  expect(opened[2]!.lines).toEqual(['SUBSCRIBE news']);
});

test('pauses grow with failures in a row', async () => {
  const { clock, opened, settle } = await subscribed({ backoffMaxMs: 10_000 });
  for (let failure = 1; failure <= 5; failure++) {
    opened.at(-1)!.close();
    await settle();
    clock.run(10_000);
    expect(opened).toHaveLength(failure + 1);
  }
  opened.at(-1)!.answer();
  await settle();
  opened.at(-1)!.close();
  await settle();
  clock.run(10);
  expect(opened).toHaveLength(7);
});

describe('how long a node has been silent', () => {
  test('an answer to one call is a sign of life for those behind it', async () => {
    const { clock, opened, subscriber, settle } = scene();
    const calls = [subscriber.subscribe('a')];
    clock.run(SILENT_MS / 2);
    calls.push(subscriber.subscribe('b'));
    clock.run(SILENT_MS / 2 - 1);
    opened[0]!.answerFirst();
    clock.run(SILENT_MS / 2 + 1);
    await settle();
    expect(opened[0]!.isClosed).toBe(false);
    opened[0]!.answer();
    await Promise.all(calls);
  });

  test('what another connection has lost is no sign of life of this one', async () => {
    const { clock, opened, subscriber, settle } = scene();
    void subscriber.subscribe('a').catch(() => {});
    opened[0]!.isClosed = true;
    opened[0]!.events.closed(undefined, false);
    clock.run(10);
    clock.run(SILENT_MS - 1);
    opened[0]!.lose();
    await settle();
    clock.run(1);
    expect(opened[1]!.isClosed).toBe(true);
  });

  test('nor does it end the questions whether this one stands', async () => {
    const { clock, opened, settle } = await subscribed();
    clock.run(PING_MS);
    opened[0]!.isClosed = true;
    opened[0]!.events.closed(undefined, false);
    clock.run(10);
    opened[1]!.answer();
    opened[0]!.lose();
    await settle();
    clock.run(PING_MS);
    expect(opened[1]!.lines).toEqual(['SUBSCRIBE news', 'PING']);
  });

  test('an answer that comes in the turn in which the time is up', async () => {
    const { clock, opened, settle } = await subscribed();
    const later: (() => void)[] = [];
    clock.endOfTurn = (run) => void later.push(run);
    clock.run(PING_MS);
    clock.run(SILENT_MS);
    opened[0]!.answer();
    for (const run of later.splice(0)) run();
    expect(opened[0]!.isClosed).toBe(false);
    // nothing is owed, so nobody looks: the next question is all that is to come
    await settle();
    expect(clock.armed).toBe(1);
  });
});

test('who waited at a connection that failed is told of the next, however late the failure is heard', async () => {
  const { clock, opened, subscriber, settle } = scene();
  const calls = [subscriber.subscribe('a'), subscriber.subscribe('b')];
  const [first] = opened;
  first!.isClosed = true;
  first!.events.closed(undefined, false);
  clock.run(10);
  opened[1]!.answer();
  await settle();
  first!.lose();
  await settle();
  opened[1]!.answer();
  await Promise.all(calls);
});

describe('a node that does not let the client in', () => {
  const refuse = (connection: HandConnection) => {
    connection.isClosed = true;
    connection.events.closed(new Error('WRONGPASS'), true);
    connection.lose();
  };

  test('who subscribes is told, and may try again', async () => {
    const { clock, opened, subscriber } = scene();
    const calls = [subscriber.subscribe('a'), subscriber.psubscribe('b*')].map((call) =>
      expect(call).rejects.toMatchObject({ code: 'REFUSED', cause: new Error('WRONGPASS') }),
    );
    refuse(opened[0]!);
    await calls[0];
    clock.run(10);
    refuse(opened[1]!);
    await calls[1];
    expect(clock.armed, 'nothing is wanted: no other is made').toBe(0);
    const again = subscriber.subscribe('a');
    opened[2]!.answer();
    await again;
    expect(opened[2]!.lines).toEqual(['SUBSCRIBE a']);
  });

  test('what was heard before is asked for until it is heard again', async () => {
    const { clock, opened, subscriber, settle } = await subscribed();
    opened[0]!.close();
    clock.run(10);
    const call = expect(subscriber.subscribe('more')).rejects.toMatchObject({ code: 'REFUSED' });
    refuse(opened[1]!);
    await settle();
    clock.run(10);
    expect(opened[2]!.lines).toEqual(['SUBSCRIBE news more']);
    refuse(opened[2]!);
    await call;
    clock.run(10);
    expect(opened[3]!.lines).toEqual(['SUBSCRIBE news']);
  });
});

describe('over TCP', () => {
  const serving: Peer['script'] = ([name = '', channel = '']) => {
    if (name === 'subscribe') return array(bulk(name), bulk(channel), ':1\r\n');
    return name === 'ping' ? array(bulk('pong'), bulk('')) : undefined;
  };

  test('PING has its place beside subscriptions', async () => {
    const peer = await Peer.start(serving);
    ends.push(() => peer.stop());
    const address = { host: '127.0.0.1', port: peer.port };
    const settings = { namespace: undefined, username: undefined, password: undefined };
    const connector = ioredisConnector(systemClock);
    const subscriber = new Subscriber({
      clock: systemClock,
      target: () => address,
      isKnown: () => true,
      isLeftAlone: () => false,
      open: (_, events) =>
        connector.open({ ...settings, address, connectTimeoutMs: 5_000, readOnly: false }, events),
      backoffMinMs: 10,
      backoffMaxMs: 10,
      silentMs: 5_000,
      pingMs: 5,
    });
    ends.push(() => subscriber.close());
    await subscriber.subscribe('news');
    await expect
      .poll(() => peer.commands.filter((line) => line === 'ping').length)
      .toBeGreaterThan(3);
    const heard = new Promise((resolve) => subscriber.once('message', (...told) => resolve(told)));
    peer.send(array(bulk('message'), bulk('news'), bulk('hello')));
    expect(await heard).toEqual(['news', 'hello']);
    expect(peer.connections).toBe(1);
  });

  test('a client makes it so: one node hangs, the other serves', async () => {
    const peers = [await Peer.start(() => 'hang'), await Peer.start(() => 'hang')];
    for (const peer of peers) ends.push(() => peer.stop());
    const nodes = peers.map(({ port }, at) => ({ name: `n${at}`, port }));
    const partitions = [{ leader: 'n0', replicas: ['n0', 'n1'] }];
    const { get } = scriptedPlacedriver({ epoch: 1, nodes, partitions });
    const client = new Client({ placedrivers: ['p:1'], attemptTimeoutMs: 300 }, { get });
    ends.push(() => client.disconnect());
    await client.connect();
    const subscriber = client.subscriber();
    ends.push(() => subscriber.close());
    const call = subscriber.subscribe('news');
    const asked = () => peers.map(({ lines }) => lines.length > 0);
    await expect.poll(asked).toContain(true);
    peers[asked().indexOf(false)]!.script = serving;
    await call;
  });
});

test('however many wait for the next node are told of the one behind it', async () => {
  const { clock, opened, subscriber, settle } = await subscribed();
  opened[0]!.close();
  const names = Array.from({ length: 150_000 }, (_, at) => `c${at}`);
  const calls = Promise.all(names.map((name) => subscriber.subscribe(name)));
  await settle();
  clock.run(10);
  opened[1]!.close();
  await settle();
  clock.run(10);
  while (opened[2]!.pending > 0) {
    opened[2]!.answer();
    await settle();
  }
  await calls;
});

describe('all names together are more than one request may be', () => {
  test('a call is refused, and leaves nothing behind', async () => {
    const { opened, subscriber } = await subscribed();
    const names = Array.from({ length: 1_000 }, (_, at) => `${at}`.padEnd(65_536, '.'));
    await expect(subscriber.subscribe(...names)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
    expect(opened[0]!.lines).toEqual(['SUBSCRIBE news']);
  });

  test('the next node is asked in several lines, and not for what was given up meanwhile', async () => {
    const { clock, opened, subscriber, settle } = await subscribed();
    const long = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(65_536, '.'));
    const all = subscriber.subscribe(...long);
    opened[0]!.answer();
    await all;
    opened[0]!.close();
    await settle();
    clock.run(10);
    const [next] = opened.slice(1);
    expect(next!.lines).toHaveLength(1);
    void subscriber.unsubscribe(long.at(-1)!);
    while (next!.pending > 0) {
      next!.answer();
      await settle();
    }
    const asked = next!.lines.filter((line) => line.startsWith('SUBSCRIBE'));
    expect(asked).toHaveLength(2);
    expect(asked.flatMap((line) => line.split(' ').slice(1))).toEqual([
      'news',
      ...long.slice(0, -1),
    ]);
  });
});
