/** The client against scripted nodes: routing, splitting, order, sessions, bounds, ends. */
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, sleep, systemClock } from '../../src/common/clock.ts';
import { SLOT_COUNT, slotOfKey } from '../../src/common/hash.ts';
import { murmur3 } from '../../src/common/murmur3.ts';
import type { Address } from '../../src/common/network.ts';
import { Client, ClientError, type ClientOptions, type Connector } from '../../src/sdk/index.ts';
import { HandConnection } from './hand-connection.ts';
import {
  type Answer,
  array,
  bulk,
  Peer,
  type ScriptedTable,
  scriptedPlacedriver,
  unwrapped,
} from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function startPeer(script: Peer['script'], port = 0): Promise<Peer> {
  const peer = await Peer.start(script, port);
  ends.push(() => peer.stop());
  return peer;
}

/** Answers strings as a store of its own would. */
function store(map = new Map<string, string>()): Peer['script'] {
  const apply = (line: readonly string[]): Answer | undefined => {
    const [name, key = '', value = ''] = line;
    switch (name) {
      case 'KV.ONCE':
        return apply(line.slice(4));
      case 'SET':
        map.set(key, value);
        return '+OK\r\n';
      case 'MSET':
        for (let at = 1; at < line.length; at += 2) map.set(line[at]!, line[at + 1]!);
        return '+OK\r\n';
      case 'GET': {
        const found = map.get(key);
        return found === undefined ? '$-1\r\n' : bulk(found);
      }
      case 'MGET':
        return array(
          ...line.slice(1).map((one) => (map.has(one) ? bulk(map.get(one)!) : '$-1\r\n')),
        );
      case 'DEL':
      case 'EXISTS':
        return `:${line.slice(1).filter((one) => map.has(one)).length}\r\n`;
      default:
        return undefined;
    }
  };
  return apply;
}

function clientOf(table: ScriptedTable, options: ClientOptions = {}) {
  const driver = scriptedPlacedriver(table);
  const client = new Client({ placedrivers: ['p:1'], ...options }, { get: driver.get });
  ends.push(() => client.disconnect());
  return { client, asked: driver.asked };
}

/** A node per partition, each its leader. */
async function nodes(count: number, script: (at: number) => Peer['script'] = () => store()) {
  const peers: Peer[] = [];
  for (let at = 0; at < count; at++) peers.push(await startPeer(script(at)));
  const table: ScriptedTable = {
    epoch: 1,
    nodes: peers.map(({ port }, at) => ({ name: `n${at}`, port })),
    partitions: peers.map((_, at) => ({ leader: `n${at}`, replicas: [`n${at}`] })),
  };
  return { peers, table };
}

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: unknown) => (error instanceof ClientError ? error.code : String(error)),
  );

const keys = Array.from({ length: 24 }, (_, at) => `key:${at}`);

