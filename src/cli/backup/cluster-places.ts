/** Where a cluster's partitions are, as its placedriver knows. */
import { KvorumError } from '../../common/errors.ts';
import type { Address } from '../../common/network.ts';
import type { Api } from '../admin/api.ts';
import type { NodeAnswer, PartitionAnswer } from '../admin/shapes.ts';

export type PlacedPartition = PartitionAnswer & {
  readonly group: number;
  readonly slots: readonly [number, number];
};

export class ClusterPlaces {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  async clusterId(): Promise<string> {
    const { clusterId } = await this.#api.get<{ clusterId: string | null }>('/v1/cluster');
    if (clusterId !== null) return clusterId;
    throw new KvorumError('STORE_UNAVAILABLE', 'the placedriver does not know its cluster yet');
  }

  async partitions(namespace: string): Promise<readonly PlacedPartition[]> {
    const path = `/v1/namespaces/${encodeURIComponent(namespace)}/partitions`;
    return (await this.#api.get<{ partitions: PlacedPartition[] }>(path)).partitions;
  }

  /** That of the leader first; any other sends on to it. */
  async gatewaysOf(namespace: string, partition: number): Promise<readonly Address[]> {
    const path = `/v1/namespaces/${encodeURIComponent(namespace)}/partitions/${partition}`;
    const { leader } = await this.#api.get<PartitionAnswer>(path);
    return this.gateways(leader?.node);
  }

  /** Of the nodes that are thought to be alive, that of `first` first. */
  async gateways(first?: string): Promise<readonly Address[]> {
    const { nodes } = await this.#api.get<{ nodes: NodeAnswer[] }>('/v1/nodes');
    const alive = nodes.filter(({ alive, address }) => alive && address !== undefined);
    alive.sort((a, b) => Number(b.name === first) - Number(a.name === first));
    const found = alive.map(({ address }) => ({ host: address!.host, port: address!.gatewayPort }));
    if (found.length > 0) return found;
    throw new KvorumError('STORE_UNAVAILABLE', 'no datanode is alive');
  }
}
