/** docs/performance.svg: the throughput of every load, and how far each target is; pure. */
import { drawBars, type Group } from './plot.ts';
import { verdictOf } from './report.ts';
import type { Line } from './results.ts';
import { round } from './sheet.ts';
import type { Door } from './system.ts';
import { type Judged, shareOf } from './targets.ts';

const colors: Readonly<Record<Door, string>> = {
  redis: '#9aa0a6',
  'kvorum cluster': '#1f5fa8',
  'kvorum cluster, leases': '#4a86c8',
  'kvorum gateway': '#7fb0e0',
  etcd: '#e0a030',
  'etcd check perf': '#f0d49b',
};
const GOAL = '#2e7d32';
const REACHED = '#1f5fa8';
const MISSED = '#b3261e';

export function drawPerformance(lines: readonly Line[], targets: readonly Judged[]): string {
  const measured = targets.filter((one) => Number.isFinite(one.measured));
  const bars = measured.map((one) => {
    const share = shareOf(one, one.reach);
    const isGoal = shareOf(one, one.goal) >= 1;
    return {
      label: one.text,
      value: share,
      text: `${round(one.measured ?? 0)} ${one.unit}: ${verdictOf(one)}`,
      color: isGoal ? GOAL : share >= 1 ? REACHED : MISSED,
    };
  });
  const targetPanel = {
    title: 'targets: how much of what must be reached is (or above 1: was more than reached)',
    groups: [{ title: '', bars }],
    mark: { value: 1, text: 'must reach' },
  };
  const throughputPanel = { title: 'requests a second', groups: groupsOf(lines) };
  return drawBars('kvorum, measured beside redis and etcd on one machine', [
    ...(lines.length > 0 ? [throughputPanel] : []),
    ...(bars.length > 0 ? [targetPanel] : []),
  ]);
}

/** A group for each load, a bar for each door. */
function groupsOf(lines: readonly Line[]): readonly Group[] {
  const groups = new Map<string, Line[]>();
  for (const line of lines) {
    const { test, pipeline, clients, valueBytes, door } = line;
    // it chose its load itself
    const load =
      door === 'etcd check perf'
        ? door
        : `${test} ×${pipeline}, ${clients} clients, ${valueBytes} B`;
    groups.set(load, [...(groups.get(load) ?? []), line]);
  }
  return [...groups].map(([title, same]) => ({
    title,
    bars: same.map(({ door, perSecond }) => ({
      ...{ label: door, value: perSecond, text: round(perSecond), color: colors[door] },
    })),
  }));
}
