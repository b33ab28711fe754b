import { createServer, Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { ByteStream } from '../../src/common/network.ts';
import { tcpNetwork } from '../../src/common/tcp.ts';
import { ChunkReader } from '../../src/common/tcp-read.ts';

const host = '127.0.0.1';

test('a chunk stays what it was while other sockets read into the same buffer', async () => {
  const kept: Buffer[] = [];
  const listener = await tcpNetwork.listen({ host, port: 0 }, (stream) => {
    stream.attach({ onData: (chunk) => kept.push(chunk), onClose: () => {} });
  });
  const streams: ByteStream[] = [];
  for (let at = 0; at < 20; at++) {
    const stream = await tcpNetwork.connect({ host, port: listener.port }, 1_000);
    stream.attach({ onData: () => {}, onClose: () => {} });
    streams.push(stream);
  }
  for (const [at, stream] of streams.entries()) {
    stream.write(Buffer.alloc(100_000, at + 1));
    // one after the other, so that chunks of several sockets are kept at once
    const bytes = () => kept.reduce((sum, { length }) => sum + length, 0);
    await expect.poll(bytes).toBe((at + 1) * 100_000);
  }
  const whole = Buffer.concat(kept);
  for (const at of streams.keys()) {
    const part = whole.subarray(at * 100_000, (at + 1) * 100_000);
    expect(part.every((byte) => byte === at + 1)).toBe(true);
  }
  await listener.close();
});

test('an accepted connection reads through another socket; its server counts it to the end', async () => {
  const server = createServer({ pauseOnConnect: true });
  const reader = new ChunkReader();
  const adopted = new Promise<{ accepted: Socket; socket: Socket }>((resolve) => {
    server.once('connection', (accepted) => resolve({ accepted, socket: reader.adopt(accepted) }));
  });
  const client = new Socket();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const bound = server.address();
  client.connect(typeof bound === 'object' && bound !== null ? bound.port : 0, host);
  const { accepted, socket } = await adopted;
  expect(socket).not.toBe(accepted);
  let text = '';
  reader.onChunk = (chunk) => {
    text += chunk.toString();
  };
  client.write('hello');
  await expect.poll(() => text).toBe('hello');
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  client.destroy();
  await closed;
});

test('a socket whose handle cannot be moved goes on as it is', () => {
  const reader = new ChunkReader();
  const accepted = new Socket();
  expect(reader.adopt(accepted)).toBe(accepted);
  let text = '';
  reader.onChunk = (chunk) => {
    text += chunk.toString();
  };
  accepted.emit('data', Buffer.from('hello'));
  expect(text).toBe('hello');
});
