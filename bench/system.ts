/** What the benchmark measures: a store under test, from its start to its end. */
import type { NamedProcess } from './accounting.ts';

export type SystemName = 'redis' | 'kvorum' | 'etcd';

/** A way into a system, one column of the results. */
export type Door =
  | 'redis'
  | 'kvorum cluster'
  | 'kvorum cluster, leases'
  | 'kvorum gateway'
  | 'etcd'
  | 'etcd check perf';

export interface Running {
  readonly version: string;
  /** When a write is on disk, as this run has configured it. */
  readonly fsync: string;
  readonly processes: readonly NamedProcess[];
  /** Throws when one of its processes has died. */
  check(): void;
  stop(): Promise<void>;
}
