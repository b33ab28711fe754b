import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import type { ByteStream } from '../../src/common/network.ts';
import { tcpNetwork } from '../../src/common/tcp.ts';
import { HELD_BYTES_MIN } from '../../src/datanode/server/client-memory.ts';
import { keepsTheContract } from './network-contract.ts';

const host = '127.0.0.1';

async function pair() {
  let accept: (stream: ByteStream) => void = () => {};
  const accepted = new Promise<ByteStream>((resolve) => {
    accept = (stream) => {
      // Handlers must be attached in the turn the stream is handed out.
      stream.attach({ onData: (chunk) => stream.write(chunk), onClose: () => {} });
      resolve(stream);
    };
  });
  const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) => accept(stream));
  const stream = await tcpNetwork.connect({ host, port: listener.port }, 1_000);
  return { listener, stream, accepted };
}

describe('TCP', () =>
  keepsTheContract(() => ({
    network: tcpNetwork,
    peer: (port) => connect({ host, port, allowHalfOpen: true }),
  })));

test('a taken port and a refused connection say where', async () => {
  const listener = await tcpNetwork.listen({ host, port: 0 }, () => {});
  const { port } = listener;
  await expect(tcpNetwork.listen({ host, port }, () => {})).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message: expect.stringContaining(String(port)),
  });
  await listener.close();
  await expect(tcpNetwork.connect({ host, port }, 500)).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  });
});

describe('what is counted as unread is told of when it has been read', () => {
  const byDefault = getDefaultHighWaterMark(false);
  const chunk = Buffer.alloc(HELD_BYTES_MIN + 4_000);
  const silence = { onData: () => {}, onClose: () => {} };

  afterEach(() => setDefaultHighWaterMark(false, byDefault));

  /** As of Node.js 22, whichever runs this. */
  const asLater = () => setDefaultHighWaterMark(false, 65_536);

  async function isTold(stream: ByteStream, peer: Socket, tells: () => number): Promise<void> {
    while (stream.bufferedBytes === 0) stream.write(chunk);
    expect(stream.bufferedBytes).toBe(chunk.length);
    const before = tells();
    peer.resume();
    await expect.poll(() => stream.bufferedBytes).toBe(0);
    await expect.poll(tells).toBe(before + 1);
  }

  test('on a connection that was accepted', async () => {
    asLater();
    let [told, accept] = [0, (_: ByteStream) => {}];
    const accepted = new Promise<ByteStream>((resolve) => {
      accept = resolve;
    });
    const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) => {
      stream.attach({ ...silence, onDrain: () => told++ });
      accept(stream);
    });
    const peer = connect({ host, port: listener.port }).pause();
    await isTold(await accepted, peer, () => told);
    peer.destroy();
    await listener.close();
  });

  test('on one that was made', async () => {
    asLater();
    let told = 0;
    const server = createServer({ pauseOnConnect: true });
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const { port } = server.address() as { port: number };
    const stream = await tcpNetwork.connect({ host, port }, 1_000);
    stream.attach({ ...silence, onDrain: () => told++ });
    const [peer] = await accepted;
    await isTold(stream, peer, () => told);
    stream.destroy();
    peer.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

const TCP_TABLE = '/proc/net/tcp';
/** That a connection will be asked whether it is there, and in how many hundredths of a second. */
const ASKS = /^02:([0-9A-F]{8})$/;

/** Of the accepted side of a connection, what the system's timer is for, and when it comes. */
function timerOf(port: number): string | undefined {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync(TCP_TABLE, 'utf8').split('\n');
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return fields.find(([, from, , state]) => from?.endsWith(local) && state === '01')?.[5];
}

test.runIf(existsSync(TCP_TABLE))(
  'who says nothing is asked whether it is still there',
  async () => {
    const { listener, stream, accepted } = await pair();
    stream.attach({ onData: () => {}, onClose: () => {} });
    await accepted;
    await expect.poll(() => timerOf(listener.port)).toMatch(ASKS);
    const dueMs = 10 * Number.parseInt(ASKS.exec(timerOf(listener.port)!)![1]!, 16);
    expect(dueMs).toBeLessThanOrEqual(limits.tcpKeepAliveMs);
    expect(dueMs).toBeGreaterThan(limits.tcpKeepAliveMs - 60_000);
    stream.destroy();
    await listener.close();
  },
);
