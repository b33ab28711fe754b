/** `kvorum/testing`: a real cluster for the tests of other programs. */
import {
  startTemporaryCluster,
  type TemporaryCluster,
  type TemporaryClusterOptions,
} from '../cli/temporary-cluster.ts';

/** How the cluster is made. */
export type ClusterOptions = TemporaryClusterOptions;
/** A cluster that runs; it ends with `stop()`, with `await using`, or with this process. */
export type Cluster = TemporaryCluster;

/**
 * Starts a placedriver and datanodes as processes on free ports, with their data in a temporary
 * directory: `await using cluster = await startCluster({ nodes: 3 })`. Takes some seconds. Rejects
 * with the reason when a process does not start.
 */
export function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  return startTemporaryCluster(options);
}
