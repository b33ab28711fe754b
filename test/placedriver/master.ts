/** A master without its coordinator: its term, and a picture that follows the store. */
import { type Clock, systemClock } from '../../src/common/clock.ts';
import type { NodeId } from '../../src/common/ids.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import type { MemoryMeta } from '../../src/meta/memory.ts';
import { encodeRecord, keys, type NodeRecord } from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { Picture } from '../../src/placedriver/picture.ts';
import {
  defaultPlacementSettings,
  type MasterTerm,
  type PlacementSettings,
} from '../../src/placedriver/term.ts';

/** Timers of the system; a wall clock that only the test moves. */
export interface TestClock extends Clock {
  nowMs: number;
}

export function testClock(nowMs = 1_700_000_000_000): TestClock {
  const clock: TestClock = { ...systemClock, nowMs, wallMs: () => clock.nowMs };
  return clock;
}

export interface TestMaster {
  readonly term: MasterTerm;
  /** Reads what the store holds now. */
  look(): Promise<void>;
}

/** Wins the election at once: whoever was master is deposed, and does not know it yet. */
export async function becomeMaster(
  meta: MemoryMeta,
  clock: Clock,
  settings: Partial<PlacementSettings> = {},
): Promise<TestMaster> {
  const store = meta.connect();
  const picture = new Picture();
  const { items } = await store.range(keys.election);
  for (const { key } of items) await store.delete(key);
  const lease = await store.grantLease(600_000);
  const leadership = await store.campaign(keys.election, 'pd', lease);
  const term: MasterTerm = {
    ...{ store, clock, random: seededRandom('master'), logger: silentLogger },
    settings: { ...defaultPlacementSettings, ...settings },
    leadership,
    fence: { key: leadership.key, createRevision: leadership.revision },
    picture,
  };
  const look = async () => {
    const { items, revision } = await store.range(keys.root);
    picture.list(items, revision);
  };
  await look();
  return { term, look };
}

export async function register(store: MetaStore, ...names: readonly NodeId[]): Promise<void> {
  for (const node of names) {
    const record: NodeRecord = {
      ...{ version: 1, node, incarnation: `${node}-1`, bootId: 'b', host: node },
      ...{ transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4, tags: {} },
    };
    await store.put(keys.node(node), encodeRecord(record));
  }
}

export async function unregister(store: MetaStore, ...names: readonly NodeId[]): Promise<void> {
  for (const node of names) await store.delete(keys.node(node));
}

/** `store`, some of whose calls `hooks` makes in its place. */
export function hooked(store: MetaStore, hooks: Partial<MetaStore>): MetaStore {
  return new Proxy(store, {
    get: (target, name: keyof MetaStore) => {
      const own = hooks[name] ?? target[name];
      return typeof own === 'function' && !(name in hooks) ? own.bind(target) : own;
    },
  });
}
