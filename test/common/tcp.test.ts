import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { getDefaultHighWaterMark, setDefaultHighWaterMark } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import type { ByteStream } from '../../src/common/network.ts';
import { tcpNetwork } from '../../src/common/tcp.ts';
import { HELD_BYTES_MIN } from '../../src/datanode/server/client-memory.ts';

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

test('bytes come back in order, and the end is told once', async () => {
  const { listener, stream } = await pair();
  let text = '';
  let closes = 0;
  stream.attach({
    onData: (chunk) => {
      text += chunk.toString();
    },
    onClose: () => closes++,
  });
  for (let at = 0; at < 1_000; at++) stream.write(Buffer.from(`${at},`));
  await expect.poll(() => text.endsWith('999,')).toBe(true);
  expect(text.split(',')).toHaveLength(1_001);
  stream.end();
  await expect.poll(() => closes).toBe(1);
  await listener.close();
});

test('who ended its side still gets what it asked for, where that is wanted', async () => {
  const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) => {
    let asked = '';
    stream.attach({
      onData: (chunk) => {
        asked += chunk.toString();
      },
      onEnd: () => {
        stream.write(Buffer.from(`${asked} answered`));
        stream.end();
      },
      onClose: () => {},
    });
  });
  const peer = connect({ host, port: listener.port });
  let text = '';
  peer.on('data', (chunk) => {
    text += chunk.toString();
  });
  peer.end('question');
  await once(peer, 'close');
  expect(text).toBe('question answered');
  await listener.close();
});

test('what the system has taken may be written over, and what it has not is kept', async () => {
  const { listener, stream } = await pair();
  let text = '';
  stream.attach({
    onData: (chunk) => {
      text += chunk.toString();
    },
    onClose: () => {},
  });
  let memory = Buffer.alloc(100_000);
  let expected = '';
  let atOnce = 0;
  for (let at = 0; at < 200; at++) {
    const letter = String.fromCharCode(97 + (at % 26));
    memory.fill(letter);
    expected += memory.toString();
    stream.write(memory);
    if (stream.bufferedBytes > 0) memory = Buffer.alloc(100_000);
    else atOnce++;
  }
  expect(atOnce).toBeGreaterThan(0);
  await expect.poll(() => text.length, { timeout: 10_000 }).toBe(expected.length);
  expect(text === expected).toBe(true);
  stream.destroy();
  await listener.close();
});

test('a peer that goes on sending after the end gets all that was sent, and is cut off', async () => {
  const all = 'x'.repeat(1_000_000);
  const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) => {
    stream.attach({ onData: () => {}, onClose: () => {} });
    stream.write(Buffer.from(all));
    stream.end();
  });
  const peer = connect({ host, port: listener.port, allowHalfOpen: true });
  let text = '';
  let broken = false;
  peer.on('data', (chunk) => {
    text += chunk.toString();
  });
  peer.on('error', () => {
    broken = true;
  });
  const sending = setInterval(() => peer.write('more'), 5);
  await expect.poll(() => broken, { timeout: 10_000 }).toBe(true);
  clearInterval(sending);
  expect(text.length).toBe(all.length);
  await listener.close();
});

test('a listener that closes ends its connections', async () => {
  const { listener, stream } = await pair();
  let closed = false;
  stream.attach({
    onData: () => {},
    onClose: () => {
      closed = true;
    },
  });
  await listener.close();
  await expect.poll(() => closed).toBe(true);
});

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
