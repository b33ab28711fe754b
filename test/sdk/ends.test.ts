/** How things end: clients closed in the middle, calls given up, connections lost; nothing is left. */
import { execFile } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { Client, ClientError, type ClientOptions, type Connector } from '../../src/sdk/index.ts';
import { HandClock } from './hand-clock.ts';
import { HandConnection } from './hand-connection.ts';
import {
  type Answer,
  array,
  bulk,
  Peer,
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
    partitions: [{ leader: 'n0', replicas: peers.map((_, at) => `n${at}`) }],
  };
  const driver = scriptedPlacedriver(table);
  /** The placedriver answers when this is resolved. */
  const gate = { open: Promise.resolve() };
  const client = new Client(
    { placedrivers: ['p:1'], sessions: false, backoffMaxMs: 20, ...options },
    { get: (url, signal) => gate.open.then(() => driver.get(url, signal)) },
  );
  client.on('error', () => {});
  ends.push(() => client.disconnect());
  return { client, peers, peer: peers[0]!, table, gate };
}

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: unknown) => (error instanceof ClientError ? error.code : String(error)),
  );

const ok: Peer['script'] = ([name]) => (name === 'KV.SESSION' ? undefined : '+OK\r\n');
const later = (ms: number, answer: string): Promise<string> =>
  new Promise((resolve) => setTimeout(() => resolve(answer), ms));

