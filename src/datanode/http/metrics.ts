/** A datanode's /metrics: one look at the node for each page, given names by the tables. */
import { MetricsPage } from '../../common/http/metrics-page.ts';
import type { Namespace } from '../../common/ids.ts';
import type { LatencyHistogram } from '../../common/latency-histogram.ts';
import type { DaysLeft } from '../../common/tls/keeper.ts';
import type { ClientTlsFigures } from '../client-network.ts';
import type { ClusterFigures } from '../commands/cluster/cluster-figures.ts';
import type { ServerInfo } from '../commands/rows/node-context.ts';
import { kvorumFamilies } from './kvorum-families.ts';
import { redisFamilies } from './redis-families.ts';

export interface NodeMetrics {
  readonly nowMs: number;
  readonly info: ServerInfo;
  /** Of the partitions this node leads. */
  readonly keyCounts: ReadonlyMap<Namespace, { readonly keys: number; readonly expires: number }>;
  /** Of the default namespace; undefined when it has no slots. */
  readonly cluster: ClusterFigures | undefined;
  readonly ready: boolean;
  /** Replicas that stopped after a fault. */
  readonly faults: number;
  readonly loopDelay: LatencyHistogram;
  /** Connections to the transport that TLS did not let in. */
  readonly peersRefused: number;
  /** Undefined where clients speak no TLS. */
  readonly clientTls?: ClientTlsFigures | undefined;
  /** Of the files of all doors; undefined where none speaks TLS. */
  readonly tlsDaysLeft?: readonly DaysLeft[] | undefined;
}

/** `source` is undefined before the node has its place in the cluster. */
export function createMetricsPage(
  source: () => NodeMetrics | undefined,
  options: { readonly process: boolean },
): MetricsPage<NodeMetrics> {
  return new MetricsPage({
    families: [...redisFamilies, ...kvorumFamilies],
    process: options.process,
    source,
  });
}
