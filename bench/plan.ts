/** What is measured: the loads of every system. Data, so that a row is added by a line. */
import { IDLE_PARTITIONS, idleSeconds } from './idle.ts';
import type { Options } from './options.ts';
import type { Load } from './redis-benchmark.ts';
import { scenarios } from './scenarios.ts';
import type { SystemName } from './system.ts';
import { timedSeconds } from './timed.ts';

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
  { test: 'GET', pipeline: 1, clients: 256, valueBytes: 100 },
  { test: 'SET', pipeline: 1, clients: 256, valueBytes: 100 },
  { test: 'SET', pipeline: 1, clients: 50, valueBytes: 4_096 },
];

/** LPUSH before LPOP, which takes away what that has written. */
const collections: readonly Load[] = (
  [
    ...['INCR', 'LPUSH', 'LPOP', 'SADD', 'HSET', 'ZADD'],
    ...['LRANGE_100', 'HGETALL_100', 'ZRANGE_100', 'MSET (10)'],
  ] as const
).map((test) => ({ test, pipeline: 1, ...standard }));

export function redisLoads(full: boolean): readonly Load[] {
  return full ? [...always, ...onlyFull, ...collections] : always;
}

/** What a namespace with `reads: lease` is measured by; before all others, on the same keys. */
export function leaseLoads(full: boolean): readonly Load[] {
  return full ? always.filter(({ test }) => test === 'GET') : [];
}

/** What etcd has as well. */
const isOfEtcd = ({ test, pipeline }: Load): boolean =>
  pipeline === 1 && (test === 'GET' || test === 'SET');

/** Nothing is pipelined over gRPC: a client has one request under way. */
export function etcdLoads(full: boolean): readonly Load[] {
  return redisLoads(full).filter(isOfEtcd);
}

/** Every other round goes backwards, so that what drifts with time drifts for all alike. */
export function orderOf(round: number, systems: readonly SystemName[]): readonly SystemName[] {
  return round % 2 === 1 ? systems : [...systems].reverse();
}

const FILL_SECONDS_MAX = 45;

/** SETs to go on with after the `first`, which went at `perSecond`, without taking too long. */
export function restOfFilling(fill: number, first: number, perSecond: number): number {
  const inTime = FILL_SECONDS_MAX * perSecond;
  return Math.round(Math.max(1, Math.min(fill, inTime) - first));
}

const WARM_SECONDS = 4.5;
const START_SECONDS = 8;
const FILLS_PER_SECOND = 35_000;
const CHECK_PERF_SECONDS = 65;
/** About how long all rounds of a system take, and what is measured of it besides. */
export function systemSeconds(options: Options, system: SystemName): number {
  return options.rounds * roundSeconds(options, system);
}

/** About how long one round of a system takes. */
export function roundSeconds(options: Options, system: SystemName): number {
  const { full, seconds, fill, checkPerf } = options;
  const each = seconds + WARM_SECONDS;
  const timed = full ? timedSeconds(seconds) : 0;
  const door = fill / FILLS_PER_SECOND + redisLoads(full).length * each + timed;
  const leases = leaseLoads(full).length * each;
  const etcd = etcdLoads(full).length * each + (checkPerf ? CHECK_PERF_SECONDS : 0);
  return START_SECONDS + { redis: door, kvorum: 2 * door + leases, etcd }[system];
}

/** About how long a run takes; a line for each part, in seconds. */
export function estimate(options: Options): readonly (readonly [string, number])[] {
  const { systems, scenarios: chosen } = options;
  return [
    ...systems.map((system) => [system, systemSeconds(options, system)] as const),
    ...(systems.includes('kvorum')
      ? [['idle partitions', idleSeconds(IDLE_PARTITIONS)] as const]
      : []),
    ...chosen.map((name) => [name, scenarios[name].seconds(options)] as const),
  ];
}

export function estimateSeconds(options: Options): number {
  return estimate(options).reduce((sum, [, seconds]) => sum + seconds, 0);
}

/** Whether what takes about `seconds` ends within the minutes that the run may take. */
export function isInTime({ minutes }: Options, elapsedSeconds: number, seconds: number): boolean {
  return elapsedSeconds + seconds <= minutes * 60;
}