describe('the client ends', () => {
  test('what waits for its turn is not sent because others are ended before it', async () => {
    const { client, peer } = await scene([() => 'hang'], { maxInFlight: 1 });
    await client.connect();
    const calls = ['a', 'b', 'c'].map((key) => code(client.set(key, 1)));
    await expect.poll(() => peer.commands.length).toBe(1);
    client.disconnect();
    expect(await Promise.all(calls)).toEqual(['OUTCOME_UNKNOWN', 'CLOSED', 'CLOSED']);
    await later(30, '');
    expect(peer.commands).toEqual(['SET a 1']);
  });

  test('close and drain wait for calls that wait for the table', async () => {
    const { client, peer } = await scene([ok], { lazyConnect: true });
    let open = () => {};
    const driver = scriptedPlacedriver({
      epoch: 1,
      nodes: [{ name: 'a', port: peer.port }],
      partitions: [{ leader: 'a', replicas: ['a'] }],
    });
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const late = new Client(
      { placedrivers: ['p:1'], sessions: false },
      { get: (url, signal) => gate.then(() => driver.get(url, signal)) },
    );
    const call = late.set('a', 1);
    const all = late.pipeline().set('b', 1).exec();
    const closed = late.close();
    expect(await code(late.get('a'))).toBe('CLOSED');
    setTimeout(open, 20);
    expect(await call).toBe('OK');
    expect(await all).toEqual([[null, 'OK']]);
    await closed;
    await client.close();
  });

  test('close does not wait for a lookup that hangs', async () => {
    const hangs = (_url: string, signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const client = new Client({ placedrivers: ['p:1', 'q:1'], timeoutMs: 50 }, { get: hangs });
    const call = code(client.get('a'));
    await client.close();
    expect(await call).toMatch(/^(?:UNAVAILABLE|CLOSED)$/);
    expect(client.status).toBe('end');
  });

  test('disconnected while it closes, it closes no sessions over what is gone', async () => {
    const { client } = await scene([([name]) => (name === 'GET' ? 'hang' : ok([name!], null!))], {
      sessions: true,
    });
    await client.set('a', 1);
    const call = code(client.get('a'));
    const closed = client.close();
    const began = performance.now();
    client.disconnect();
    await closed;
    expect(await call).toBe('CLOSED');
    expect(performance.now() - began).toBeLessThan(500);
  });

  test('closed while it connects, it makes no more connections', async () => {
    const peers = [await Peer.start(() => 'hang'), await Peer.start(() => 'hang')];
    for (const peer of peers) ends.push(() => peer.stop());
    const client = new Client({ datanodes: peers.map(({ port }) => `127.0.0.1:${port}`) });
    const call = code(client.get('a'));
    await expect.poll(() => peers[0]?.lines.length).toBe(1);
    client.disconnect();
    expect(await call).toBe('CLOSED');
    await expect.poll(() => peers.map(({ sockets }) => sockets.size)).toEqual([0, 0]);
    await later(30, '');
    expect(peers[1]?.connections).toBe(0);
  });

  test('closed during a failover, calls that are repeated end, and nothing is sent after', async () => {
    const { client, peer } = await scene([() => '-CLUSTERDOWN no leader\r\n'], { timeoutMs: 150 });
    await client.connect();
    const call = code(client.get('a'));
    await expect.poll(() => peer.commands.length).toBeGreaterThan(0);
    await client.close();
    expect(await call).toMatch(/^(?:UNAVAILABLE|TIMEOUT|CLOSED)$/);
    // what left before the end has come once its connection is seen to be closed
    await expect.poll(() => peer.sockets.size).toBe(0);
    const sent = peer.commands.length;
    const { connections } = peer;
    await later(60, '');
    expect(peer.commands.length).toBe(sent);
    expect(peer.connections).toBe(connections);
  });

  test('what is sent on the event of a connection comes after what has waited for it', async () => {
    const { client, peer } = await scene([ok]);
    let late: Promise<unknown> | undefined;
    client.on('connect', () => {
      late = client.set('second', 1);
    });
    await client.set('first', 1);
    await late;
    expect(peer.commands).toEqual(['SET first 1', 'SET second 1']);
  });

  test('what is sent once the partitions are known comes after what has waited for them', async () => {
    const { client, peer } = await scene([ok]);
    let late: Promise<unknown> | undefined;
    client.on('ready', () => {
      late = client.set('second', 1);
    });
    await client.set('first', 1);
    await late;
    expect(peer.commands).toEqual(['SET first 1', 'SET second 1']);
  });

  test('a process whose client was closed ends by itself', async () => {
    const { peer } = await scene([ok]);
    const sdk = join(import.meta.dirname, '..', '..', 'dist', 'sdk', 'index.js');
    const program = `
      import { Client } from ${JSON.stringify(sdk)};
      const client = new Client('redis://127.0.0.1:${peer.port}');
      const subscriber = client.subscriber();
      await client.set('a', 1);
      const walk = client.changes();
      await walk.next();
      await subscriber.close();
      await client.${'close'}();
      const other = new Client('kvorum://127.0.0.1:1');
      const call = other.get('a').catch(() => {});
      other.disconnect();
      await call;
    `;
    const args = ['--input-type=module', '--eval', program];
    await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  });
});

describe('a call ends', () => {
  test('aborted between two attempts: at once, and it is not sent again', async () => {
    const { client, peer } = await scene([() => '-TRYAGAIN later\r\n'], {
      backoffMinMs: 1_000,
      backoffMaxMs: 1_000,
    });
    await client.connect();
    const abort = new AbortController();
    const call = code(client.set('a', 1, { signal: abort.signal }));
    await expect.poll(() => peer.commands.length).toBe(1);
    await later(100, '');
    abort.abort();
    expect(await call).toBe('ABORTED');
    expect(peer.commands).toEqual(['SET a 1']);
    expect(client.pending).toEqual({ inFlight: 0, queued: 0 });
  });

  test('its time is up while it waits for its turn: certain to have no effect', async () => {
    const script: Peer['script'] = ([name]) => (name === 'GET' ? bulk('warm') : 'hang');
    const { client, peer } = await scene([script], { maxInFlight: 1 });
    await client.get('warm');
    // the first holds the place for longer: were all up at once, the second might be sent at the very end
    const times = { a: 1_500, b: 500, c: 500 };
    const calls = Object.entries(times).map(([key, timeoutMs]) =>
      code(client.set(key, 1, { timeoutMs })),
    );
    expect(await Promise.all(calls)).toEqual(['OUTCOME_UNKNOWN', 'TIMEOUT', 'TIMEOUT']);
    expect(peer.commands).toEqual(['GET warm', 'SET a 1']);
  });

  test('aborted while it waits for its turn: it is not sent because others end before it', async () => {
    const script: Peer['script'] = ([name]) => (name === 'GET' ? bulk('warm') : 'hang');
    const { client, peer } = await scene([script], { maxInFlight: 1 });
    await client.get('warm');
    const abort = new AbortController();
    const { signal } = abort;
    const calls = ['a', 'b', 'c'].map((key) => code(client.set(key, 1, { signal })));
    await expect.poll(() => peer.commands.length).toBe(2);
    abort.abort();
    expect(await Promise.all(calls)).toEqual(['OUTCOME_UNKNOWN', 'ABORTED', 'ABORTED']);
    await later(30, '');
    expect(peer.commands).toEqual(['GET warm', 'SET a 1']);
  });

  test('one that blocks and is sent elsewhere gives its connection back', async () => {
    const answers: Answer[] = Array.from({ length: 6 }, () => '-CLUSTERDOWN no leader\r\n');
    const { client, peer } = await scene([
      ([name]) => (name === 'BLPOP' ? (answers.shift() ?? array(bulk('q'), bulk('x'))) : '+OK\r\n'),
    ]);
    expect(await client.blpop('q', 1)).toEqual(['q', 'x']);
    expect(await client.blpop('q', 1)).toEqual(['q', 'x']);
    expect(peer.connections).toBe(1);
  });

  test('calls that are all aborted early replace a connection that says nothing', async () => {
    const clock = new HandClock();
    const opened: HandConnection[] = [];
    const { get } = scriptedPlacedriver({
      epoch: 1,
      nodes: [{ name: 'a', port: 1 }],
      partitions: [{ leader: 'a', replicas: ['a'] }],
    });
    const connector: Connector = {
      open: ({ address }, events) => {
        const connection = new HandConnection(address, events);
        opened.push(connection);
        return connection;
      },
    };
    const client = new Client({ placedrivers: ['p:1'] }, { get, clock, connector });
    ends.push(() => client.disconnect());
    await client.connect();
    const giveUp = async () => {
      const abort = new AbortController();
      const call = code(client.get('a', { signal: abort.signal }));
      abort.abort();
      return call;
    };
    expect(await giveUp()).toBe('ABORTED');
    opened[0]!.owesSinceMs = clock.monotonicMs();
    clock.run(limits.sdkSilentMs - 1);
    expect(await giveUp()).toBe('ABORTED');
    expect(opened[0]!.isClosed).toBe(false);
    clock.run(1);
    expect(await giveUp()).toBe('ABORTED');
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  test('listeners of a signal are taken away, however many calls it has', async () => {
    const { client } = await scene([ok]);
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, args);
    };
    const warnings: unknown[] = [];
    const warned = (warning: unknown) => void warnings.push(warning);
    process.on('warning', warned);
    const calls = Array.from({ length: 100 }, (_, at) => client.set(`k${at}`, 1, { signal }));
    await Promise.all(calls);
    await later(5, '');
    process.off('warning', warned);
    expect(listeners).toBe(0);
    expect(warnings).toEqual([]);
  });
});

describe('a node that takes no more clients', () => {
  async function full(options: ClientOptions) {
    const scripts: Peer['script'][] = [
      ([name]) => (/^auth$/i.test(name!) ? '+OK\r\n' : ok([name!], null!)),
    ];
    const found = await scene(scripts, { lazyConnect: true, ...options });
    const server = createServer((socket) => {
      socket.on('error', () => {}).end('-ERR max number of clients reached\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    found.table.nodes = [...found.table.nodes, { name: 'full', port }];
    found.table.partitions = [{ leader: 'full', replicas: ['full', 'n0'] }];
    return found;
  }

  describe.each([
    ['without a password', {}],
    ['with a password', { password: 'secret' }],
  ])('%s', (_name, options) => {
    test('another one is asked', async () => {
      const { client } = await full({ ...options, namespace: 'default' });
      expect(await client.set('a', 1)).toBe('OK');
      expect(await client.get('a')).toBe('OK');
    });

    test('there is no other: it says so, and the call may be made again', async () => {
      const { client, table } = await full({ ...options, attemptsMax: 3 });
      table.nodes = table.nodes.slice(1);
      const error = await client.get('a').catch((failure: unknown) => failure);
      expect(error).toMatchObject({ code: 'UNAVAILABLE', retriable: true });
      expect(String(error)).toMatch(/max number of clients/);
    });
  });
});

test('a session that may not be opened: the write says why, and was not sent', async () => {
  const refusal = "-NOPERM this user has no permissions to run the 'kv.session|open' command\r\n";
  const { client, peer } = await scene(
    [([name]) => (name === 'KV.SESSION' ? refusal : '+OK\r\n')],
    {
      sessions: true,
    },
  );
  const error = await client.set('a', 1).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: 'NOPERM', partition: 0 });
  expect(String(error)).toMatch(/sessions: false/);
  expect(peer.commands).toEqual([]);
});

test('a node that lets the client not in: a write in a session says so, as a read does', async () => {
  const script: Peer['script'] = ([name]) => (name === 'auth' ? '-WRONGPASS no\r\n' : '+OK\r\n');
  const { client, peer } = await scene([script], { sessions: true, password: 'wrong' });
  const calls = [client.set('a', 1), client.get('a'), client.watch('a', () => undefined)];
  const refused = { code: 'REFUSED', partition: 0, cause: { message: 'WRONGPASS no' } };
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject(refused)));
  expect(peer.commands.filter((line) => !line.startsWith('auth'))).toEqual([]);
});

