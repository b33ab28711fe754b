import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { createIdentity, loadIdentity } from '../../../src/datanode/coordinator/identity.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { SimDisk } from '../../sim/disk.ts';

let disk: SimDisk;
let store: MetaStore;
const random = seededRandom('identity');

beforeEach(async () => {
  disk = new SimDisk({ random, clock: systemClock });
  store = new MemoryMeta({ clock: systemClock }).connect();
  await store.put(
    keys.cluster,
    encodeRecord({ version: 1, clusterId: 'c1', createdMs: 0 } as never),
  );
});

const create = (dir: string) => createIdentity(store, disk, dir, 'n1', random);

test('an empty directory becomes a new incarnation, registered and kept', async () => {
  expect(await loadIdentity(disk, '/a', 'n1')).toBeUndefined();
  const identity = await create('/a');
  expect(identity).toMatchObject({ clusterId: 'c1', node: 'n1' });
  expect(await loadIdentity(disk, '/a', 'n1')).toEqual(identity);
  expect((await store.get(keys.incarnation('n1')))?.value).toContain(identity.incarnation);
});

test('a wiped directory is another incarnation, refused while the first one lives', async () => {
  const first = await create('/a');
  const lease = await store.grantLease(10_000);
  const ports = { transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4 };
  const rest = { bootId: 'b', tags: {}, ...ports };
  const record = { version: 1, ...rest, node: 'n1', incarnation: first.incarnation, host: 'h' };
  await store.put(keys.node('n1'), encodeRecord(record), lease);
  await expect(create('/b')).rejects.toMatchObject({ code: 'CONFLICT' });
  await lease.revoke();
  const second = await create('/b');
  expect(second.incarnation).not.toBe(first.incarnation);
});

test('without a cluster there is nothing to join', async () => {
  await store.delete(keys.cluster);
  await expect(create('/a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});

test('a directory of another node is refused with a remedy', async () => {
  await create('/a');
  await expect(loadIdentity(disk, '/a', 'n2')).rejects.toThrow(/belongs to node n1, not n2; give/);
});