describe('routing', () => {
  test.each(['slots', 'murmur3'] as const)('a key goes to its partition: %s', async (hash) => {
    const { peers, table } = await nodes(3);
    const { client } = clientOf({ ...table, hash }, { sessions: false });
    await Promise.all(keys.map((key) => client.set(key, key)));
    const partitionOf = (key: string) =>
      hash === 'murmur3'
        ? murmur3(Buffer.from(key)) % 3
        : Math.floor((slotOfKey(Buffer.from(key)) * 3) / SLOT_COUNT);
    peers.forEach(({ commands }, at) => {
      const own = keys.filter((key) => partitionOf(key) === at).map((key) => `SET ${key} ${key}`);
      expect(commands).toEqual(own);
    });
    expect(client.partitionOf(keys[0]!)).toBe(partitionOf(keys[0]!));
  });

  test('commands of several keys are split, and replies merged in order', async () => {
    const { peers, table } = await nodes(3);
    const { client } = clientOf(table);
    expect(await client.mset(Object.fromEntries(keys.map((key) => [key, `v${key}`])))).toBe('OK');
    expect(await client.mget(keys)).toEqual(keys.map((key) => `v${key}`));
    expect(await client.mget('nobody', keys[3]!, 'none')).toEqual([null, `v${keys[3]}`, null]);
    expect(await client.exists(...keys, 'nobody')).toBe(24);
    expect(await client.del(keys[0]!, keys[0]!, 'nobody')).toBe(2);
    for (const { commands } of peers) expect(commands.length).toBeGreaterThan(2);
  });

  test('when one part fails the whole does, with its partition', async () => {
    const wrong = () => '-WRONGTYPE of another kind\r\n';
    const { table } = await nodes(2, (at) => (at === 0 ? store() : wrong));
    const { client } = clientOf(table, { sessions: false });
    const error = await client.mget(keys).catch((failure: ClientError) => failure);
    expect(error).toMatchObject({ code: 'WRONGTYPE', partition: 1, retriable: false });
  });

  describe('a write of which not every part succeeds', () => {
    const answers: Readonly<Record<string, Answer>> = {
      ok: ':1\r\n',
      refused: '-CLUSTERDOWN no leader\r\n',
      lost: 'close',
      forbidden: '-NOPERM no\r\n',
      done: '-DONE not kept\r\n',
      // the client's table is old: what it takes for one partition are two
      apart: "-PARTIALOUTCOME done for 'a'; not done for 'b'; unknown for none\r\n",
    };

    test.each([
      ['ok refused', 'PARTIAL', 1],
      ['refused ok', 'PARTIAL', 0],
      ['done refused', 'PARTIAL', 1],
      ['refused lost', 'OUTCOME_UNKNOWN', 1],
      ['lost refused', 'OUTCOME_UNKNOWN', 0],
      ['ok lost', 'OUTCOME_UNKNOWN', 1],
      ['ok forbidden', 'PARTIAL', 1],
      ['forbidden done', 'PARTIAL', 0],
      ['ok done', 'DONE', 1],
      ['forbidden forbidden', 'NOPERM', 0],
      ['refused refused', 'UNAVAILABLE', 0],
      ['refused apart', 'PARTIAL', 1],
      ['ok apart', 'PARTIAL', 1],
      ['apart lost', 'OUTCOME_UNKNOWN', 1],
    ] as const)('%s: %s', async (kinds, expected, partition) => {
      const scripts = kinds.split(' ').map((kind) => () => answers[kind]!);
      const { table } = await nodes(2, (at) => scripts[at]!);
      const { client } = clientOf(table, { sessions: false, attemptsMax: 2 });
      client.on('error', () => {});
      for (const call of [client.del(keys), client.mset(...keys.flatMap((key) => [key, 1]))]) {
        const error = await call.catch((failure: ClientError) => failure);
        expect(error).toMatchObject({ code: expected, partition });
        expect(error).toMatchObject({ retriable: expected === 'UNAVAILABLE' });
        const why = /forbidden|apart/.exec(kinds)?.[0];
        const codes = { forbidden: 'NOPERM', apart: 'PARTIALOUTCOME', none: 'UNAVAILABLE' };
        const cause = { code: codes[(why ?? 'none') as keyof typeof codes] };
        if (expected === 'PARTIAL') expect(error).toMatchObject({ cause });
      }
    });
  });

  test('a leader that moved is found by the lookup, and a removed node is let go', async () => {
    const { peers, table } = await nodes(2);
    table.partitions = [{ leader: 'n0', replicas: ['n0'] }];
    const { client } = clientOf(table, { lookupMs: 30, sessions: false });
    const told: string[] = [];
    client.on('+node', ({ name }) => told.push(`+${name}`));
    client.on('-node', ({ name }) => told.push(`-${name}`));
    await client.set('a', 1);
    table.nodes.shift();
    table.partitions = [{ leader: 'n1', replicas: ['n1'] }];
    table.epoch++;
    await expect.poll(() => told.includes('-n0')).toBe(true);
    await client.set('a', 2);
    expect(told).toEqual(['+n0', '+n1', '-n0']);
    expect(peers.map(({ commands }) => commands)).toEqual([['SET a 1'], ['SET a 2']]);
    await expect.poll(() => peers[0]?.sockets.size).toBe(0);
  });

  test('calls under way at a node whose registration blinks are not cut off', async () => {
    let answer = () => {};
    const waits = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { peers, table } = await nodes(2, (at) => ([name]) => {
      if (at === 1) return undefined;
      return name === 'BLPOP'
        ? waits.then(() => array(bulk('q'), bulk('x')))
        : waits.then(() => ':1\r\n');
    });
    table.partitions = [{ leader: 'n0', replicas: ['n0', 'n1'] }];
    const { client } = clientOf(table, { lookupMs: 30, sessions: false });
    const calls = [client.blpop('q', 5), client.incr('a')];
    await expect.poll(() => peers[0]?.lines.length).toBe(2);
    const gone = new Promise((resolve) => client.once('-node', resolve));
    table.nodes.shift();
    table.epoch++;
    await gone;
    answer();
    expect(await Promise.all(calls)).toEqual([['q', 'x'], 1]);
    await expect.poll(() => peers[0]?.sockets.size).toBe(0);
  });

  test('an unchanged table is not read again', async () => {
    const { table } = await nodes(1);
    const { client, asked } = clientOf(table, { lookupMs: 10 });
    await client.connect();
    await expect.poll(() => asked.filter((url) => url.includes('epoch=1')).length > 3).toBe(true);
    expect(asked.filter((url) => url.includes('/v1/'))).toHaveLength(2);
  });

  test('while nobody answers for the leader, a replica passes commands on', async () => {
    const { peers, table } = await nodes(2);
    table.partitions = [{ leader: 'n0', replicas: ['n0', 'n1'] }];
    await peers[0]?.stop();
    const { client } = clientOf(table);
    await client.set('a', 1);
    expect(peers[1]?.commands).toEqual(['SET a 1']);
  });

  test('stale reads go to a follower of the same data centre, first', async () => {
    const { peers, table } = await nodes(3);
    const follower = await startPeer(() => bulk('of a follower'));
    Object.assign(table.nodes[1]!, { followerPort: follower.port, dc: 'here' });
    table.partitions = [{ leader: 'n0', replicas: ['n0', 'n1', 'n2'] }];
    const { client } = clientOf(table, { dc: 'here' });
    expect(await client.get('a', { consistency: 'stale' })).toBe('of a follower');
    expect(await client.get('a', { consistency: { maxStalenessMs: 10_000 } })).toBe(
      'of a follower',
    );
    expect(await client.get('a', { consistency: { maxStalenessMs: 9_999 } })).toBe(null);
    expect(await client.get('a', { consistency: 'lease' })).toBe(null);
    follower.script = () => '-MOVED 1 127.0.0.1:1\r\n';
    expect(peers[0]?.commands).toEqual(['GET a', 'GET a']);
    const elsewhere = clientOf(table, { dc: 'there' }).client;
    expect(await elsewhere.get('a', { consistency: 'stale' })).toBe(null);
  });

  test('datanodes alone: CLUSTER SLOTS tells the leaders', async () => {
    const { peers } = await nodes(2);
    const slots = (from: number, to: number, at: number) =>
      array(`:${from}\r\n`, `:${to}\r\n`, array(bulk('127.0.0.1'), `:${peers[at]?.port}\r\n`));
    for (const peer of peers) {
      const data = peer.script;
      peer.script = (line, own) =>
        line[0] === 'CLUSTER'
          ? array(slots(0, 8_191, 0), slots(8_192, 16_383, 1))
          : data(line, own);
    }
    const client = new Client(`redis://127.0.0.1:${peers[0]?.port}`);
    ends.push(() => client.disconnect());
    await Promise.all(keys.map((key) => client.set(key, 'x')));
    for (const { commands } of peers) expect(commands.length).toBeGreaterThan(4);
    // Partitions of one leader that lie side by side look like one: only a slot is one for certain.
    for (const peer of peers) peer.lines.length = 0;
    expect(await client.mget(keys)).toEqual(keys.map(() => 'x'));
    const asked = peers.flatMap(({ commands }) => commands.map((line) => line.split(' ').slice(1)));
    for (const together of asked) {
      expect(new Set(together.map((key) => slotOfKey(Buffer.from(key)))).size).toBe(1);
    }
    await client.mset({ '{t}a': 1, '{t}b': 2 });
    expect(peers.flatMap(({ commands }) => commands)).toContain('MSET {t}a 1 {t}b 2');
  });
});

