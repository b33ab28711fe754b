/** A placedriver's /metrics: what the metadata store holds, who is master, and the process. */
import { type Family, MetricsPage } from '../../common/http/metrics-page.ts';
import type { LatencyHistogram } from '../../common/latency-histogram.ts';
import type { DaysLeft } from '../../common/tls/keeper.ts';
import type { ClusterMeasures } from '../view/measures.ts';

export interface PlacedriverMetrics {
  readonly isMaster: boolean;
  readonly name: string;
  readonly version: string;
  readonly loopDelay: LatencyHistogram;
  readonly tlsDaysLeft?: readonly DaysLeft[] | undefined;
  /** Undefined while the metadata store does not answer. */
  readonly cluster: ClusterMeasures | undefined;
}

function gauge(
  name: string,
  help: string,
  read: (source: PlacedriverMetrics) => number | undefined,
): Family<PlacedriverMetrics> {
  return { type: 'gauge', name: `kvorum_pd_${name}`, help, read };
}

const families: readonly Family<PlacedriverMetrics>[] = [
  {
    type: 'gauge',
    name: 'kvorum_pd_info',
    help: 'The placedriver and its version; always 1',
    labels: ['placedriver', 'version'],
    read: ({ name, version }) => [{ labels: { placedriver: name, version }, value: 1 }],
  },
  gauge('is_master', '1 while this placedriver is master', ({ isMaster }) => (isMaster ? 1 : 0)),
  gauge('store_up', '1 while the metadata store answers', ({ cluster }) => (cluster ? 1 : 0)),
  gauge('metadata_revision', 'Revision of the metadata store', ({ cluster }) => cluster?.revision),
  gauge(
    'election_revision',
    "Revision of the present master's election; 0: there is none",
    ({ cluster }) => cluster?.electionRevision,
  ),
  gauge('placedrivers', 'Placedrivers that are alive', ({ cluster }) => cluster?.placedrivers),
  gauge('datanodes_alive', 'Datanodes under a lease', ({ cluster }) => cluster?.datanodes),
  gauge('partitions', 'Partitions of all namespaces', ({ cluster }) => cluster?.partitions),
  gauge(
    'partitions_led',
    'Those with a leader on a datanode that is alive',
    ({ cluster }) => cluster?.led,
  ),
  {
    type: 'gauge',
    name: 'kvorum_tls_certificate_days_left',
    help: 'Until the first certificate of a file expires',
    labels: ['file'],
    read: ({ tlsDaysLeft }) =>
      tlsDaysLeft?.map(({ file, days }) => ({ labels: { file }, value: days })),
  },
  {
    type: 'histogram',
    name: 'kvorum_event_loop_delay_seconds',
    help: 'How late timers are called',
    read: ({ loopDelay }) => loopDelay,
  },
];

export function createMetricsPage(
  source: () => Promise<PlacedriverMetrics>,
  options: { readonly process: boolean },
): MetricsPage<PlacedriverMetrics> {
  return new MetricsPage({ families, process: options.process, source });
}
