/** What is longer than one request may be is refused before it is sent. */
import { afterEach, describe, expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { Client, type ClientOptions } from '../../src/sdk/index.ts';
import { refuseTooLarge } from '../../src/sdk/request-size.ts';
import { type Peer, scriptedPlacedriver, startPeers } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function scene(options: ClientOptions = {}) {
  const script: Peer['script'] = ([name]) => (name === 'KV.SESSION' ? undefined : '+OK\r\n');
  const { peers, nodes } = await startPeers([script], ends);
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes,
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  });
  const client = new Client({ placedrivers: ['p:1'], timeoutMs: 5_000, ...options }, { get });
  client.on('error', () => {});
  ends.push(() => client.disconnect());
  return { client, peer: peers[0]! };
}

const large = Buffer.alloc(limits.requestBytesMax + 1);
const refused = {
  code: 'BAD_ARGUMENT',
  retriable: false,
  message: expect.stringMatching(/^SET has \d+ bytes, and a request has at most 62914560 /),
};

describe('a command that is longer than a request may be', () => {
  test.each([true, false])('in a transaction, sessions: %s: nothing is sent', async (sessions) => {
    const { client, peer } = await scene({ sessions });
    const call = client.multi().set('b', 1).set('a', large).exec();
    await expect(call).rejects.toMatchObject(refused);
    expect(peer.lines).toEqual([]);
  });

  test('in a watch: its transaction is not sent, and it is not tried again', async () => {
    const { client, peer } = await scene();
    let bodies = 0;
    const call = client.watch('a', (tx) => {
      bodies++;
      return tx.multi().set('a', large);
    });
    await expect(call).rejects.toMatchObject(refused);
    expect(bodies).toBe(1);
    expect(peer.commands.filter((line) => /MULTI|SET/.test(line))).toEqual([]);
  });

  test('by itself and in a pipeline', async () => {
    const { client, peer } = await scene();
    await expect(client.set('a', large)).rejects.toMatchObject(refused);
    const results = await client.pipeline().set('a', large).set('b', 1).exec();
    expect(results).toEqual([
      [expect.objectContaining(refused), undefined],
      [null, 'OK'],
    ]);
    expect(peer.commands).toEqual(['SET b 1']);
  });
});

test('a part of MSET: no other part is sent either', async () => {
  const script: Peer['script'] = ([name]) => (name === 'KV.SESSION' ? undefined : '+OK\r\n');
  const { peers, nodes } = await startPeers([script], ends);
  const leaders = { leader: 'n0', replicas: ['n0'] };
  const { get } = scriptedPlacedriver({ epoch: 1, nodes, partitions: [leaders, leaders] });
  const client = new Client({ placedrivers: ['p:1'], timeoutMs: 5_000 }, { get });
  ends.push(() => client.disconnect());
  await client.connect();
  expect(client.partitionOf('a')).not.toBe(client.partitionOf('b'));
  await expect(client.mset('a', 1, 'b', large)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  expect(peers[0]!.commands).toEqual([]);
});

test('texts are measured in bytes, and arguments counted', () => {
  const third = Math.floor(limits.requestBytesMax / 3);
  const refuse =
    (...line: readonly (string | Buffer)[]) =>
    () =>
      refuseTooLarge(line);
  expect(refuse('SET', 'a', 'x'.repeat(third * 2))).not.toThrow();
  expect(refuse('SET', 'a', '€'.repeat(third))).toThrow('bytes');
  expect(refuse('SET', 'a', Buffer.alloc(limits.requestBytesMax - 1_000))).not.toThrow();
  const many = new Array<string>(limits.requestArgumentsMax).fill('a');
  expect(() => refuseTooLarge(['SADD', ...many])).toThrow('SADD has 1048577 arguments');
  expect(() => refuseTooLarge(['SADD', ...many.slice(10)])).not.toThrow();
});