test('commands without keys go to another node once one has said nothing', async () => {
  const { table } = await nodes(2, (at) => ([name]) => {
    return name !== 'PUBLISH' ? undefined : at === 0 ? 'hang' : ':1\r\n';
  });
  for (const asked of ['one at a time', 'together']) {
    const driver = scriptedPlacedriver(table);
    const random = {
      u32: () => 0,
      below: () => 0,
      float: () => 0.5,
      hex: (n: number) => '0'.repeat(n),
    };
    const client = new Client(
      { placedrivers: ['p:1'] },
      { get: driver.get, random: random as never },
    );
    ends.push(() => client.disconnect());
    const publish = () => code(client.publish('news', 'hello', { timeoutMs: 300 }));
    const first =
      asked === 'together' ? await Promise.all([publish(), publish()]) : [await publish()];
    expect(new Set(first)).toEqual(new Set(['OUTCOME_UNKNOWN']));
    for (let at = 0; at < 4; at++) expect(await publish()).toBe('none');
  }
});

describe('commands about all keys', () => {
  const whole = [
    ['SCAN', 0],
    ['KEYS', '*'],
    ['RANDOMKEY'],
    ['DBSIZE'],
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['CLUSTER', 'COUNTKEYSINSLOT', 1],
    ['CLUSTER', 'getkeysinslot', 1, 1],
    ['SCRIPT', 'LOAD', 'return 1'],
    ['SCRIPT', 'flush'],
  ] as const;

  test('are refused at cluster ports, each of which knows its own, and in a transaction', async () => {
    const slots = (port: number) =>
      array(array(':0\r\n', ':16383\r\n', array(bulk('127.0.0.1'), `:${port}\r\n`)));
    const peer = await startPeer(([name], own) =>
      name === 'CLUSTER' ? slots(own.port) : '+never\r\n',
    );
    const client = new Client(`redis://127.0.0.1:${peer.port}`);
    ends.push(() => client.disconnect());
    await client.connect();
    const before = peer.lines.filter(([, name]) => name !== 'SLOTS').length;
    for (const [name, ...args] of whole) {
      const error = await client.call(name, ...args).catch((failure: unknown) => failure);
      expect(error, name).toMatchObject({ code: 'BAD_ARGUMENT' });
      expect(String(error)).toMatch(/gateway ports.*kvorum:\/\//);
      expect(
        await code(
          client
            .multi()
            .set('a', 1)
            .call(name, ...args)
            .exec(),
        ),
      ).toBe('BAD_ARGUMENT');
    }
    expect(await code(client.scanKeys().next())).toBe('BAD_ARGUMENT');
    expect(peer.lines.filter(([, name]) => name !== 'SLOTS')).toHaveLength(before);
  });

  test.each([
    'This instance has cluster support disabled',
    'this namespace has no slots: its keys are dealt out to partitions by murmur3',
  ])('go to gateway ports, of which any answers for all: %s', async (text) => {
    const peer = await startPeer(([name]) => (name === 'CLUSTER' ? `-ERR ${text}\r\n` : ':7\r\n'));
    const client = new Client(`redis://127.0.0.1:${peer.port}`);
    ends.push(() => client.disconnect());
    expect(await client.dbsize()).toBe(7);
  });

  test('are not sent to a port that does not tell which kind it is: the right is named', async () => {
    const peer = await startPeer(([name]) =>
      name === 'CLUSTER'
        ? "-NOPERM User u has no permissions to run 'cluster|slots'\r\n"
        : '+OK\r\n',
    );
    const client = new Client(`redis://127.0.0.1:${peer.port}?timeoutMs=300`);
    ends.push(() => client.disconnect());
    const failure = await client.flushall().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'UNAVAILABLE' });
    expect(String(failure)).toMatch(/NOPERM User u .* its user the right \+cluster\|slots/);
    expect(peer.lines.filter(([name]) => name === 'FLUSHALL')).toEqual([]);
  });
});

