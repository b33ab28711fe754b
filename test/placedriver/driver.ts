/** A master over a metadata store in memory, and datanodes that are only records. */
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../../src/meta/records.ts';
import { encodeRecord, keys, type NodeRecord } from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import type { Operator } from '../../src/placedriver/operator/operator.ts';
import { eventually } from '../cluster/cluster.ts';

export class TestDriver {
  readonly meta = new MemoryMeta({ clock: systemClock });
  readonly store: MetaStore = this.meta.connect();
  readonly #running: PlacedriverCoordinator[] = [];

  /** Resolves when it is master; `nodes`: how many `default` waits for. */
  async start(name: string, nodes = 1_000): Promise<PlacedriverCoordinator> {
    const coordinator = new PlacedriverCoordinator({
      store: this.meta.connect(),
      clock: systemClock,
      random: seededRandom(name),
      logger: silentLogger,
      name,
      leaseTtlMs: 2_000,
      default: { nodes, partitions: 2, replicas: 1 },
    });
    coordinator.start();
    this.#running.push(coordinator);
    await eventually(30_000, 'a master', () => coordinator.operator !== undefined);
    return coordinator;
  }

  get operator(): Operator {
    const operator = this.#running.map((one) => one.operator).find((one) => one !== undefined);
    if (operator === undefined) throw new Error('nobody is master');
    return operator;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((coordinator) => coordinator.stop()));
  }

  /** Returns the datanode's record, which the store holds now. */
  async register(node: string, more: Partial<NodeRecord> = {}): Promise<NodeRecord> {
    const record: NodeRecord = {
      version: 1,
      ...{ node, incarnation: `${node}-1`, bootId: 'b', host: node, tags: {} },
      ...{ transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4 },
      ...more,
    };
    await this.store.put(keys.node(node), encodeRecord(record));
    return record;
  }

  async all<T>(kind: RecordKind<T>, prefix: string): Promise<T[]> {
    const { items } = await this.store.range(prefix);
    return items.map(({ key, value }) => decodeRecord(kind, key, value));
  }

  async namespace(name: string) {
    return (await this.all(recordKinds.namespace, keys.namespaces)).find(
      (record) => record.name === name,
    );
  }

  partitions(name: string) {
    return this.all(recordKinds.partition, keys.partitionsOf(name));
  }

  deletions() {
    return this.all(recordKinds.deleted, keys.deleted);
  }
}
