/** Nodes that take connections and say nothing: nobody waits for them for ever. */
import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/common/clock.ts';
import { limits } from '../../src/common/limits.ts';
import { Client, type ClientOptions } from '../../src/sdk/index.ts';
import { array, bulk, type Peer, scriptedPlacedriver, startPeers } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The bound of silence passes in a moment. */
const clock: Clock = {
  ...systemClock,
  setTimer: (ms, run) => systemClock.setTimer(ms === limits.sdkSilentMs ? 100 : ms, run),
};

/** The leader accepts and says nothing; another node passes its commands on. */
async function scene(script: Peer['script'], options: ClientOptions = {}) {
  const { nodes } = await startPeers([script], ends);
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket.on('error', () => {})));
  const port = await new Promise<number>((resolve) => {
    silent.listen(0, '127.0.0.1', () => resolve((silent.address() as { port: number }).port));
  });
  ends.push(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'silent', port }, ...nodes],
    partitions: [{ leader: 'silent', replicas: ['silent', 'n0'] }],
  });
  const client = new Client({ placedrivers: ['p:1'], sessions: false, ...options }, { get, clock });
  ends.push(() => client.disconnect());
  return client;
}

const passesOn: Peer['script'] = ([name]) =>
  name === 'BLPOP' ? array(bulk('q'), bulk('x')) : '+OK\r\n';

test.each([{}, { password: 'secret' }])(
  'one that lets nobody in is left, also for what blocks: %j',
  async (options) => {
    const client = await scene(passesOn, options);
    expect(await client.blpop('q', 0)).toEqual(['q', 'x']);
    expect(await client.set('a', 1)).toBe('OK');
  },
);

test('one that owes the answer to what blocks for longer than that takes', async () => {
  const { peers, nodes } = await startPeers([() => 'hang'], ends);
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes,
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  });
  const client = new Client({ placedrivers: ['p:1'], timeoutMs: 300, sessions: false }, { get });
  ends.push(() => client.disconnect());
  const began = performance.now();
  const calls = [client.blpop('q', 0.2), client.blmpop(0.2, 1, 'q', 'LEFT')];
  const unknown = { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('says nothing') };
  for (const call of calls) await expect(call).rejects.toMatchObject(unknown);
  expect(performance.now() - began).toBeGreaterThan(450);
  expect(peers[0]!.commands).toHaveLength(2);
});

test('one that ends its side and reads no more, with much on its way to it', async () => {
  const { nodes } = await startPeers([([, key]) => bulk(key!)], ends);
  const sockets = new Set<Socket>();
  const leader = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}));
    // of CLIENT, SELECT and GET
    socket.on('data', (chunk) =>
      socket.write('+OK\r\n'.repeat(chunk.toString().split('*').length - 1)),
    );
  });
  const port = await new Promise<number>((resolve) => {
    leader.listen(0, '127.0.0.1', () => resolve((leader.address() as { port: number }).port));
  });
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes: [{ name: 'leader', port }, ...nodes],
    partitions: [{ leader: 'leader', replicas: ['leader', 'n0'] }],
  });
  const client = new Client({ placedrivers: ['p:1'], sessions: false, timeoutMs: 5_000 }, { get });
  ends.push(() => client.disconnect());
  expect(await client.get('a')).toBe('OK');
  for (const socket of sockets) socket.pause();
  const value = Buffer.alloc(1_000_000);
  const writes = Array.from({ length: 30 }, () => client.set('a', value));
  const unknown = Promise.all(
    writes.map((write) => expect(write).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })),
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  leader.close();
  for (const socket of sockets) socket.end();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await client.get('a')).toBe('a');
  await unknown;
});
