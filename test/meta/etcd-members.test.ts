import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { type EmbeddedStore, startEmbeddedStore } from '../../src/meta/embedded/server.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
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
  const store = connectEtcd({ ...world, urls, timeoutMs: 300 });
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
