/** Answers about the cluster, read from the metadata store. */
import type { Revision } from '../common/ids.ts';
import { decodeRecord, type RecordKind, recordKinds } from '../meta/records.ts';
import { keys } from '../meta/schema.ts';
import type { MetaStore } from '../meta/store.ts';

/** What monitoring reads of the cluster. */
export interface ClusterMeasures {
  readonly revision: Revision;
  /** 0 when no placedriver is master. */
  readonly electionRevision: Revision;
  readonly placedrivers: number;
  readonly datanodes: number;
  readonly partitions: number;
  /** Partitions whose leader is on a datanode that is alive. */
  readonly led: number;
}

export class ClusterQueries {
  readonly version: string;
  readonly #store: MetaStore;
  readonly name: string;
  readonly #isMaster: () => boolean;

  constructor(store: MetaStore, name: string, version: string, isMaster: () => boolean) {
    this.#store = store;
    this.name = name;
    this.version = version;
    this.#isMaster = isMaster;
  }

  get isMaster(): boolean {
    return this.#isMaster();
  }

  async placedrivers() {
    const { items } = await this.#store.range(keys.election);
    const [master] = [...items].sort((a, b) => a.createRevision - b.createRevision);
    return { pdnodes: items.map((item) => item.value), pdleader: master?.value ?? null };
  }

  async datanodes() {
    const nodes = await this.#all(recordKinds.node, keys.nodes);
    return nodes.map((record) => ({
      node_id: record.node,
      incarnation: record.incarnation,
      broadcast_address: record.host,
      redis_port: record.gatewayPort,
      cluster_port: record.clusterPort,
      http_port: record.httpPort,
      dc_info: record.tags['dc_info'] ?? '',
      tags: record.tags,
    }));
  }

  async namespaces(): Promise<string[]> {
    const records = await this.#all(recordKinds.namespace, keys.namespaces);
    return records.filter((record) => record.ready).map((record) => record.name);
  }

  /** Partition → leader and replicas; undefined for an unknown namespace. */
  async namespace(name: string) {
    const item = await this.#store.get(keys.namespace(name));
    if (item === undefined) return undefined;
    const record = decodeRecord(recordKinds.namespace, item.key, item.value);
    if (!record.ready) return undefined;
    const table = await this.#all(recordKinds.partition, `${keys.partitions}${name}/`);
    const leaders = await this.#all(recordKinds.leader, `${keys.leaders}${name}/`);
    const partitions: Record<string, unknown> = {};
    for (const partition of table) {
      const leader = leaders.find((known) => known.partition === partition.partition);
      partitions[String(partition.partition)] = {
        leader: leader?.node ?? '',
        replicas: partition.replicas.map((replica) => replica.node),
        slots: [partition.firstSlot, partition.lastSlot],
      };
    }
    return {
      epoch: Math.max(item.modRevision, 0),
      partition_num: record.partitions,
      replicator: record.replicas,
      hash: record.hash,
      partitions,
    };
  }

  /** Rejects with STORE_UNAVAILABLE while the metadata store does not answer. */
  async ping(): Promise<void> {
    await this.#store.get(keys.cluster);
  }

  /** Rejects with STORE_UNAVAILABLE while the metadata store does not answer. */
  async measures(): Promise<ClusterMeasures> {
    const { items, revision } = await this.#store.range(keys.election);
    const { datanodes, partitions, led } = await this.stats();
    const revisions = items.map((item) => item.createRevision);
    const electionRevision = revisions.length > 0 ? Math.min(...revisions) : 0;
    return { revision, electionRevision, placedrivers: items.length, datanodes, partitions, led };
  }

  /** `stable`: every partition has a leader on a node that is alive. */
  async stats() {
    const nodes = new Set(
      (await this.#all(recordKinds.node, keys.nodes)).map((record) => record.node),
    );
    const partitions = await this.#all(recordKinds.partition, keys.partitions);
    const leaders = await this.#all(recordKinds.leader, keys.leaders);
    const led = leaders.filter((leader) => nodes.has(leader.node)).length;
    return {
      stable: partitions.length > 0 && led === partitions.length,
      placedriver: this.name,
      master: this.#isMaster(),
      datanodes: nodes.size,
      partitions: partitions.length,
      led,
    };
  }

  async #all<T>(kind: RecordKind<T>, prefix: string): Promise<T[]> {
    const { items } = await this.#store.range(prefix);
    return items.map((item) => decodeRecord(kind, item.key, item.value));
  }
}
