/** Rows of timed-load: latency at fixed rates, and a mix of reads and writes of uneven keys. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Accounting, Usage } from './accounting.ts';
import { runLoad } from './load-program.ts';
import type { Target } from './redis-benchmark.ts';

import { median } from './results.ts';
import { round, type Sheet } from './sheet.ts';
import type { Door, SystemName } from './system.ts';
import type { Judged } from './targets.ts';
import { BEGIN, type TimedLoad, type TimedLoadResult } from './timed-load-words.ts';

const script = join(fileURLToPath(new URL('.', import.meta.url)), 'timed-load.js');

export interface TimedRow extends Omit<TimedLoadResult, 'cpuSeconds'> {
  readonly round: number;
  readonly system: SystemName;
  readonly door: Door;
  readonly name: string;
  /** 0: closed loop. */
  readonly rate: number;
  readonly usage: Usage;
}

const CLIENTS = 50;
const RATES = [1_000, 2_000, 4_000, 8_000, 16_000];
/** Who answers fewer does not keep up, and is not asked for more. */
const KEPT_UP = 0.95;
const WARM_SECONDS = 3;

interface Plan {
  readonly name: string;
  readonly getShare: number;
  readonly draw: TimedLoad['draw'];
  readonly rates: readonly number[];
}

const SET = 'SET';

export const timedPlans: readonly Plan[] = [
  { name: '90 % GET, 10 % SET, Zipf keys', getShare: 0.9, draw: 'zipf', rates: [0] },
  { name: SET, getShare: 0, draw: 'even', rates: RATES },
  { name: 'GET', getShare: 1, draw: 'even', rates: RATES },
];

/** About how long they take at one door when all rates are kept up with. */
export function timedSeconds(seconds: number): number {
  const runs = timedPlans.reduce((sum, plan) => sum + plan.rates.length, 0);
  return runs * (seconds + WARM_SECONDS);
}

/** `tell` hears of each row. */
export async function measureTimed(
  target: Target,
  seconds: number,
  accounting: Accounting,
  tell: (row: Omit<TimedRow, 'system' | 'door' | 'round'>) => void,
): Promise<void> {
  for (const { name, getShare, draw, rates } of timedPlans) {
    for (const rate of rates) {
      const told: TimedLoad = {
        ...target,
        ...{ getShare, draw, perSecond: rate, clients: CLIENTS, valueBytes: 100 },
        ...{ warmSeconds: Math.min(WARM_SECONDS, seconds), seconds },
      };
      const who = `clients that send ${rate === 0 ? 'one after the other' : `${rate}/s`}`;
      const { result, usage } = await runLoad<TimedLoadResult>(script, told, accounting, {
        ...{ begin: BEGIN, who },
      });
      const { cpuSeconds: _, ...figures } = result;
      tell({ name, rate, ...figures, usage });
      if (result.perSecond < rate * KEPT_UP) break;
    }
  }
}

/** Medians over the rounds, in the order they were first measured. */
export function timedLines(rows: readonly TimedRow[]): TimedRow[] {
  const groups = new Map<string, TimedRow[]>();
  for (const row of rows) {
    const key = [row.name, row.rate, row.door].join();
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].map((same) => {
    const of = (figure: (row: TimedRow) => number) => median(same.map(figure));
    return {
      ...same[0]!,
      perSecond: of((row) => row.perSecond),
      p50Ms: of((row) => row.p50Ms),
      p99Ms: of((row) => row.p99Ms),
      p999Ms: of((row) => row.p999Ms),
    };
  });
}

function found(share: number): string {
  return `${(share * 100).toFixed(0)} % found`;
}

/** A table for each plan: a line per rate and door. */
export function timedReport(rows: readonly TimedRow[]): Sheet[] {
  const lines = timedLines(rows);
  return timedPlans.flatMap(({ name }) => {
    const same = lines.filter((line) => line.name === name).sort((a, b) => a.rate - b.rate);
    if (same.length === 0) return [];
    const isClosed = same[0]?.rate === 0;
    const title = isClosed
      ? `${name}, ${CLIENTS} clients one after the other`
      : `${name} at fixed rates, ms from when a request was due to its answer`;
    const cells = same.map(({ door, rate, perSecond, p50Ms, p99Ms, p999Ms, foundShare }) => {
      const kept = isClosed || perSecond >= rate * KEPT_UP;
      const latencies = [p50Ms, p99Ms, p999Ms].map(round);
      const asked = isClosed ? '' : round(rate);
      const notes = [kept ? [] : 'not kept up', foundShare === undefined ? [] : found(foundShare)];
      return [door, asked, round(perSecond), ...latencies, notes.flat().join(', ')];
    });
    const head = ['', 'sent/s', 'answered/s', 'p50', 'p99', 'p99.9', ''];
    return [{ title, head, rows: cells }];
  });
}

/** p99 of SET at about half of what the cluster ports take, against redis at the same rate. */
export function judgeLatency(rows: readonly TimedRow[], peakPerSecond: number | undefined): Judged {
  const text = 'p99 of SET at half the peak or less: kvorum cluster against redis';
  const lines = timedLines(rows).filter(({ name }) => name === SET);
  const at = (door: Door, rate: number) =>
    lines.find((line) => line.door === door && line.rate === rate);
  const rates = RATES.filter((rate) => rate <= (peakPerSecond ?? 0) / 2).reverse();
  const ratios = rates.flatMap((rate) => {
    const [ours, theirs] = [at('kvorum cluster', rate), at('redis', rate)];
    return ours && theirs ? [ours.p99Ms / theirs.p99Ms] : [];
  });
  return { text, unit: '×', better: 'less', reach: 4, goal: 2, measured: ratios[0] };
}
