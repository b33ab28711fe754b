import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import type { ByteStream, Listener } from '../../../src/common/network.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import {
  type MutualOptions,
  mutualNetwork,
  type PeerCredentials,
} from '../../../src/common/tls/mutual-network.ts';
import { ManualClock } from '../../datanode/raftlog/manual-clock.ts';
import { keepsTheContract } from '../network-contract.ts';
import { TestAuthority } from './authority.ts';

const host = '127.0.0.1';
const authority = new TestAuthority();
const foreign = new TestAuthority();
const node = authority.issue('node');
const listeners: Listener[] = [];
const sockets: { destroy(): void }[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const listener of listeners.splice(0)) await listener.close();
});

function options(own: Partial<MutualOptions> = {}): MutualOptions {
  return {
    credentials: () => node,
    ...{ takesPlain: false, dialsTls: true, clock: systemClock },
    refusal: (reason) => Buffer.from(`refused: ${reason}`),
    onRefused: () => {},
    ...own,
  };
}

/** An echo; tells why it refused. */
async function serve(own: Partial<MutualOptions> = {}) {
  const refused: string[] = [];
  const streams: ByteStream[] = [];
  const network = mutualNetwork(options({ onRefused: (_, why) => refused.push(why), ...own }));
  const listener = await network.listen({ host, port: 0 }, (stream) => {
    streams.push(stream);
    stream.attach({ onData: (chunk) => stream.write(chunk), onClose: () => {} });
  });
  listeners.push(listener);
  return { port: listener.port, refused, streams, listener };
}

async function dial(port: number, credentials: PeerCredentials = node, to = host) {
  const network = mutualNetwork(options({ credentials: () => credentials }));
  const stream = await network.connect({ host: to, port }, 5_000);
  sockets.push(stream);
  const heard = { text: '', closes: 0, error: undefined as Error | undefined };
  stream.attach({
    onData: (chunk) => {
      heard.text += chunk.toString('latin1');
    },
    onClose: (error) => {
      heard.closes++;
      heard.error = error;
    },
  });
  return { stream, heard };
}

describe.each([true, false])('TLS between processes, plain taken: %s', (takesPlain) =>
  keepsTheContract(() => ({
    network: mutualNetwork(options({ takesPlain })),
    peer: (port) => {
      const { certificate: cert, key, authorities: ca } = node;
      return connectTls({ host, port, cert, key, ca, allowHalfOpen: true } as ConnectionOptions);
    },
  })),
);

test('a plain peer that says nothing is let go in time, and told of', async () => {
  const clock = new ManualClock();
  const { port, refused, streams } = await serve({ takesPlain: true, clock });
  const silent = connect({ host, port });
  const gone = once(silent.resume(), 'close');
  await expect.poll(() => clock.step()).toBe(true);
  // its time is over, and what its socket has is read first
  await clock.step();
  await gone;
  expect(clock.monotonicMs()).toBe(limits.peerTlsHandshakeMs);
  expect(refused).toEqual([`not a byte within ${limits.peerTlsHandshakeMs} ms`]);
  expect(streams).toEqual([]);
});

test('bytes come back in order, and the end is told once', async () => {
  const { port, refused } = await serve();
  const { stream, heard } = await dial(port);
  for (let at = 0; at < 1_000; at++) stream.write(Buffer.from(`${at},`));
  await expect.poll(() => heard.text.endsWith('999,')).toBe(true);
  expect(heard.text.split(',')).toHaveLength(1_001);
  stream.end();
  await expect.poll(() => heard.closes).toBe(1);
  expect(refused).toEqual([]);
});

test('much is written while the other side reads slowly, and all of it arrives', async () => {
  const { port, streams } = await serve();
  const { stream, heard } = await dial(port);
  await expect.poll(() => streams.length).toBe(1);
  streams[0]!.pause();
  const chunk = Buffer.alloc(256 * 1024, 'x');
  for (let at = 0; at < 64; at++) stream.write(chunk);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(stream.bufferedBytes).toBeGreaterThan(chunk.length);
  expect(heard.text).toBe('');
  streams[0]!.resume();
  await expect.poll(() => heard.text.length, { timeout: 20_000 }).toBe(64 * chunk.length);
  expect(stream.bufferedBytes).toBe(0);
});

test('nothing is handed on after a stream was destroyed, and its queue is lost', async () => {
  const { port } = await serve();
  const { stream, heard } = await dial(port);
  stream.write(Buffer.from('lost'));
  stream.destroy(new Error('enough'));
  await expect.poll(() => heard.closes).toBe(1);
  expect(heard.error?.message).toBe('enough');
  expect(heard.text).toBe('');
});

test('a listener that closes ends its connections', async () => {
  const { port, listener } = await serve();
  const { heard } = await dial(port);
  await listener.close();
  await expect.poll(() => heard.closes).toBe(1);
});

