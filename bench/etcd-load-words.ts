/** What the program etcd-load is told and tells. */

/** It is warm and begins to measure. */
export const BEGIN = 'begin';

export interface EtcdLoad {
  readonly endpoint: string;
  readonly test: 'SET' | 'GET';
  readonly clients: number;
  readonly valueBytes: number;
  /** Keys are drawn from this many. */
  readonly keySpace: number;
  /** Put every key of the key space first. */
  readonly fill: boolean;
  readonly warmSeconds: number;
  readonly seconds: number;
}

export interface EtcdLoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** GETs that found their key, of those measured. */
  readonly hits: number;
  readonly requests: number;
  /** CPU seconds of this process while it measured. */
  readonly cpuSeconds: number;
}
