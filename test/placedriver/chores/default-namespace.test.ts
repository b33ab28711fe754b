import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { keys } from '../../../src/meta/schema.ts';
import { createDefaultNamespace } from '../../../src/placedriver/chores/default-namespace.ts';
import { Picture } from '../../../src/placedriver/picture.ts';
import { defaultPlacementSettings, type MasterTerm } from '../../../src/placedriver/term.ts';
import { nodeRecord } from '../http/api.ts';

const meta = new MemoryMeta({ clock: systemClock });
const store = meta.connect();

afterEach(() => store.close());

test('waits for its nodes, and makes nothing twice', async () => {
  const lease = await store.grantLease(60_000);
  const leadership = await store.campaign(keys.election, 'pd1', lease);
  const picture = new Picture();
  const term: MasterTerm = {
    store,
    clock: systemClock,
    random: seededRandom(1),
    logger: silentLogger,
    settings: defaultPlacementSettings,
    leadership,
    fence: { key: leadership.key, createRevision: leadership.revision },
    picture,
  };
  const chore = createDefaultNamespace({ nodes: 2, partitions: 4, replicas: 2 });
  const alive = (...nodes: string[]) =>
    picture.list(
      nodes.map((node) => {
        const value = JSON.stringify(nodeRecord(node));
        return { key: keys.node(node), value, createRevision: 1, modRevision: 1 };
      }),
    );
  alive('n1');
  await chore(term);
  expect(await store.get(keys.namespace('default'))).toBeUndefined();
  alive('n1', 'n2');
  await chore(term);
  expect((await store.range(keys.partitions)).items).toHaveLength(4);
  const made = await store.get(keys.namespace('default'));
  expect(made).toBeDefined();
  await chore(term); // the picture does not show it yet
  expect(await store.get(keys.namespace('default'))).toEqual(made);
  await lease.revoke();
});
