/** One connection over TCP, against a server that answers as a test says: how it begins and ends. */
import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/common/clock.ts';
import type { Connection, ConnectionSettings, Outcome } from '../../src/sdk/connection.ts';
import { ioredisConnector } from '../../src/sdk/ioredis-connection.ts';

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

/** What a line is answered, by its beginning in upper case; others with OK, and `none` with nothing. */
type Answers = Readonly<Record<string, string>>;

async function serve(answers: Answers) {
  const sockets = new Set<Socket>();
  const lines: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const request of chunk
        .toString()
        .split(/^\*\d+\r\n/m)
        .slice(1)) {
        const line = request
          .split('\r\n')
          .filter((_, at) => at % 2 === 1)
          .join(' ');
        lines.push(line);
        const found = Object.entries(answers).find(([start]) =>
          line.toUpperCase().startsWith(start),
        );
        const answer = found?.[1] ?? '+OK\r\n';
        if (answer !== 'none') socket.write(answer);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as { port: number }).port, sockets, lines };
}

/** Timers fire, and turns end, when the test says so; what lies beyond a turn is the system's. */
function handClock() {
  const timers = new Set<{ readonly run: () => void }>();
  const clock: Clock = {
    ...systemClock,
    setTimer(_delayMs, run) {
      const own = { run };
      timers.add(own);
      return { cancel: () => void timers.delete(own) };
    },
  };
  return { clock, timers };
}

async function scene(answers: Answers = {}, settings: Partial<ConnectionSettings> = {}) {
  const server = await serve(answers);
  const { clock, timers } = handClock();
  const told: unknown[][] = [];
  const connection = ioredisConnector(clock).open(
    {
      address: { host: '127.0.0.1', port: server.port },
      namespace: undefined,
      username: undefined,
      password: undefined,
      connectTimeoutMs: 10_000,
      readOnly: false,
      ...settings,
    },
    {
      ready: () => told.push(['ready']),
      closed: (cause, refused) => told.push(['closed', cause?.message, refused]),
    },
  );
  ends.push(() => connection.close());
  return { ...server, clock, timers, told, connection };
}

const send = (connection: Connection, ...line: string[]) =>
  new Promise<Outcome>((resolve) => connection.send(line, resolve));

describe('it begins', () => {
  test('READONLY at a follower-read port alone, then the namespace, then what has waited', async () => {
    const follower = await scene({}, { readOnly: true, namespace: 'shop' });
    await send(follower.connection, 'GET', 'a');
    const name = 'CLIENT SETINFO LIB-NAME kvorum-sdk';
    expect(follower.lines).toEqual([name, 'READONLY', 'SELECT shop', 'GET a']);
    const leader = await scene();
    await send(leader.connection, 'GET', 'a');
    expect(leader.lines).toEqual([name, 'GET a']);
  });

  test('nothing watches over it once it stands, nor once it has ended', async () => {
    const { connection, timers, told } = await scene();
    await send(connection, 'PING');
    expect(told).toEqual([['ready']]);
    expect(timers.size).toBe(0);
    const silent = await scene({ SELECT: 'none' }, { namespace: 'shop' });
    await expect.poll(() => silent.timers.size).toBe(1);
    silent.connection.close();
    expect(silent.timers.size).toBe(0);
  });

  test('one that says nothing is given up', async () => {
    const { connection, timers, told, port } = await scene(
      { SELECT: 'none' },
      { namespace: 'shop' },
    );
    const outcome = send(connection, 'GET', 'a');
    await expect.poll(() => timers.size).toBe(1);
    for (const { run } of timers) run();
    const cause = `127.0.0.1:${port} accepts connections and says nothing`;
    expect(await outcome).toMatchObject({ kind: 'unsent', cause: { message: cause } });
    expect(told).toEqual([['closed', cause, false]]);
  });

  test('unless it has answered by the end of the turn: this process was late, not the server', async () => {
    const { connection, clock, timers, told, sockets } = await scene(
      { SELECT: 'none' },
      { namespace: 'shop' },
    );
    const later: (() => void)[] = [];
    await expect.poll(() => timers.size).toBe(1);
    clock.endOfTurn = (run) => void later.push(run);
    for (const { run } of timers) run();
    expect(told).toEqual([]);
    for (const socket of sockets) socket.write('+OK\r\n');
    await expect.poll(() => told).toEqual([['ready']]);
    for (const run of later) run();
    expect(told).toEqual([['ready']]);
    connection.close();
  });
});

describe('who is not let in', () => {
  const refused = { namespace: 'shop' };

  test.each([
    ['-NOPERM no\r\n', 'NOPERM no', true],
    ['-LOADING it starts\r\n', 'LOADING it starts', false],
    ['-CLUSTERDOWN it has no table yet\r\n', 'CLUSTERDOWN it has no table yet', false],
  ] as const)('%j to SELECT', async (answer, text, isRefused) => {
    const { connection, told } = await scene({ SELECT: answer }, refused);
    expect(await send(connection, 'GET', 'a')).toMatchObject({ kind: 'unsent' });
    expect(told).toEqual([['closed', text, isRefused]]);
  });

  test('a wrong password', async () => {
    const wrong = '-WRONGPASS invalid username-password pair\r\n';
    const { told } = await scene({ AUTH: wrong }, { username: 'u', password: 'p' });
    await expect.poll(() => told).toEqual([['closed', expect.stringMatching(/^WRONGPASS/), true]]);
  });

  test('one too many: the server says so and closes, and may have room later', async () => {
    const text = 'ERR max number of clients reached';
    const { connection, told, sockets } = await scene(
      { CLIENT: `-${text}\r\n`, SELECT: 'none' },
      refused,
    );
    const outcome = send(connection, 'GET', 'a');
    await expect.poll(() => sockets.size).toBe(1);
    setTimeout(() => {
      for (const socket of sockets) socket.end();
    }, 20);
    expect(await outcome).toMatchObject({ kind: 'unsent', cause: { message: text } });
    expect(told).toEqual([['closed', text, false]]);
  });
});

describe('it ends', () => {
  test('at once, once: what was sent is lost, what comes is unsent', async () => {
    const { connection, told, lines } = await scene({ GET: 'none' });
    await send(connection, 'PING');
    const sent = send(connection, 'GET', 'a');
    await expect.poll(() => lines).toContain('GET a');
    connection.close();
    expect(told).toEqual([['ready'], ['closed', undefined, false]]);
    expect((await send(connection, 'GET', 'b')).kind).toBe('unsent');
    expect((await sent).kind).toBe('lost');
    connection.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(told).toHaveLength(2);
    expect(connection.pending).toBe(0);
  });

  test('when the server does', async () => {
    const { connection, told, sockets } = await scene({ GET: 'none' });
    await send(connection, 'PING');
    const sent = send(connection, 'GET', 'a');
    for (const socket of sockets) socket.end();
    expect((await sent).kind).toBe('lost');
    expect(told).toEqual([['ready'], ['closed', undefined, false]]);
  });
});
