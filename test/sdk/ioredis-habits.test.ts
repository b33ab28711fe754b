/** What programs written for ioredis do, and would wait for in vain: it is refused, not ignored. */
import { afterEach, describe, expect, test } from 'vitest';
import { Client } from '../../src/sdk/index.ts';
import { type Peer, scriptedPlacedriver, startPeers } from './peer.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Its methods as a program in JavaScript sees them. */
type Untyped = Record<string, (...args: readonly unknown[]) => unknown>;

async function scene() {
  const script: Peer['script'] = () => '+OK\r\n';
  const { peers, nodes } = await startPeers([script], ends);
  const { get } = scriptedPlacedriver({
    epoch: 1,
    nodes,
    partitions: [{ leader: 'n0', replicas: ['n0'] }],
  });
  const client = new Client({ placedrivers: ['p:1'], sessions: false }, { get });
  ends.push(() => client.disconnect());
  await client.connect();
  return { client, untyped: client as unknown as Untyped, peer: peers[0]! };
}

const callback = () => expect.unreachable('nobody calls it');
const noCallback = (name: string) => ({
  code: 'BAD_ARGUMENT',
  message: `${name} takes no callback: await the promise that it returns`,
});

describe('a callback is refused', () => {
  test('by exec of a pipeline and of a transaction, which can still be sent', async () => {
    const { client, peer } = await scene();
    const pipeline = client.pipeline().set('a', 1);
    const transaction = client.multi().set('b', 1);
    const untyped = [pipeline, transaction] as unknown as readonly [Untyped, Untyped];
    await expect(untyped[0]['exec']!(callback)).rejects.toMatchObject(
      noCallback('exec of a pipeline'),
    );
    await expect(untyped[1]['exec']!(callback)).rejects.toMatchObject(noCallback('exec'));
    expect(peer.commands).toEqual([]);
    expect(await pipeline.exec()).toEqual([[null, 'OK']]);
  });

  test.each(['connect', 'quit'])('by %s', async (name) => {
    const { client, untyped } = await scene();
    await expect(untyped[name]!(callback)).rejects.toMatchObject(noCallback(name));
    expect(client.status).toBe('ready');
  });

  test('by a subscriber, which takes texts for names only', async () => {
    const { client, peer } = await scene();
    await using subscriber = client.subscriber();
    const untyped = subscriber as unknown as Untyped;
    for (const name of ['subscribe', 'psubscribe', 'ssubscribe', 'unsubscribe']) {
      await expect(untyped[name]!('a', callback)).rejects.toMatchObject(noCallback(name));
    }
    await expect(untyped['subscribe']!(['a', 'b'])).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: 'argument 1 of subscribe must be a string',
    });
    expect(peer.commands.filter((line) => /subscribe/i.test(line))).toEqual([]);
  });

  test('quit may be bound to a signal, of which it is told', async () => {
    const { untyped } = await scene();
    expect(await untyped['quit']!('SIGTERM', 15)).toBe('OK');
  });
});

test.each([
  ['pipeline', [['set', 'a', 1]]],
  ['multi', [['set', 'a', 1]]],
  ['multi', { pipeline: false }],
])('what is given to %s is refused: %j', async (name, given) => {
  const { untyped } = await scene();
  expect(() => untyped[name]!(given)).toThrow(
    expect.objectContaining({
      code: 'BAD_ARGUMENT',
      message: expect.stringContaining(`${name} takes no arguments: commands are added by`),
    }),
  );
});

test('a misspelt option of a call names the one that was meant', async () => {
  const { client } = await scene();
  const options = { timeoutMS: 5 } as object;
  await expect(client.get('a', options)).rejects.toThrow('(did you mean timeoutMs?)');
});
