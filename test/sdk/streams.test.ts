/** Commands of streams: where they go, and what becomes of those that wait. */
import { afterEach, expect, test } from 'vitest';
import { Client, type ClientOptions } from '../../src/sdk/index.ts';
import { array, bulk, type Peer, scriptedPlacedriver, startPeers } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const entry = array(bulk('1-0'), array(bulk('f'), bulk('v')));
const found = array(array(bulk('a'), array(entry)));
const read = [['a', [['1-0', ['f', 'v']]]]];

/** Two nodes that lead half of the slots each; `a` (slot 15495) is the second's, `b` the first's. */
async function scene(scripts: readonly Peer['script'][], options: ClientOptions = {}) {
  const { peers, nodes } = await startPeers(scripts, ends);
  const table = {
    epoch: 1,
    nodes: nodes.map((node) => ({ ...node, followerPort: node.port })),
    partitions: [
      { leader: 'n0', replicas: ['n0', 'n1'] },
      { leader: 'n1', replicas: ['n1', 'n0'] },
    ],
  };
  const client = new Client(
    { placedrivers: ['p:1'], backoffMaxMs: 20, ...options },
    { get: scriptedPlacedriver(table).get },
  );
  client.on('error', () => {});
  ends.push(() => client.disconnect());
  return { client, peers };
}

const answers: Peer['script'] = ([name]) => (name === 'KV.SESSION' ? undefined : found);

test('they go to the leader of the streams, wherever these stand', async () => {
  const { client, peers } = await scene([answers, answers]);
  expect(await client.xread('COUNT', 2, 'STREAMS', 'a', '0')).toEqual(read);
  expect(await client.xread('BLOCK', 5, 'STREAMS', ['a', 'a'], ['0', '$'])).toEqual(read);
  expect(await client.xreadgroup('GROUP', 'STREAMS', 'b', 'STREAMS', 'a', '>')).toEqual(read);
  await client.xread('STREAMS', 'b', 'a');
  expect(peers[1]!.commands).toEqual([
    'XREAD COUNT 2 STREAMS a 0',
    'XREAD BLOCK 5 STREAMS a a 0 $',
    'XREADGROUP GROUP STREAMS b STREAMS a >',
  ]);
  expect(peers[0]!.commands).toEqual(['XREAD STREAMS b a']);
});

test('XREADGROUP runs in a session, and is sent again when its reply is lost', async () => {
  let lost = 1;
  const { client, peers } = await scene([
    answers,
    (line, peer) => (line[0] === 'KV.ONCE' && lost-- > 0 ? 'close' : answers(line, peer)),
  ]);
  expect(await client.xreadgroup('GROUP', 'g', 'c', 'STREAMS', 'a', '>')).toEqual(read);
  const onces = [...peers[0]!.lines, ...peers[1]!.lines].filter(([name]) => name === 'KV.ONCE');
  expect(onces.map((line) => line.slice(1).join(' '))).toHaveLength(2);
  expect(new Set(onces.map((line) => line.slice(1).join(' '))).size).toBe(1);
});

test('one that waits is no such write: nobody knows what became of it', async () => {
  const { client, peers } = await scene([answers, () => 'close']);
  const call = client.xreadgroup('GROUP', 'g', 'c', 'BLOCK', 0, 'STREAMS', 'a', '>');
  await expect(call).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(peers[1]!.lines.map((line) => line.join(' '))).toEqual([
    'XREADGROUP GROUP g c BLOCK 0 STREAMS a >',
  ]);
});

test('XREAD that waits reads at the leader, for as long as it says, and again when it is lost', async () => {
  let left = 2;
  const late = (ms: number) =>
    new Promise<string>((resolve) => setTimeout(() => resolve(found), ms));
  const script: Peer['script'] = () => (left-- > 1 ? 'close' : late(500));
  const { client, peers } = await scene([answers, script], {
    attemptTimeoutMs: 100,
    timeoutMs: 150,
    consistency: 'stale',
  });
  expect(await client.xread('BLOCK', 5_000, 'STREAMS', 'a', '0')).toEqual(read);
  expect(peers.map(({ commands }) => commands.length)).toEqual([0, 2]);
});

test('to a node that says nothing it is sent no longer than it is held', async () => {
  const { client } = await scene([answers, () => 'hang'], { timeoutMs: 100, backoffMaxMs: 10 });
  const began = performance.now();
  const call = client.xread('BLOCK', 100, 'STREAMS', 'a', '0');
  await expect(call).rejects.toMatchObject({ code: 'TIMEOUT', retriable: true });
  expect(performance.now() - began).toBeGreaterThan(190);
});

test('what waited long is sent again when its node gives it back', async () => {
  let left = 1;
  const moved = new Promise<string>((resolve) =>
    setTimeout(() => resolve('-CLUSTERDOWN no leader\r\n'), 500),
  );
  const { client } = await scene([
    () => (left-- > 0 ? moved : array(bulk('b'), bulk('x'))),
    answers,
  ]);
  expect(await client.blpop('b', 0)).toEqual(['b', 'x']);
});
