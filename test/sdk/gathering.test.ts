/** Pipelines, transactions, walks and subscriptions against scripted nodes. */
import { afterEach, describe, expect, test } from 'vitest';
import { Client, type ClientError, type ClientOptions } from '../../src/sdk/index.ts';
import {
  array,
  bulk,
  type Peer,
  type ScriptedTable,
  scriptedPlacedriver,
  startPeers,
} from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function scene(scripts: readonly Peer['script'][], options: ClientOptions = {}) {
  const { peers, nodes } = await startPeers(scripts, ends);
  const table: ScriptedTable = {
    epoch: 1,
    nodes,
    partitions: peers.map((_, at) => ({ leader: `n${at}`, replicas: [`n${at}`] })),
  };
  const { get } = scriptedPlacedriver(table);
  const client = new Client({ placedrivers: ['p:1'], ...options }, { get });
  ends.push(() => client.disconnect());
  return { client, peers, table };
}

const rejection = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error as ClientError,
  );

test('commands whose arguments are a list alone are typed as the others', async () => {
  const { client, peers } = await scene([() => ':1\r\n'], { sessions: false });
  await client
    .pipeline()
    .del('a', 'b')
    .exists(['a', 'b'])
    .mgetBuffer('a', { timeoutMs: 5_000 })
    .exec();
  expect(peers[0]?.commands).toEqual(['DEL a b', 'EXISTS a b', 'MGET a']);
});

test('a long pipeline lets others have their turn, and keeps its order', async () => {
  const { client, peers } = await scene([() => '+OK\r\n'], { sessions: false });
  await client.connect();
  const pipeline = client.pipeline();
  for (let at = 0; at < 5_000; at++) pipeline.set('k', at);
  const done = pipeline.exec();
  const handedOn = () => client.pending.inFlight + client.pending.queued;
  expect(handedOn()).toBe(2_000);
  expect((await done).every(([error]) => error === null)).toBe(true);
  expect(peers[0]?.commands).toEqual(Array.from({ length: 5_000 }, (_, at) => `SET k ${at}`));
});

test('many calls that nobody answers time out over several turns', async () => {
  const { client } = await scene([() => 'hang'], { sessions: false, timeoutMs: 1_000 });
  await client.connect();
  const count = 20_000;
  let [ended, ofTurn, most] = [0, 0, 0];
  const calls = Array.from({ length: count }, (_, at) =>
    client.get(`k${at}`).catch((error: ClientError) => {
      ofTurn++;
      return error.code;
    }),
  );
  const all = Promise.all(calls);
  while (ended < count) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, ofTurn);
    ended += ofTurn;
    ofTurn = 0;
  }
  expect(new Set(await all)).toEqual(new Set(['TIMEOUT']));
  expect(most).toBeLessThan(count / 2);
});

test('as many arguments as the stack of a call holds are taken by every method', async () => {
  const answers: Peer['script'] = ([name]) => (name === 'EXEC' ? '*1\r\n:7\r\n' : ':7\r\n');
  const { client } = await scene([answers], { sessions: false });
  // 640 KB of the megabyte that a stack has: not twice
  const keys = Array.from({ length: 80_000 }, (_, at) => `k${at}`);
  expect(await client.del(...keys)).toBe(7);
  expect(
    await client
      .pipeline()
      .del(...keys)
      .exec(),
  ).toEqual([[null, 7]]);
  expect(
    await client
      .multi()
      .del(...keys)
      .exec(),
  ).toEqual([[null, 7]]);
});

