import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { type EmbeddedStore, startEmbeddedStore } from '../../src/meta/embedded/server.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { EtcdConnection } from '../../src/meta/etcd-connection.ts';
import { wasNotSent } from '../../src/meta/etcd-members.ts';
import { SimDisk } from '../sim/disk.ts';
import { world } from './served.ts';

let sound: EmbeddedStore;

beforeEach(async () => {
  const disk = new SimDisk({ random: seededRandom(1), clock: world.clock });
  const listen = { host: '127.0.0.1', port: 0 };
  sound = await startEmbeddedStore({ ...world, disk, dir: '/meta', listen });
});

afterEach(() => sound.close());

/** Codes of the calls that failed, of sixty to the sound member or the one at `port`. */
async function failures(port: number): Promise<unknown[]> {
  const urls = [`http://127.0.0.1:${port}`, sound.url];
  const store = connectEtcd({ ...world, urls, timeoutMs: 3_000 });
  const codes: unknown[] = [];
  for (let at = 0; at < 60; at++) {
    await store.put('/a', String(at)).catch((failure: { code: unknown }) => {
      codes.push(failure.code);
    });
  }
  await store.close();
  return codes;
}

test('no call fails because a member refuses connections', async () => {
  expect(await failures(1)).toEqual([]);
});

test('one call fails because a member does not answer: others are not sent there', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  expect((await failures(port)).length).toBeLessThanOrEqual(1);
  for (const socket of sockets) socket.destroy();
  silent.close();
});

describe('a call that was not sent because its channel was closed', () => {
  const CLOSED = 'Channel closed before call started';
  const header = { cluster_id: '1', revision: '1' } as never;

  /** Resolves with how often it is asked of that many members, and how it ends. */
  async function asked(members: number, ...failures: string[]): Promise<[number, string]> {
    const urls = Array.from({ length: members }, (_, at) => `http://127.0.0.1:${at + 1}`);
    const connection = new EtcdConnection({ ...world, urls });
    let times = 0;
    const call = connection.call('look', async () => {
      const failure = failures[times++];
      if (failure !== undefined) throw new Error(failure);
      return { header };
    });
    const end = await call.then(
      () => 'answered',
      ({ code }) => code,
    );
    connection.close();
    return [times, end];
  }

  test('is made once more of an only member, and no more often', async () => {
    expect(await asked(1, CLOSED)).toEqual([2, 'answered']);
    expect(await asked(1, CLOSED, CLOSED, CLOSED)).toEqual([2, 'STORE_UNAVAILABLE']);
  });

  test('is made of every other member', async () => {
    expect(await asked(3, CLOSED, CLOSED)).toEqual([3, 'answered']);
    expect(await asked(3, CLOSED, CLOSED, CLOSED, CLOSED)).toEqual([3, 'STORE_UNAVAILABLE']);
  });

  test('but one that may have been sent is not made again', async () => {
    expect(await asked(1, '14 UNAVAILABLE: Connection dropped')).toEqual([1, 'STORE_UNAVAILABLE']);
  });

  test('which is what the client says when another call has closed all channels', async () => {
    const connection = new EtcdConnection({ ...world, urls: [sound.url] });
    const { client } = connection;
    const range = () => client.kv.range({ key: Buffer.from('/a') });
    await range();
    // as etcd3 does it when a call finds the member unavailable
    const { hosts } = (client as unknown as { pool: { hosts: { resetAllServices(): void }[] } })
      .pool;
    const said = new Set<string>();
    for (let ticks = 0; ticks < 20; ticks++) {
      await range();
      const call = range().catch(({ message }: Error) => void said.add(message));
      for (let tick = 0; tick < ticks; tick++) await undefined;
      hosts[0]!.resetAllServices();
      await call;
    }
    connection.close();
    expect([...said].join()).toContain(CLOSED);
    expect([...said].filter((problem) => !wasNotSent(problem))).toEqual([]);
  });
});
