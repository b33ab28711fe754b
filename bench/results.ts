/** The figures of a run, and what is computed from them: medians, ratios, floors. */
import type { Memory, Usage } from './accounting.ts';
import type { Figures, Load } from './redis-benchmark.ts';
import type { Door, SystemName } from './system.ts';

/** One measurement of one load at one door. */
export interface Row extends Load, Figures {
  readonly round: number;
  readonly system: SystemName;
  readonly door: Door;
  readonly usage: Usage;
  /** Share of the GETs that found their key, where it is known. */
  readonly hitShare?: number;
}

export interface ProcessMemory extends Memory {
  readonly round: number;
  readonly system: SystemName;
  readonly name: string;
}

/** A load at a door over all rounds. */
export interface Line extends Load, Figures {
  readonly door: Door;
  readonly rounds: readonly number[];
  readonly hitShare?: number;
  readonly serverSeconds: number;
  readonly loadSeconds: number;
  readonly seconds: number;
  readonly otherCores: number;
}

/** A cluster that nobody uses. */
export interface Idle {
  readonly partitions: number;
  readonly seconds: number;
  /** CPU seconds of each process. */
  readonly servers: Readonly<Record<string, number>>;
  readonly otherCores: number;
}

export interface Floor {
  readonly text: string;
  readonly floor: number;
  /** Undefined when it was not measured. */
  readonly measured: number | undefined;
  readonly unit: string;
  readonly holds: boolean | undefined;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

/** Rows of the same load and door become one line, in the order they were first measured. */
export function linesOf(rows: readonly Row[]): Line[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = [row.door, row.test, row.pipeline, row.clients, row.valueBytes].join();
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].map((same) => {
    const [first] = same as [Row, ...Row[]];
    const of = (figure: (row: Row) => number) => median(same.map(figure));
    const { door, test, pipeline, clients, valueBytes, hitShare } = first;
    return {
      ...{ door, test, pipeline, clients, valueBytes },
      ...(hitShare !== undefined && { hitShare }),
      rounds: same.map((row) => row.perSecond),
      perSecond: of((row) => row.perSecond),
      p50Ms: of((row) => row.p50Ms),
      p99Ms: of((row) => row.p99Ms),
      serverSeconds: of((row) => sum(Object.values(row.usage.servers))),
      loadSeconds: of((row) => row.usage.load),
      seconds: of((row) => row.usage.seconds),
      otherCores: of((row) => row.usage.otherCores),
    };
  });
}

/** The line of a load at a door; the etcd doors have their own clients and sizes. */
export function find(lines: readonly Line[], door: Door, load: Partial<Load>): Line | undefined {
  return lines.find(
    (line) =>
      line.door === door &&
      Object.entries(load).every(([name, value]) => line[name as keyof Load] === value),
  );
}

export const SET_FLOOR = 4;
export const GET_FLOOR = 0.4;
export const RSS_FLOOR_MB = 300;
export const IDLE_FLOOR_PERCENT = 5;

const standard = { pipeline: 1, clients: 50, valueBytes: 100 } as const;

/** The floors, judged on the cluster ports and against etcd's own measurement where it ran. */
export function floorsOf(
  rows: readonly Row[],
  memory: readonly ProcessMemory[],
  idle?: Idle,
): Floor[] {
  const lines = linesOf(rows);
  const set = find(lines, 'kvorum cluster', { test: 'SET', ...standard });
  const get = find(lines, 'kvorum cluster', { test: 'GET', ...standard });
  const etcd =
    find(lines, 'etcd check perf', {}) ?? find(lines, 'etcd', { test: 'SET', ...standard });
  const redis = find(lines, 'redis', { test: 'GET', ...standard });
  const peaks = memory
    .filter(({ name }) => name.startsWith('datanode'))
    .map(({ peakBytes }) => peakBytes / 1e6);
  const atLeast = (text: string, floor: number, ours?: Line, theirs?: Line): Floor => {
    const measured = ours && theirs ? ours.perSecond / theirs.perSecond : undefined;
    const holds = measured === undefined ? undefined : measured >= floor;
    return { text, floor, measured, unit: '×', holds };
  };
  const peak = peaks.length === 0 ? undefined : Math.max(...peaks);
  return [
    atLeast(
      `SET, pipeline 1: kvorum cluster ≥ ${SET_FLOOR} × ${etcd?.door ?? 'etcd'}`,
      SET_FLOOR,
      set,
      etcd,
    ),
    atLeast(`GET, pipeline 1: kvorum cluster ≥ ${GET_FLOOR} × redis`, GET_FLOOR, get, redis),
    {
      text: `RssAnon of a datanode, at its peak < ${RSS_FLOOR_MB} MB`,
      floor: RSS_FLOOR_MB,
      measured: peak,
      unit: 'MB',
      holds: peak === undefined ? undefined : peak < RSS_FLOOR_MB,
    },
    idleFloor(idle),
  ];
}

function idleFloor(idle: Idle | undefined): Floor {
  const percent = idle && (sum(Object.values(idle.servers)) / idle.seconds) * 100;
  return {
    text: `all processes, ${idle?.partitions ?? 100} idle partitions < ${IDLE_FLOOR_PERCENT} % of a core`,
    floor: IDLE_FLOOR_PERCENT,
    measured: percent,
    unit: '%',
    holds: percent === undefined ? undefined : percent < IDLE_FLOOR_PERCENT,
  };
}
