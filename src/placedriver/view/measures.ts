/** What monitoring reads of the cluster. */
import type { Revision } from '../../common/ids.ts';
import { keys } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';
import type { ClusterView } from './cluster-view.ts';

/** All but the revision is absent until the view has heard all that the store holds. */
export interface ClusterMeasures extends Partial<ViewMeasures> {
  readonly revision: Revision;
}

interface ViewMeasures {
  /** 0 when no placedriver is master. */
  readonly electionRevision: Revision;
  /** Registered under a lease, banned ones too. */
  readonly placedrivers: number;
  readonly datanodes: number;
  readonly partitions: number;
  /** Partitions whose leader is on a datanode that is alive. */
  readonly led: number;
}

/** Rejects with STORE_UNAVAILABLE while the metadata store does not answer. */
export async function measure(store: MetaStore, view: ClusterView): Promise<ClusterMeasures> {
  const { revision } = await store.range(keys.election);
  return { revision, ...(view.ready && viewMeasures(view)) };
}

function viewMeasures({ picture, master }: ClusterView): ViewMeasures {
  const partitions = picture.shownPartitions();
  const led = partitions.filter((record) => picture.leading(record) !== undefined);
  return {
    electionRevision: master?.revision ?? 0,
    placedrivers: picture.placedrivers().length,
    datanodes: picture.aliveNodes().length,
    partitions: partitions.length,
    led: led.length,
  };
}
