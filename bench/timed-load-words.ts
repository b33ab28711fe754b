/** What the program timed-load is told and tells. */

/** It is warm and begins to measure. */
export const BEGIN = 'begin';

export interface TimedLoad {
  readonly port: number;
  /** Each client talks to one node of the cluster, in turn, with keys of that node. */
  readonly cluster: boolean;
  /** Only keys of these hash tags, of a cluster; without them each node has one. */
  readonly tags?: readonly string[] | undefined;
  /** Share of GETs; the rest are SETs. */
  readonly getShare: number;
  /** Keys are drawn evenly, or as a few are asked for most of the time (Zipf, exponent 0.99). */
  readonly draw: 'even' | 'zipf';
  /** Requests a second, sent when they are due whether or not earlier ones are answered; 0: a client
   * sends its next request when its last one is answered. */
  readonly perSecond: number;
  readonly clients: number;
  readonly valueBytes: number;
  /** Of each tag. */
  readonly keySpace: number;
  readonly warmSeconds: number;
  readonly seconds: number;
}

export interface TimedLoadResult {
  /** Answered. */
  readonly perSecond: number;
  /** From when a request was due to its answer. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** GETs that found their key; undefined where none was asked. */
  readonly foundShare?: number | undefined;
  /** CPU seconds of this process while it measured. */
  readonly cpuSeconds: number;
}