describe('what is given', () => {
  test('a pipeline larger than what may wait is handed on as there is room', async () => {
    const { client, peer } = await scene([([, key]) => bulk(key!)], {
      maxInFlight: 64,
      maxQueued: 100,
    });
    const pipeline = client.pipeline();
    for (let at = 0; at < 5_000; at++) pipeline.get(`k${at}`);
    const results = await pipeline.exec();
    expect(results).toEqual(Array.from({ length: 5_000 }, (_, at) => [null, `k${at}`]));
    expect(peer.commands).toHaveLength(5_000);
  });

  test.each([
    ['reads', false],
    ['writes in a session', true],
  ] as const)(
    'nothing may wait: pipelines are handed on as there is room; %s',
    async (_name, sessions) => {
      const { client, peer, gate } = await scene([([, key]) => bulk(key!)], {
        maxInFlight: 4,
        maxQueued: 0,
        sessions,
      });
      if (sessions) peer.script = ([name]) => (name === 'KV.SESSION' ? undefined : '+OK\r\n');
      let open = () => {};
      gate.open = new Promise((resolve) => {
        open = resolve;
      });
      const pipelines = [1, 2].map(() => client.pipeline());
      for (const pipeline of pipelines) {
        for (let at = 0; at < 20; at++) sessions ? pipeline.set('a', at) : pipeline.get('a');
      }
      const connected = client.connect();
      const all = Promise.all(pipelines.map((pipeline) => pipeline.exec()));
      open();
      await connected;
      const results = (await all).flat();
      expect(new Set(results.map(([error]) => error?.code))).toEqual(new Set([undefined]));
      expect(peer.commands).toHaveLength(40);
      await client.whenWritable();
    },
  );

  test('who waits for room also waits while the partitions are not known', async () => {
    const { client, peer, gate } = await scene([ok], { maxInFlight: 4, maxQueued: 10 });
    let open = () => {};
    gate.open = new Promise((resolve) => {
      open = resolve;
    });
    const calls: Promise<string>[] = [];
    const produced = (async () => {
      for (let at = 0; at < 50; at++) {
        await client.whenWritable();
        calls.push(code(client.set('a', at)));
      }
    })();
    const more = client.connect();
    await later(0, '');
    expect(client.pending).toEqual({ inFlight: 0, queued: 6 });
    expect(calls).toHaveLength(6);
    open();
    await Promise.all([more, produced]);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['none']));
    expect(peer.commands).toEqual(calls.map((_, at) => `SET a ${at}`));
  });

  test('closed before the partitions are known, nobody waits for room any more', async () => {
    const { client, gate } = await scene([ok], { maxQueued: 1 });
    gate.open = new Promise(() => {});
    const call = code(client.set('a', 1));
    const room = client.whenWritable();
    client.disconnect();
    await room;
    expect(await call).toBe('CLOSED');
  });

  test('a pipeline of a client that cannot send: an error for each', async () => {
    const { client } = await scene([ok]);
    await client.close();
    const results = await client.pipeline().get('a').get('b').exec();
    expect(results.map(([error]) => error?.code)).toEqual(['CLOSED', 'CLOSED']);
  });

  test.each([
    ['a promise', Promise.resolve(1), /a Promise|is Promise/],
    ['a date', new Date(0), /Date/],
    ['a map', new Map(), /Map/],
  ])('%s is no options, and is refused', async (_name, value, text) => {
    const { client, peer } = await scene([ok]);
    const error = await client.call('SET', 'a', value).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'BAD_ARGUMENT' });
    expect(String(error)).toMatch(text);
    expect(peer.commands).toEqual([]);
  });

  test('keys of any bytes go and come back as they are', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    const seen: number[] = [];
    const { client, peer } = await scene([() => bulk('x')]);
    await client.get('warm');
    for (const socket of peer.sockets) {
      socket.prependListener('data', (chunk: Buffer) => seen.push(chunk.indexOf(all)));
    }
    await client.getBuffer(all);
    await client.get(new Uint8Array(all) as never);
    expect(seen.every((at) => at > 0) && seen.length > 0).toBe(true);
    expect(client.partitionOf(all)).toBe(0);
  });

  test('commands that change the connection have no place in a transaction', async () => {
    const { client, peer } = await scene([ok]);
    for (const name of ['EXEC', 'SELECT', 'SUBSCRIBE', 'WATCH', 'KV.ONCE']) {
      expect(await code(client.multi().set('a', 1).call(name, 'x').exec())).toBe('BAD_ARGUMENT');
    }
    expect(peer.commands).toEqual([]);
  });
});

