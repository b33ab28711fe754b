/** etcd's own measurement, `etcdctl check perf`: what it sends, and what it says. */
import { etcdctl } from './etcd-cluster.ts';

/**
 * Fixed in etcdctl (etcdctl/ctlv3/command/check.go), not to be chosen. The seconds are those of
 * 3.4; later ones measure for 300.
 */
export const checkPerfLoad = {
  name: 'xl',
  clients: 1_000,
  writesPerSecondMax: 15_000,
  keyBytes: 256 + '/etcdctl-check-perf/'.length,
  valueBytes: 1_024,
  seconds: 60,
} as const;

/** Either duration, and the deletion of what was written. */
const TIMEOUT_MS = 400_000;

/** From this share of its rate cap on, the cap may be what has slowed it down. */
const CAPPED_SHARE = 0.9;

export function isCapped(writesPerSecond: number): boolean {
  return writesPerSecond >= CAPPED_SHARE * checkPerfLoad.writesPerSecondMax;
}

export interface CheckPerf {
  readonly perSecond: number;
  readonly slowestSeconds: number;
  readonly stddevSeconds: number;
  /** What it found wrong: it expects 90 % of its rate cap, no request above 0.5 s, no error. */
  readonly complaints: readonly string[];
}

export async function checkPerf(endpoints: readonly string[]): Promise<CheckPerf> {
  const args = ['check', 'perf', `--load=${checkPerfLoad.name}`];
  // It ends with an error whenever it complains: the text alone tells whether it has measured.
  const { stdout, stderr } = await etcdctl(endpoints, args, TIMEOUT_MS);
  const result = parseCheckPerf(stdout);
  if (result) return result;
  throw new Error(`etcdctl ${args.join(' ')}: ${stderr}${stdout}`.slice(0, 2_000));
}

/** Undefined when the text holds no throughput. */
export function parseCheckPerf(text: string): CheckPerf | undefined {
  // The progress bar rewrites its line: carriage returns end lines as well.
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  const figure = (pattern: RegExp) => {
    const found = lines.map((line) => pattern.exec(line)?.[1]).find((value) => value !== undefined);
    return found === undefined ? Number.NaN : Number(found);
  };
  const perSecond = figure(/(\d+) writes\/s$/);
  if (!Number.isFinite(perSecond)) return undefined;
  return {
    perSecond,
    slowestSeconds: figure(/^(?:PASS: )?Slowest request took (?:too long: )?([\d.]+)s$/),
    stddevSeconds: figure(/^(?:PASS: )?Stddev (?:is|too high:) ([\d.]+)s$/),
    complaints: lines.filter((line) => /^FAIL: |too long|too high/.test(line)),
  };
}
