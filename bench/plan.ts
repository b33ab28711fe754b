/** What is measured: the loads of every system. Data, so that a row is added by a line. */
import type { Load } from './redis-benchmark.ts';

const standard = { clients: 50, valueBytes: 100 } as const;

/** GETs first: every system then holds the same keys, those of the filling. */
const always: readonly Load[] = [
  { test: 'GET', pipeline: 1, ...standard },
  { test: 'GET', pipeline: 16, ...standard },
  { test: 'SET', pipeline: 1, ...standard },
  { test: 'SET', pipeline: 16, ...standard },
];

const onlyFull: readonly Load[] = [
  { test: 'GET', pipeline: 1, clients: 1, valueBytes: 100 },
  { test: 'SET', pipeline: 1, clients: 1, valueBytes: 100 },
  { test: 'GET', pipeline: 1, clients: 500, valueBytes: 100 },
  { test: 'SET', pipeline: 1, clients: 500, valueBytes: 100 },
  { test: 'SET', pipeline: 1, clients: 50, valueBytes: 1_000 },
];

export function redisLoads(full: boolean): readonly Load[] {
  return full ? [...always, ...onlyFull] : always;
}

/** Nothing is pipelined over gRPC: a client has one request under way. */
export function etcdLoads(full: boolean): readonly Load[] {
  return redisLoads(full).filter(({ pipeline }) => pipeline === 1);
}
