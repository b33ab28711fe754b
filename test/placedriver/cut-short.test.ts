/** A master dies right after each of the writes that an operation takes; the next one goes on. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../../src/meta/records.ts';
import { keys } from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import type { Operator } from '../../src/placedriver/operator/operator.ts';
import { eventually } from '../cluster/cluster.ts';
import { Groups } from './groups.ts';
import { register, unregister } from './master.ts';

const NODES = ['n1', 'n2', 'n3', 'n4', 'n5'];
/** Tells what hangs from what is slow. */
const WITHIN_MS = 60_000;
/** More than one transaction holds. */
const MANY = 150;

let meta: MemoryMeta;
let store: MetaStore;
let groups: Groups;
let running: PlacedriverCoordinator[];

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  groups = new Groups(store);
  groups.start();
  running = [];
  await register(store, ...NODES);
});

afterEach(async () => {
  await Promise.all(running.map((coordinator) => coordinator.stop()));
  await groups.stop();
});

async function master(name: string, client: MetaStore): Promise<Operator> {
  const coordinator = new PlacedriverCoordinator({
    ...{ store: client, clock: systemClock, random: seededRandom(name), logger: silentLogger },
    ...{ name, leaseTtlMs: 5_000, default: { nodes: 5, partitions: 4, replicas: 3 } },
    placement: { planDelayMs: 5, leaderWaitMs: 0 },
  });
  coordinator.start();
  running.push(coordinator);
  await eventually(WITHIN_MS, 'a master', () => coordinator.operator !== undefined);
  return coordinator.operator!;
}

/** Writes of the master until it dies, once they are counted; the last one takes effect. */
class MortalStore {
  readonly client = meta.connect();
  readonly store: MetaStore;
  /** Transactions that wrote something since `mortal`. */
  writes = 0;
  #diesAfter = Number.POSITIVE_INFINITY;

  constructor() {
    const { client } = this;
    const transaction: MetaStore['transaction'] = async (compares, operations) => {
      const result = await client.transaction(compares, operations);
      if (operations.length > 0 && ++this.writes >= this.#diesAfter) client.crash();
      return result;
    };
    this.store = new Proxy(client, {
      get: (target, name) => {
        if (name === 'transaction') return transaction;
        const own = target[name as keyof MetaStore];
        return typeof own === 'function' ? own.bind(target) : own;
      },
    });
  }

  diesAfter(writes: number): void {
    this.writes = 0;
    this.#diesAfter = writes;
  }
}

async function all<T>(kind: RecordKind<T>, prefix: string): Promise<T[]> {
  const { items } = await store.range(prefix);
  return items.map(({ key, value }) => decodeRecord(kind, key, value));
}

/** Every namespace is there with all it has, or gone with it; nothing has two ids or two places. */
async function expectWhole(): Promise<void> {
  const namespaces = await all(recordKinds.namespace, keys.namespaces);
  const partitions = await all(recordKinds.partition, keys.partitions);
  for (const { name, ready, partitions: count } of namespaces) {
    expect(ready, name).toBe(true);
    expect(partitions.filter(({ namespace }) => namespace === name)).toHaveLength(count);
  }
  const names = new Set(namespaces.map(({ name }) => name));
  for (const { namespace } of partitions) expect(names).toContain(namespace);
  // groups here tell their leaders before a namespace is ready: those told late are swept
  await eventually(WITHIN_MS, 'no leader of a namespace that is gone', async () => {
    const leaders = await all(recordKinds.leader, keys.leaders);
    return leaders.every(({ namespace }) => names.has(namespace));
  });
  const unique = (ids: readonly number[]) => expect(new Set(ids).size).toBe(ids.length);
  unique(partitions.map(({ group }) => group));
  unique(partitions.flatMap(({ replicas }) => replicas.map(({ replica }) => replica)));
  for (const { replicas } of partitions) {
    expect(new Set(replicas.map(({ node }) => node)).size).toBe(3);
  }
}

async function isQuiet(): Promise<boolean> {
  const leaders = await groups.leaders();
  const records = await groups.records();
  const served = records.filter(
    ({ group, epoch }) => leaders.get(group)?.membership.epoch === epoch,
  );
  const namespaces = await all(recordKinds.namespace, keys.namespaces);
  return served.length === records.length && namespaces.every(({ ready }) => ready);
}

const many = { name: 'many', partitions: MANY, replicas: 3, hash: 'slots' } as const;
const first = { namespace: 'default', partition: 0 };

interface Operation {
  readonly name: string;
  /** With a master that does not die. */
  before?(operator: Operator): Promise<void>;
  run(operator: Operator): Promise<void>;
  /** What the next master must come to, whether or not the operator was answered. */
  done?(): Promise<boolean>;
}

const operations: readonly Operation[] = [
  { name: 'a namespace is made', run: (operator) => operator.createNamespace(many) },
  {
    name: 'a namespace is deleted',
    before: (operator) => operator.createNamespace(many),
    run: (operator) => operator.deleteNamespace('many'),
    async done() {
      const left = await all(recordKinds.partition, keys.partitionsOf('many'));
      const told = await all(recordKinds.deleted, keys.deleted);
      const groupsTold = told.reduce((sum, one) => sum + one.groups, 0);
      return left.length === 0 && groupsTold === MANY;
    },
  },
  {
    name: 'a node is drained',
    run: (operator) => operator.drain('n2'),
    async done() {
      const replicas = (await groups.records()).flatMap((record) => record.replicas);
      return replicas.every(({ node }) => node !== 'n2');
    },
  },
  {
    name: 'a replica is moved',
    async run(operator) {
      const { replicas } = (await groups.records())[0]!;
      const to = NODES.find((name) => replicas.every(({ node }) => node !== name))!;
      await operator.move(first, replicas[2]!.node, to);
    },
  },
  {
    name: 'the stable node count is lowered',
    before: () => unregister(store, 'n5').then(() => new Promise((r) => setTimeout(r, 100))),
    run: (operator) => operator.lowerStableNodes(4),
  },
  { name: 'upgrade mode begins', run: (operator) => operator.setUpgrade(true) },
];

test.each(operations)(
  '$name',
  async ({ before, run, done }) => {
    for (let writes = 1; ; writes++) {
      meta = new MemoryMeta({ clock: systemClock });
      store = meta.connect();
      await groups.stop();
      groups = new Groups(store);
      groups.start();
      await register(store, ...NODES);
      const mortal = new MortalStore();
      const operator = await master(`pd${writes}`, mortal.store);
      await eventually(WITHIN_MS, 'default is served', async () => {
        return (await groups.records()).length === 4 && (await isQuiet());
      });
      await before?.(operator);
      await eventually(WITHIN_MS, 'it is quiet', isQuiet);
      mortal.diesAfter(writes);
      const answered = await run(operator).then(
        () => true,
        () => false,
      );
      await eventually(WITHIN_MS, 'it is done, or the master dead', async () => {
        return mortal.writes >= writes || done === undefined || (await done());
      });
      const died = mortal.writes >= writes;
      mortal.client.crash();
      for (const { key } of (await store.range(keys.election)).items) await store.delete(key);
      await master(`next${writes}`, meta.connect());
      await eventually(WITHIN_MS, `it is quiet again, after ${writes} writes`, isQuiet);
      if (done !== undefined)
        await eventually(WITHIN_MS, `it is done, after ${writes} writes`, done);
      await eventually(WITHIN_MS, 'settled', isQuiet);
      await expectWhole();
      await Promise.all(running.splice(0).map((coordinator) => coordinator.stop()));
      if (answered && !died) break;
      expect(writes).toBeLessThan(30);
    }
  },
  400_000,
);
