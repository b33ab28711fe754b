/** Where kvorum is going: what must be reached and what is wished for, each beside what was measured. */
import type { Load } from './redis-benchmark.ts';
import { find, type Line } from './results.ts';
import type { Door } from './system.ts';
import type { TestName } from './tests.ts';

interface Side {
  readonly door: Door;
  readonly load: Partial<Load>;
}

/** A ratio between lines of one run. */
interface Target {
  readonly text: string;
  readonly ours: Side;
  readonly theirs: Side;
  readonly reach: number;
  readonly goal: number;
}

export interface Judged {
  readonly text: string;
  readonly unit: '×' | 's' | 'ms' | '%' | 'MB' | 'MB/s';
  readonly better: 'more' | 'less';
  readonly reach: number;
  readonly goal: number;
  /** Undefined when it was not measured. */
  readonly measured: number | undefined;
  /** What a reader has to know of the figure: how many of what, and how large. */
  readonly note?: string;
}

/** The share of a bound that is reached; 1 and above: the bound holds. */
export function shareOf({ better, measured = Number.NaN }: Judged, bound: number): number {
  if (better === 'more') return measured / bound;
  return measured > 0 ? bound / measured : measured <= 0 ? Number.POSITIVE_INFINITY : Number.NaN;
}

const standard = (test: TestName, pipeline = 1): Partial<Load> => ({
  ...{ test, pipeline, clients: 50, valueBytes: 100 },
});

const against = (
  door: Door,
  test: TestName,
  pipeline: number,
  [reach, goal]: readonly [number, number],
  ours: Door = 'kvorum cluster',
): Target => ({
  text: `${test}, pipeline ${pipeline}: ${ours} against ${door}`,
  ours: { door: ours, load: standard(test, pipeline) },
  theirs: { door, load: standard(test, pipeline) },
  ...{ reach, goal },
});

const againstSet = (test: TestName): Target => ({
  text: `${test}, pipeline 1: kvorum cluster against its own SET`,
  ours: { door: 'kvorum cluster', load: standard(test) },
  theirs: { door: 'kvorum cluster', load: standard('SET') },
  ...{ reach: 0.8, goal: 0.95 },
});

const targets: readonly Target[] = [
  against('etcd', 'SET', 1, [5, 10]),
  against('redis', 'SET', 1, [0.25, 0.5]),
  against('redis', 'SET', 16, [0.2, 0.5]),
  against('redis', 'GET', 1, [0.6, 0.9]),
  against('redis', 'GET', 16, [0.2, 0.6]),
  ...(['LPUSH', 'SADD', 'HSET', 'ZADD', 'INCR'] as const).map(againstSet),
  ...(['LRANGE_100', 'HGETALL_100', 'ZRANGE_100'] as const).map((test) =>
    against('redis', test, 1, [0.15, 0.4]),
  ),
  ...(['GET', 'SET'] as const).flatMap((test) => [
    against('kvorum cluster', test, 1, [0.6, 0.75], 'kvorum gateway'),
    against('kvorum cluster', test, 16, [0.75, 0.9], 'kvorum gateway'),
  ]),
];

export function judgeTargets(lines: readonly Line[]): Judged[] {
  return targets.map(({ text, ours, theirs, reach, goal }) => {
    const [own, other] = [ours, theirs].map(({ door, load }) => find(lines, door, load));
    const measured = own && other ? own.perSecond / other.perSecond : undefined;
    return { text, unit: '×', better: 'more', reach, goal, measured };
  });
}