describe('who is not let in', () => {
  const cases: [string, () => PeerCredentials, string][] = [
    [
      'of another authority',
      () => ({ ...foreign.issue('node'), authorities: authority.certificate }),
      'its certificate is not signed by an authority of tls.ca-file',
    ],
    [
      'that has expired',
      () => authority.issue('node', { madeDaysAgo: 40 }),
      'its certificate has expired',
    ],
    [
      'of a client',
      () => authority.issue('someone', { hosts: [], clientOnly: true }),
      "its certificate is a client's, and no client speaks here",
    ],
  ];
  test.each(cases)('one with a certificate %s is told why', async (_, credentials, why) => {
    const { port, refused, streams } = await serve();
    const { heard } = await dial(port, credentials());
    await expect.poll(() => heard.text).toBe(`refused: ${why}`);
    await expect.poll(() => heard.closes).toBe(1);
    expect(refused).toEqual([why]);
    expect(streams).toEqual([]);
  });

  test('one without a certificate', async () => {
    const { port, refused, streams } = await serve();
    const socket = connectTls({ host, port, ca: authority.certificate });
    sockets.push(socket);
    socket.on('error', () => {}).resume();
    await once(socket, 'close');
    expect(refused).toEqual(['it showed no certificate']);
    expect(streams).toEqual([]);
  });

  test('one that speaks no TLS', async () => {
    const { port, refused, streams } = await serve();
    const stream = await tcpNetwork.connect({ host, port }, 5_000);
    sockets.push(stream);
    let text = '';
    stream.attach({ onData: (chunk) => (text += chunk), onClose: () => {} });
    stream.write(Buffer.from('kv'));
    await expect.poll(() => text).toBe('refused: it speaks no TLS');
    expect(refused).toEqual(['it speaks no TLS']);
    expect(streams).toEqual([]);
  });

  test('one that begins as TLS and goes on with something else', async () => {
    const { port, refused } = await serve();
    const socket = connect({ host, port });
    sockets.push(socket);
    socket.on('error', () => {}).resume();
    socket.write(Buffer.from('\x16 and nothing of the kind'));
    await once(socket, 'close');
    expect(refused).toHaveLength(1);
  });
});

describe('who dials', () => {
  test('goes nowhere else than where its certificate says', async () => {
    const { port } = await serve({
      credentials: () => authority.issue('b', { hosts: ['b.test'] }),
    });
    await expect(dial(port)).rejects.toThrow(/does not match certificate's altnames/);
  });

  test('by a name', async () => {
    const { port } = await serve();
    const { stream, heard } = await dial(port, node, 'localhost');
    stream.write(Buffer.from('x'));
    await expect.poll(() => heard.text).toBe('x');
  });

  test.each([
    ['of another authority', () => foreign.issue('b'), /not signed by an authority/],
    ['that expired', () => authority.issue('b', { madeDaysAgo: 40 }), /has expired/],
    [
      'of a client',
      () => authority.issue('b', { clientOnly: true }),
      /its certificate|unsuitable|purpose/,
    ],
  ])('trusts no certificate %s', async (_, credentials, why) => {
    const { port } = await serve({ credentials });
    await expect(dial(port)).rejects.toThrow(why);
  });

  test('is told that the other side speaks no TLS', async () => {
    const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) => {
      stream.attach({ onData: () => stream.end(), onClose: () => {} });
      stream.write(Buffer.from('kv not TLS'));
    });
    listeners.push(listener);
    await expect(dial(listener.port)).rejects.toThrow('it speaks no TLS');
  });

  test('does not wait for ever for one that says nothing', async () => {
    const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) =>
      stream.attach({ onData: () => {}, onClose: () => {} }),
    );
    listeners.push(listener);
    await expect(dial(listener.port)).rejects.toThrow(/no TLS handshake with/);
  }, 20_000);
});

test('one port takes both where that is wanted', async () => {
  const { port, refused, streams } = await serve({ takesPlain: true });
  const plain = await tcpNetwork.connect({ host, port }, 5_000);
  sockets.push(plain);
  let text = '';
  plain.attach({ onData: (chunk) => (text += chunk), onClose: () => {} });
  plain.write(Buffer.from('k'));
  await expect.poll(() => text).toBe('k');
  plain.write(Buffer.from('v'));
  await expect.poll(() => text).toBe('kv');
  const { stream, heard } = await dial(port);
  stream.write(Buffer.from('x'));
  await expect.poll(() => heard.text).toBe('x');
  expect(streams).toHaveLength(2);
  expect(refused).toEqual([]);
});

test('renewed certificates are shown to those who come then', async () => {
  const other = new TestAuthority();
  const authorities = `${authority.certificate}${other.certificate}`;
  let now: PeerCredentials = { ...node, authorities };
  const { port } = await serve({ credentials: () => now });
  const first = await dial(port);
  const renewed = { ...other.issue('node'), authorities };
  await expect(dial(port, { ...renewed, authorities: other.certificate })).rejects.toThrow(
    /not signed by/,
  );
  now = renewed;
  const second = await dial(port, { ...renewed, authorities: other.certificate });
  for (const { stream, heard } of [first, second]) {
    stream.write(Buffer.from('x'));
    await expect.poll(() => heard.text).toBe('x');
  }
});

test('thousands who say nothing do not keep a peer out', async () => {
  const { port } = await serve();
  const silent: Socket[] = [];
  let gone = 0;
  for (let at = 0; at < limits.peerTlsHandshakesMax + 50; at++) {
    const socket = connect({ host, port });
    socket.on('error', () => {}).on('close', () => gone++);
    sockets.push(socket);
    silent.push(socket);
    await once(socket, 'connect');
    if (at % 2 === 0) socket.write(Buffer.from([0x16, 3]));
  }
  await expect.poll(() => gone).toBeGreaterThanOrEqual(50);
  const { stream, heard } = await dial(port);
  stream.write(Buffer.from('x'));
  await expect.poll(() => heard.text).toBe('x');
});