test('a pipeline: every command has its result, in order, over all partitions', async () => {
  const script: Peer['script'] = ([name, key]) =>
    name === 'GET' ? bulk(`${key}!`) : '-WRONGTYPE of another kind\r\n';
  const { client, peers } = await scene([script, script], { sessions: false });
  const gathered = client.pipeline().get('a').incr('b').getBuffer('c').call('GET', 'd');
  expect(gathered.length).toBe(4);
  const results = await gathered.exec();
  expect(results.map(([, value]) => value)).toEqual(['a!', undefined, Buffer.from('c!'), 'd!']);
  expect(results[1]?.[0]).toMatchObject({ code: 'WRONGTYPE' });
  expect(peers.every(({ commands }) => commands.length > 0)).toBe(true);
  expect(await gathered.exec()).toEqual([]);
});

describe('a transaction', () => {
  const queue =
    (exec: string): Peer['script'] =>
    (line) => {
      const name = line[0] === 'KV.ONCE' ? line[4] : line[0];
      if (name === 'KV.SESSION') return undefined;
      return name === 'EXEC' ? exec : name === 'MULTI' ? '+OK\r\n' : '+QUEUED\r\n';
    };

  test('goes to one partition as one, with its EXEC in the session', async () => {
    const { client, peers } = await scene([queue(array(':1\r\n', '-WRONGTYPE no\r\n', bulk('x')))]);
    const results = await client.multi().incr('{t}a').lpush('{t}b', 1).getBuffer('{t}c').exec();
    expect(results).toEqual([
      [null, 1],
      [expect.objectContaining({ code: 'WRONGTYPE', partition: 0 }), undefined],
      [null, Buffer.from('x')],
    ]);
    expect(peers[0]?.commands).toEqual(['MULTI', 'INCR {t}a', 'LPUSH {t}b 1', 'GET {t}c', 'EXEC']);
    expect(peers[0]?.lines.at(-1)?.[0]).toBe('KV.ONCE');
  });

  test('refuses keys of several partitions before it sends anything', async () => {
    const { client, peers } = await scene([queue(''), queue('')]);
    const error = await rejection(client.multi().set('a', 1).set('b', 1).set('c', 1).exec());
    expect(error).toMatchObject({ code: 'CROSSSLOT' });
    expect(peers.flatMap(({ lines }) => lines)).toEqual([]);
  });

  test('a command that cannot be queued aborts it, and says why', async () => {
    const script: Peer['script'] = ([name]) => {
      if (name === 'MULTI') return '+OK\r\n';
      return name === 'EXEC' ? '-EXECABORT discarded\r\n' : '-ERR wrong number of arguments\r\n';
    };
    const { client } = await scene([script], { sessions: false });
    const error = await rejection(client.multi().call('GET').exec());
    expect(error).toMatchObject({ code: 'EXECABORT' });
    expect(String(error?.cause)).toMatch(/wrong number/);
  });

  test('one that was not queued for a change of leader is sent again', async () => {
    let moved = 1;
    const ready = queue(array('+OK\r\n'));
    const { client, peers } = await scene(
      [
        (line, peer) => {
          if (moved === 0 || line[0] === 'MULTI') return ready(line, peer);
          if (line[0] !== 'EXEC') return '-CLUSTERDOWN no leader\r\n';
          moved--;
          return '-EXECABORT discarded\r\n';
        },
      ],
      { sessions: false },
    );
    expect(await client.multi().set('a', 1).exec()).toEqual([[null, 'OK']]);
    expect(peers[0]?.commands.filter((line) => line === 'EXEC')).toHaveLength(2);
  });

  test('one whose reply is lost: unknown without a session', async () => {
    const script: Peer['script'] = ([name]) =>
      name === 'EXEC' ? 'close' : name === 'MULTI' ? '+OK\r\n' : '+QUEUED\r\n';
    const { client } = await scene([script], { sessions: false });
    const error = await rejection(client.multi().set('a', 1).exec());
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', partition: 0 });
  });
});