describe('sending', () => {
  test('what one turn sends leaves in one write, in order', async () => {
    const { peers, table } = await nodes(1);
    const { client } = clientOf(table, { sessions: false });
    await client.get('warm');
    const { reads } = peers[0]!;
    reads.length = 0;
    const values = await Promise.all([
      client.set('a', 1),
      client.get('a'),
      client.set('a', 2),
      client.get('a'),
    ]);
    expect(values).toEqual(['OK', '1', 'OK', '2']);
    expect(reads).toEqual([4]);
  });

  test('a session is opened before its first write; what follows waits for it', async () => {
    const { peers, table } = await nodes(1);
    const { client } = clientOf(table);
    await Promise.all([client.set('a', 1), client.get('a'), client.set('b', 2)]);
    const [open, ...others] = peers[0]!.lines;
    expect(open?.slice(0, 2)).toEqual(['KV.SESSION', 'OPEN']);
    expect(open?.[2]).toMatch(/^[0-9a-f]{32}$/);
    expect(others.map((line) => line.join(' ').replace(open![2]!, 'ID'))).toEqual([
      'KV.ONCE ID 1 1 SET a 1',
      'GET a',
      'KV.ONCE ID 2 1 SET b 2',
    ]);
    await client.set('c', 3);
    expect(peers[0]?.lines.at(-1)?.slice(2, 4)).toEqual(['3', '3']);
    await client.close();
    expect(peers[0]?.lines.at(-1)?.slice(0, 2)).toEqual(['KV.SESSION', 'CLOSE']);
  });

  test('every partition has a session of its own', async () => {
    const { peers, table } = await nodes(2);
    const { client } = clientOf(table);
    await Promise.all(keys.map((key) => client.set(key, 1)));
    const tickets = peers.map(({ lines }) =>
      lines.flatMap(([name, id, number]) => (name === 'KV.ONCE' ? [[id, number]] : [])),
    );
    for (const own of tickets) {
      expect(own.map(([, number]) => Number(number))).toEqual(own.map((_, at) => at + 1));
      expect(new Set(own.map(([id]) => id)).size).toBe(1);
    }
    expect(tickets[0]?.[0]?.[0]).not.toBe(tickets[1]?.[0]?.[0]);
  });

  test('nodes without sessions: writes go without, and errors say so', async () => {
    const plain = store();
    const { peers, table } = await nodes(1, () => (line, peer) => {
      if (line[0] === 'KV.SESSION') return "-ERR unknown command 'KV.SESSION'\r\n";
      return plain(line, peer);
    });
    const { client } = clientOf(table);
    const told: string[] = [];
    client.on('error', ({ message }) => told.push(message));
    await client.set('a', 1);
    expect(peers[0]?.lines.at(-1)).toEqual(['SET', 'a', '1']);
    expect(told.join()).toMatch(/know no sessions/);
  });

  test('buffers, objects, maps and lists as arguments; bytes as replies', async () => {
    const { peers, table } = await nodes(1, () => (line) => {
      if (line[0] === 'HGETALL') return array(bulk('f'), bulk('1'), bulk('__proto__'), bulk('2'));
      return ':1\r\n';
    });
    const { client } = clientOf(table, { sessions: false });
    await client.hset('h', { f: 1, g: Buffer.from('x') });
    await client.hset('h', new Map([['f', 2]]));
    await client.sadd('s', ['a', 'b'], Buffer.from('c'), 4);
    await client.zadd('z', Number.POSITIVE_INFINITY, 'm');
    expect(peers[0]?.commands).toEqual([
      'HSET h f 1 g x',
      'HSET h f 2',
      'SADD s a b c 4',
      'ZADD z inf m',
    ]);
    const record = await client.hgetall('h');
    expect(Object.entries(record)).toEqual([
      ['f', '1'],
      ['__proto__', '2'],
    ]);
    expect((await client.hgetallBuffer('h'))['f']).toEqual(Buffer.from('1'));
  });

  test('what cannot be sent is refused before', async () => {
    const { peers, table } = await nodes(1);
    const { client } = clientOf(table);
    const call = client.call.bind(client);
    expect(await code(call('GET', null))).toBe('BAD_ARGUMENT');
    expect(await code(call('GET', 'a', { unknown: 1 }))).toBe('BAD_ARGUMENT');
    expect(await code(call('GET', 'a', { timeoutMs: -1 }))).toBe('BAD_ARGUMENT');
    expect(await code(call('GET', 'a', { consistency: 'old' }))).toBe('BAD_ARGUMENT');
    expect(await code(call('SUBSCRIBE', 'a'))).toBe('BAD_ARGUMENT');
    expect(await code(call('client', 'REPLY', 'OFF'))).toBe('BAD_ARGUMENT');
    expect(await code(call('no name'))).toBe('BAD_ARGUMENT');
    expect(peers[0]?.lines).toEqual([]);
  });

  test('a command that blocks has a connection for itself; aborted, it is closed', async () => {
    const { peers, table } = await nodes(1, () => {
      const data = store();
      return (line, peer) => (line[0] === 'BLPOP' ? 'hang' : data(line, peer));
    });
    const { client } = clientOf(table, { sessions: false });
    const abort = new AbortController();
    const waits = client.blpop('q', 0, { signal: abort.signal });
    await expect.poll(() => peers[0]?.commands.length).toBe(1);
    await client.set('a', 1);
    expect(peers[0]?.sockets.size).toBe(2);
    abort.abort(new Error('enough'));
    const error = await waits.catch((failure: ClientError) => failure);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: new Error('enough') });
    await expect.poll(() => peers[0]?.sockets.size).toBe(1);
  });
});

