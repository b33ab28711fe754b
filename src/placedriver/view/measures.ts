/** What monitoring reads of the cluster. */
import type { Revision } from '../../common/ids.ts';
import { keys } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';
import type { ClusterView } from './cluster-view.ts';

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

/** Rejects with STORE_UNAVAILABLE while the metadata store does not answer. */
export async function measure(store: MetaStore, view: ClusterView): Promise<ClusterMeasures> {
  const { revision } = await store.range(keys.election);
  const { picture, master, candidates } = view;
  const partitions = picture.shownPartitions();
  const led = partitions.filter((record) => picture.leading(record) !== undefined);
  return {
    revision,
    electionRevision: master?.revision ?? 0,
    placedrivers: candidates,
    datanodes: picture.aliveNodes().length,
    partitions: partitions.length,
    led: led.length,
  };
}