describe('walks', () => {
  const steps: Readonly<Record<string, [next: string, keys: string[]]>> = {
    '0': ['17592186044416', ['a', 'b']],
    '17592186044416': ['35184372088832', []],
    '35184372088832': ['0', ['c']],
  };
  const script: Peer['script'] = ([name, cursor = '', ...rest]) => {
    const at = name === 'SCAN' ? cursor : (rest[0] ?? '');
    const [next, keys] = steps[at] ?? ['0', []];
    return array(bulk(next), array(...keys.map(bulk)));
  };

  test('over all keys, with progress; a cursor goes on where it was', async () => {
    const { client, peers } = await scene([script, script]);
    const found: unknown[] = [];
    for await (const step of client.scanKeys({ match: 'x*', count: 5, type: 'string' })) {
      found.push(step);
    }
    expect(found).toEqual([
      { keys: ['a', 'b'], cursor: '17592186044416', progress: 0.25 },
      { keys: [], cursor: '35184372088832', progress: 0.5 },
      { keys: ['c'], cursor: '0', progress: 1 },
    ]);
    const sent = peers.flatMap(({ commands }) => commands);
    expect(sent[0]).toBe('SCAN 0 MATCH x* COUNT 5 TYPE string');
    const rest = client.scanKeys({ cursor: '35184372088832' });
    expect((await rest.next()).value).toMatchObject({ keys: ['c'] });
    expect((await rest.next()).done).toBe(true);
  });

  test('as streams', async () => {
    const { client, peers } = await scene([script]);
    const chunks: unknown[] = [];
    for await (const keys of client.scanStream()) chunks.push(keys);
    for await (const members of client.sscanStream('s', { count: 2 })) chunks.push(members);
    expect(chunks).toEqual([['a', 'b'], ['c'], ['a', 'b'], ['c']]);
    expect(peers[0]?.commands.at(-1)).toBe('SSCAN s 35184372088832 COUNT 2');
  });
});

describe('a subscriber', () => {
  const script: Peer['script'] = (line) => {
    const [name = '', ...names] = line;
    const kind = name.toLowerCase();
    if (!kind.endsWith('subscribe')) return undefined;
    if (names.includes('forbidden')) return '-NOPERM no\r\n';
    return names.map((one, at) => array(bulk(kind), bulk(one), `:${at + 1}\r\n`)).join('');
  };
  const message = (...items: string[]) => array(...items.map(bulk));

  test('hears what it has subscribed to, also after its connection was lost', async () => {
    const { client, peers } = await scene([script]);
    await client.connect();
    await using subscriber = client.subscriber();
    const heard: unknown[] = [];
    subscriber.on('message', (...told) => heard.push(told));
    subscriber.on('pmessage', (...told) => heard.push(told));
    subscriber.on('messageBuffer', (...told) => heard.push(told));
    await subscriber.subscribe('a', 'b');
    await subscriber.psubscribe('p*');
    await subscriber.unsubscribe('b');
    const [peer] = peers;
    peer?.send(message('message', 'a', 'one') + message('pmessage', 'p*', 'pa', 'two'));
    await expect.poll(() => heard.length).toBe(3);
    expect(heard).toEqual([
      [Buffer.from('a'), Buffer.from('one')],
      ['a', 'one'],
      ['p*', 'pa', 'two'],
    ]);
    const again = new Promise<void>((resolve) => subscriber.once('ready', resolve));
    for (const socket of peer!.sockets) socket.destroy();
    await again;
    expect(peer?.commands.slice(-2).sort()).toEqual(['psubscribe p*', 'subscribe a']);
    peer?.send(message('message', 'a', 'three'));
    await expect.poll(() => heard.at(-1)).toEqual(['a', 'three']);
  });

  test('a refused channel rejects; a closed subscriber takes none', async () => {
    const { client } = await scene([script]);
    const subscriber = client.subscriber();
    await subscriber.subscribe('a');
    const error = await rejection(subscriber.subscribe('forbidden'));
    expect(error).toMatchObject({ code: 'NOPERM' });
    await subscriber.close();
    expect(await rejection(subscriber.subscribe('a'))).toMatchObject({ code: 'CLOSED' });
  });
});