describe('bounds and ends', () => {
  test('the time limit and a signal', async () => {
    const { table } = await nodes(1, () => (line) => (line[1] === 'warm' ? '$-1\r\n' : 'hang'));
    const { client } = clientOf(table, { sessions: false });
    // over a connection that is there it is sent at once, before its time can be up
    await client.get('warm');
    expect(await code(client.set('a', 1, { timeoutMs: 60 }))).toBe('OUTCOME_UNKNOWN');
    expect(await code(client.get('a', { timeoutMs: 60 }))).toBe('TIMEOUT');
    expect(await code(client.get('a', { signal: AbortSignal.timeout(40) }))).toBe('ABORTED');
    expect(await code(client.get('a', { signal: AbortSignal.abort() }))).toBe('ABORTED');
  });

  test('nobody tells the partitions', async () => {
    const get = () => Promise.reject(new Error('nobody there'));
    const client = new Client({ placedrivers: ['p:1'], timeoutMs: 80 }, { get });
    ends.push(() => client.disconnect());
    const error = await client.get('a').catch((failure: ClientError) => failure);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retriable: true });
    expect(String(error)).toMatch(/nobody there/);
  });

  test('the window: so many in flight, so many more wait, the others are refused', async () => {
    const held: (() => void)[] = [];
    const { peers, table } = await nodes(1, () => () => {
      return new Promise<string>((resolve) => held.push(() => resolve('$-1\r\n')));
    });
    const { client } = clientOf(table, { maxInFlight: 3, maxQueued: 2 });
    await client.connect();
    const calls = Array.from({ length: 6 }, () => code(client.get('a')));
    expect(await calls[5]).toBe('QUEUE_FULL');
    expect(client.pending).toEqual({ inFlight: 3, queued: 2 });
    await expect.poll(() => peers[0]?.lines.length).toBe(3);
    const room = client.whenWritable();
    while (client.pending.inFlight > 0) {
      held.shift()?.();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all([room, client.drain()]);
    expect(await Promise.all(calls)).toEqual([...Array(5).fill('none'), 'QUEUE_FULL']);
  });

  test('however many calls block, what would end them is sent', async () => {
    let release = (_: string) => {};
    const pushed = new Promise<string>((resolve) => {
      release = resolve;
    });
    const { table } = await nodes(1, () => ([name]) => {
      if (name === 'BLPOP') return pushed;
      release(array(bulk('q'), bulk('x')));
      return ':1\r\n';
    });
    const { client } = clientOf(table, { sessions: false, maxInFlight: 2 });
    const pops = [1, 2, 3].map(() => client.blpop('q', 0));
    expect(await client.rpush('q', 'x', { timeoutMs: 5_000 })).toBe(1);
    expect(await Promise.all(pops)).toEqual([1, 2, 3].map(() => ['q', 'x']));
  });

  test('close waits for calls under way; disconnect does not', async () => {
    let release = () => {};
    const { peers, table } = await nodes(1, () => (line) => {
      if (line[1] !== 'slow') return line[0] === 'KV.SESSION' ? undefined : '+OK\r\n';
      return new Promise<string>((resolve) => {
        release = () => resolve('+OK\r\n');
      });
    });
    const { client } = clientOf(table, { sessions: false });
    await client.set('a', 1);
    const slow = client.set('slow', 1);
    const closed = client.close();
    expect(await code(client.get('a'))).toBe('CLOSED');
    const arrived = (count: number) => {
      const slows = () => peers[0]?.commands.filter((line) => line.includes('slow')).length;
      return expect.poll(slows).toBe(count);
    };
    await arrived(1);
    release();
    expect(await slow).toBe('OK');
    await closed;
    expect(client.status).toBe('end');

    const other = clientOf(table, { sessions: false }).client;
    await other.connect();
    const lost = [code(other.set('slow', 1)), code(other.get('slow'))];
    await arrived(3);
    other.disconnect();
    expect(await Promise.all(lost)).toEqual(['OUTCOME_UNKNOWN', 'CLOSED']);
  });

  test('a client that ends while a session is opened keeps nothing going', async () => {
    const { peers, table } = await nodes(1, () => () => 'hang');
    let timers = 0;
    const clock: Clock = {
      ...systemClock,
      setTimer: (delayMs, run) => {
        timers++;
        return systemClock.setTimer(delayMs, run);
      },
    };
    const { get } = scriptedPlacedriver(table);
    const client = new Client({ placedrivers: ['p:1'] }, { get, clock });
    const calls = keys.map((key) => code(client.set(key, 1)));
    await expect.poll(() => peers[0]?.lines.length).toBe(1);
    client.disconnect();
    expect(await Promise.all(calls)).toEqual(keys.map(() => 'CLOSED'));
    await sleep(systemClock, 100);
    timers = 0;
    await sleep(systemClock, 300);
    expect(timers).toBe(0);
  });

  test('a client that the server refuses says so at once', async () => {
    const peer = await startPeer((line) =>
      line[0]?.toUpperCase() === 'AUTH' ? '-WRONGPASS invalid password\r\n' : '+OK\r\n',
    );
    const table: ScriptedTable = {
      epoch: 1,
      nodes: [{ name: 'a', port: peer.port }],
      partitions: [{ leader: 'a', replicas: ['a'] }],
    };
    const { client } = clientOf(table, { username: 'u', password: 'p' });
    const error = await client.get('a').catch((failure: ClientError) => failure);
    expect(error).toMatchObject({ code: 'REFUSED', retriable: false });
    expect(String(error)).toMatch(/WRONGPASS/);
  });

  test('events in order; status', async () => {
    const { peers, table } = await nodes(1);
    const { client } = clientOf(table, { sessions: false, lazyConnect: true });
    const told: string[] = [];
    for (const event of ['connect', 'ready', 'close', 'reconnecting', 'end'] as const) {
      client.on(event, () => told.push(event));
    }
    expect(client.status).toBe('wait');
    await client.set('a', 1);
    for (const socket of peers[0]!.sockets) socket.destroy();
    await expect.poll(() => told.includes('reconnecting')).toBe(true);
    expect(client.status).toBe('reconnecting');
    await client.set('a', 2);
    await client.quit();
    expect(told).toEqual(['ready', 'connect', 'close', 'reconnecting', 'connect', 'end']);
  });

  test('duplicate: the same options, a session of its own', async () => {
    const { peers, table } = await nodes(1);
    const { client } = clientOf(table);
    await using other = client.duplicate({ timeoutMs: 5_000 });
    await Promise.all([client.set('a', 1), other.set('a', 2)]);
    const ids = peers[0]!.lines.flatMap((line) => (line[0] === 'KV.ONCE' ? [line[1]] : []));
    expect(new Set(ids).size).toBe(2);
  });

  test('duplicate: the same datanodes, addresses of IPv6 too', () => {
    const asked: Address[] = [];
    const connector: Connector = {
      open: ({ address }, events) => {
        asked.push(address);
        return new HandConnection(address, events);
      },
    };
    const client = new Client({ datanodes: ['[::1]:7001'], lazyConnect: true }, { connector });
    const other = client.duplicate({ lazyConnect: false });
    expect(asked).toEqual([{ host: '::1', port: 7001 }]);
    other.disconnect();
  });

  test('diagnostics tell commands, connections and lookups, without arguments', async () => {
    const { table } = await nodes(1);
    const told: unknown[] = [];
    const hear = (message: unknown) => void told.push(message);
    const commands = tracingChannel('kvorum:command');
    const names = ['kvorum:connect', 'kvorum:lookup'];
    commands.asyncEnd.subscribe(hear);
    for (const name of names) subscribe(name, hear);
    const { client } = clientOf(table, { sessions: false });
    await client.set('a', 'secret');
    commands.asyncEnd.unsubscribe(hear);
    for (const name of names) unsubscribe(name, hear);
    expect(told).toContainEqual({ epoch: 1, partitions: 1 });
    expect(told).toContainEqual(expect.objectContaining({ state: 'connected' }));
    expect(told).toContainEqual(
      expect.objectContaining({ command: 'set', arguments: 2, attempts: 1 }),
    );
    expect(JSON.stringify(told)).not.toMatch(/secret/);
  });
});

