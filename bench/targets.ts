/** Where kvorum is going: ratios between lines of one run, each with what must be reached. */
import type { Load } from './redis-benchmark.ts';
import { find, type Line } from './results.ts';
import type { Door } from './system.ts';
import type { TestName } from './tests.ts';

interface Side {
  readonly door: Door;
  readonly load: Partial<Load>;
}

interface Target {
  readonly text: string;
  readonly ours: Side;
  readonly theirs: Side;
  readonly atLeast: number;
}

export interface Judged {
  readonly text: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** Undefined when one of the lines was not measured. */
  readonly measured: number | undefined;
}

const standard = (test: TestName, pipeline = 1): Partial<Load> => ({
  ...{ test, pipeline, clients: 50, valueBytes: 100 },
});

const against = (
  door: Door,
  test: TestName,
  pipeline: number,
  atLeast: number,
  ours: Door = 'kvorum cluster',
): Target => ({
  text: `${test}, pipeline ${pipeline}: ${ours} ≥ ${atLeast} × ${door}`,
  ours: { door: ours, load: standard(test, pipeline) },
  theirs: { door, load: standard(test, pipeline) },
  atLeast,
});

const againstSet = (test: TestName): Target => ({
  text: `${test}, pipeline 1: kvorum cluster ≥ 0.8 × its own SET`,
  ours: { door: 'kvorum cluster', load: standard(test) },
  theirs: { door: 'kvorum cluster', load: standard('SET') },
  atLeast: 0.8,
});

const targets: readonly Target[] = [
  against('etcd', 'SET', 1, 5),
  against('redis', 'SET', 1, 0.25),
  against('redis', 'SET', 16, 0.2),
  against('redis', 'GET', 1, 0.6),
  against('redis', 'GET', 16, 0.2),
  ...(['LPUSH', 'SADD', 'HSET', 'ZADD', 'INCR'] as const).map(againstSet),
  ...(['LRANGE_100', 'HGETALL_100', 'ZRANGE_100'] as const).map((test) =>
    against('redis', test, 1, 0.15),
  ),
  ...(['GET', 'SET'] as const).flatMap((test) => [
    against('kvorum cluster', test, 1, 0.6, 'kvorum gateway'),
    against('kvorum cluster', test, 16, 0.75, 'kvorum gateway'),
  ]),
];

export function judgeTargets(lines: readonly Line[]): Judged[] {
  return targets.map(({ text, ours, theirs, atLeast }) => {
    const [own, other] = [ours, theirs].map(({ door, load }) => find(lines, door, load));
    const measured = own && other ? own.perSecond / other.perSecond : undefined;
    return { text, atLeast, measured };
  });
}
