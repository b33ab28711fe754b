/** Whoever connects to the transport's port and says nothing of use takes no more than some places. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Network } from '../../../src/common/network.ts';
import { tcpNetwork } from '../../../src/common/tcp.ts';
import { startNode, type TestNode } from './nodes.ts';

const nodes: TestNode[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(nodes.splice(0).map(({ transport }) => transport.close()));
});

/** `count` connections, each of which sends `text`; resolves when they stand. */
async function strangers(port: number, count: number, text: string): Promise<void> {
  const opened = Array.from(
    { length: count },
    () =>
      new Promise<void>((resolve) => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
          socket.write(text);
          resolve();
        });
        socket.on('error', () => resolve());
        socket.resume();
        sockets.push(socket);
      }),
  );
  await Promise.all(opened);
}

/** Streams that were accepted and have not ended. */
let standing: number;

const counted: Network = {
  ...tcpNetwork,
  listen: (address, onStream) =>
    tcpNetwork.listen(address, (stream) => {
      standing++;
      const { attach } = stream;
      stream.attach = (handlers) => {
        const onClose = (error?: Error) => {
          standing--;
          handlers.onClose(error);
        };
        attach.call(stream, { ...handlers, onClose });
      };
      onStream(stream);
    }),
};

/** The most that stand in the next 300 ms. */
async function mostStanding(): Promise<number> {
  let most = 0;
  for (let times = 0; times < 30; times++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    most = Math.max(most, standing);
  }
  return most;
}

test.each([
  ['say nothing', ''],
  ['say what is no hello', 'GET / HTTP/1.1\r\nhost: h\r\n\r\n'],
])('of strangers who %s some have a place, and a peer gets in', async (_, text) => {
  standing = 0;
  const settings = { handshakeTimeoutMs: 20_000 };
  const one = await startNode('one', { network: counted, settings });
  const two = await startNode('two');
  nodes.push(one, two);
  await strangers(one.transport.port, 500, text);
  expect(await mostStanding()).toBeLessThanOrEqual(64);
  one.transport.setPeers(new Map([['two', two.address]]));
  two.transport.setPeers(new Map([['one', one.address]]));
  await expect.poll(() => two.transport.isReachable('one')).toBe(true);
  await strangers(one.transport.port, 500, text);
  expect(await mostStanding()).toBeLessThanOrEqual(66);
  expect(two.transport.isReachable('one')).toBe(true);
  expect(one.transport.isReachable('two')).toBe(true);
});