describe('options', () => {
  const wrong: [options: unknown, text: RegExp][] = [
    [{}, /either placedrivers or datanodes/],
    [{ placedrivers: ['a'] }, /"a" is not host:port/],
    [{ placedrivers: ['a:0'] }, /port from 1/],
    [{ placedrivers: [] }, /list of host:port/],
    [{ placedrivers: ['a:1'], timeoutMs: '5' }, /timeoutMs must be/],
    [{ placedrivers: ['a:1'], maxInFlight: 1.5 }, /maxInFlight must be a whole number/],
    [{ placedrivers: ['a:1'], retries: 3 }, /no option retries/],
    [{ placedrivers: ['a:1'], timeOutMS: 3 }, /timeOutMS \(did you mean timeoutMs\?\); there are /],
    [{ placedrivers: ['a:1'], connectTimeout: 3 }, /\(did you mean connectTimeoutMs\?\)/],
    [{ host: 'a', port: 1 }, /no option host \(datanodes takes its place\)/],
    [{ datanodes: ['a:1'], db: 1 }, /no option db \(namespace takes its place\)/],
    [{ placedrivers: ['a:1'], consistency: 'old' }, /consistency must be/],
    [{ placedrivers: ['a:1'], username: 'u' }, /username needs a password/],
    [{ datanodes: ['a:1'], sessions: true }, /sessions need placedrivers/],
    ['http://a:1/default', /a URL is kvorum:/],
    ['kvorum://a/default', /is not host:port/],
    ['kvorum://a:1/x?connect=5', /no option connect/],
    [5, /a URL or an object/],
  ];
  test.each(wrong)('%j', (options, text) => {
    const make = () => new Client(options as ClientOptions);
    expect(make).toThrow(text);
    expect(make).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  test.each([
    [{ timeoutMs: 5 }, /timeoutMs was given in a second one/],
    ['localhost', /localhost was given in a second one/],
  ])('a second argument, as ioredis takes: %j', (second, text) => {
    const make = () => new Client('redis://127.0.0.1:1', second as object);
    expect(make).toThrow(text);
    expect(make).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  test('what is a text stays one, also if it looks like a number or a flag', () => {
    const client = new Client('kvorum://a:1/1?dc=2&username=3&password=true&lazyConnect=true');
    client.disconnect();
  });

  test('a URL names hosts, user, namespace and options', async () => {
    const asked: string[] = [];
    const get = async (url: string) => {
      asked.push(url);
      throw new Error('nobody');
    };
    const url = 'kvorum://u:p%40w@a:1,[::1]:2/some%20name?timeoutMs=30&sessions=false';
    const client = new Client(url, { get });
    expect(await code(client.get('k'))).toBe('UNAVAILABLE');
    client.disconnect();
    expect(asked.slice(0, 2)).toEqual([
      'http://a:1/query/some%20name',
      'http://[::1]:2/query/some%20name',
    ]);
  });
});

test('the wrapper of a session is taken off by the scripted node', () => {
  expect(unwrapped(['KV.ONCE', 'id', '1', '1', 'SET', 'a', '1'])).toBe('SET a 1');
});