describe('a subscriber', () => {
  const confirmed = (line: readonly string[]) => {
    const [kind = '', ...names] = line;
    if (!/subscribe$/i.test(kind)) return undefined;
    if (names.includes('forbidden')) return '-NOPERM no\r\n';
    return names
      .map((name, at) => array(bulk(kind.toLowerCase()), bulk(name), `:${at + 1}\r\n`))
      .join('');
  };

  test('one refused name keeps no other from being heard, also later', async () => {
    const { client, peer } = await scene([confirmed]);
    await client.connect();
    await using subscriber = client.subscriber();
    const first = [
      subscriber.subscribe('forbidden'),
      subscriber.subscribe('a'),
      subscriber.subscribe('b'),
    ];
    expect(await Promise.all(first.map(code))).toEqual(['NOPERM', 'none', 'none']);
    const again = new Promise<void>((resolve) => subscriber.once('ready', resolve));
    for (const socket of peer.sockets) socket.destroy();
    await again;
    expect(peer.commands.at(-1)).toBe('subscribe a b');
  });

  test('closed while it subscribes, the call is rejected', async () => {
    const { client } = await scene([() => 'hang']);
    await client.connect();
    const subscriber = client.subscriber();
    const call = code(subscriber.subscribe('a'));
    await later(20, '');
    await subscriber.close();
    expect(await call).toBe('CLOSED');
  });

  test.each(['before', 'after'])(
    'its client is closed before it knew a node, and %s it subscribes: it ends and says so',
    async (when) => {
      const { client, gate } = await scene([confirmed]);
      gate.open = new Promise(() => {});
      const subscriber = client.subscriber();
      ends.push(() => subscriber.close());
      const ended = new Promise<void>((resolve) => subscriber.once('end', resolve));
      if (when === 'before') client.disconnect();
      const call = subscriber.subscribe('a');
      if (when === 'after') client.disconnect();
      await expect(call).rejects.toMatchObject({
        code: 'CLOSED',
        message: expect.stringContaining('client was closed before it knew a datanode'),
      });
      await ended;
      expect(await code(subscriber.subscribe('a'))).toBe('CLOSED');
    },
  );

  test('its client is closed when it knew the nodes: it lives on', async () => {
    const { client } = await scene([confirmed]);
    await client.connect();
    await using subscriber = client.subscriber();
    await client.close();
    expect(await code(subscriber.subscribe('a'))).toBe('none');
  });
});
