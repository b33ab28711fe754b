/** The report: tables for a terminal. */
import { checkPerfLoad, isCapped } from './check-perf.ts';
import type { Floor, Line, ProcessMemory, Row } from './results.ts';
import { find, linesOf, sum } from './results.ts';
import type { Door } from './system.ts';
import { type Judged, shareOf } from './targets.ts';

/** Columns as wide as their widest cell; the first aligned left, the others right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  return all.map((row) =>
    widths
      .map((width, at) =>
        at === 0 ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** Figures with three digits that mean something: 12,300 or 0.123. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  if (digits > 0) return value.toFixed(Math.min(3, digits));
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.abs(value))) - 2);
  return (Math.round(value / unit) * unit).toLocaleString('en-US');
}

export interface SystemNote {
  readonly version: string;
  readonly fsync: string;
}

/** The floors are set for a machine of this many cores. */
export const FLOOR_CORES = 2;

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);

/** Every load with the systems that were given it, and their ratios. */
export function throughput(rows: readonly Row[]): string[] {
  const lines = linesOf(rows);
  const loads = [...new Set(lines.filter(isShared).map(titleOf))];
  const checkPerf = find(lines, 'etcd check perf', {});
  return loads.flatMap((title) => {
    const same = lines.filter((line) => isShared(line) && titleOf(line) === title);
    const ofSet = same[0]?.test === 'SET' && same[0].pipeline === 1;
    return ['', title, ...section(same, ofSet ? checkPerf : undefined)];
  });
}

function isShared(line: Line): boolean {
  return line.door !== 'etcd check perf';
}

function titleOf({ test, pipeline, clients, valueBytes }: Line): string {
  const size = valueBytes.toLocaleString('en-US');
  return `${test}, pipeline ${pipeline}, ${clients} clients, ${size}-byte values`;
}

function section(same: readonly Line[], checkPerf: Line | undefined): string[] {
  const all = checkPerf ? [...same, checkPerf] : same;
  const per = (line: Line, door: Door) => {
    const other = all.find((one) => one.door === door);
    return other === undefined ? '' : round(line.perSecond / other.perSecond);
  };
  const doors = (['redis', 'etcd', 'etcd check perf'] as const).filter((door) =>
    all.some((line) => line.door === door),
  );
  const head = ['', 'requests/s', ...doors.map((door) => `× ${door}`), 'p50 ms', 'p99 ms'];
  head.push('CPU s servers', 'load', 'of seconds', 'µs a request');
  const cells = all.map((line) => {
    const latencies = [round(line.p50Ms), round(line.p99Ms)];
    const requests = line.perSecond * line.seconds;
    const costs = [line.serverSeconds, line.loadSeconds, line.seconds].map((n) => n.toFixed(1));
    const each = ((line.serverSeconds / requests) * 1e6).toFixed(0);
    const ratios = doors.map((door) => per(line, door));
    return [`  ${line.door}`, spread(line), ...ratios, ...latencies, ...costs, each];
  });
  return [...table(head, cells), ...(checkPerf ? checkPerfNotes(checkPerf) : [])];
}

/** The median, and with more rounds than one the lowest and highest. */
function spread({ perSecond, rounds }: Line): string {
  if (rounds.length < 2) return round(perSecond);
  return `${round(perSecond)} (${round(Math.min(...rounds))}–${round(Math.max(...rounds))})`;
}

/** What stands beside the ratio: etcd chose that load itself. */
export function checkPerfNotes({ perSecond, seconds }: Line): string[] {
  const { name, clients, writesPerSecondMax, keyBytes, valueBytes } = checkPerfLoad;
  const n = (value: number) => value.toLocaleString('en-US');
  const load =
    `  etcd check perf --load=${name}: its own ${n(clients)} clients, ${keyBytes}-byte keys, ` +
    `${n(valueBytes)}-byte values, rate cap ${n(writesPerSecondMax)} writes/s, ` +
    `${seconds.toFixed(0)} s`;
  if (!isCapped(perSecond)) return [load];
  return [load, '  It has reached its rate cap: etcd may be faster, × etcd check perf smaller'];
}

/** Which versions were measured, and when each has a write on disk. */
export function durability(systems: Readonly<Record<string, SystemNote>>): string[] {
  const cells = Object.entries(systems).map(
    ([name, { version, fsync }]) => `  ${`${name} ${version}`.padEnd(14)}  ${fsync}`,
  );
  return cells.length === 0 ? [] : ['', 'what is on disk before the answer', ...cells];
}

/** What each process cost over all its rows, and what it held. */
export function processes(rows: readonly Row[], memory: readonly ProcessMemory[]): string[] {
  const names = [...new Set(memory.map(({ name }) => name))];
  if (names.length === 0) return [];
  const cells = names.map((name) => {
    const held = memory.filter((one) => one.name === name);
    const end = Math.max(...held.map(({ endBytes }) => endBytes));
    const peak = Math.max(...held.map(({ peakBytes }) => peakBytes));
    const system = held[0]?.system;
    const seconds = sum(
      rows.filter((row) => row.system === system).map((row) => row.usage.servers[name] ?? 0),
    );
    return [`  ${name}`, seconds.toFixed(1), megabytes(end), megabytes(peak)];
  });
  const systems = [...new Set(rows.map((row) => row.system))];
  const loads = systems.map((system) => {
    const seconds = sum(rows.filter((row) => row.system === system).map((row) => row.usage.load));
    return [`  load on ${system}`, seconds.toFixed(1), '', ''];
  });
  const head = ['', 'CPU s in all rows', 'RssAnon MB at the end', 'peak'];
  return ['', 'processes', ...table(head, [...cells, ...loads])];
}

/** How far it is to each target that was measured. */
export function targets(all: readonly Judged[]): string[] {
  const measured = all.filter((one) => one.measured !== undefined);
  if (measured.length === 0) return [];
  const cells = measured.map((one) => {
    const { text, unit, better, reach, goal, note = '' } = one;
    const bound = (value: number) => `${better === 'more' ? '≥' : '≤'} ${value} ${unit}`;
    const figure = `${round(one.measured ?? 0)} ${unit}`;
    return [`  ${text}`, figure, bound(reach), bound(goal), verdictOf(one), note];
  });
  const head = ['', 'measured', 'must reach', 'goal', '', ''];
  return ['', 'targets', ...table(head, cells)];
}

/** In words: the goal, what must be reached, or how much of that. */
export function verdictOf(one: Judged): string {
  if (shareOf(one, one.goal) >= 1) return 'goal';
  const share = shareOf(one, one.reach);
  return share >= 1 ? 'reached' : `${round(share)} of it`;
}

export function floors(all: readonly Floor[], cores: number): string[] {
  const cells = all.map(({ text, measured, unit, holds }) => {
    const verdict = holds === undefined ? 'not measured' : holds ? 'pass' : 'FAIL';
    return [`  ${text}`, measured === undefined ? '' : `${round(measured)} ${unit}`, verdict];
  });
  const title =
    cores === FLOOR_CORES ? 'floors' : `floors (set for ${FLOOR_CORES} cores, this has ${cores})`;
  return ['', title, ...table(['', 'measured', ''], cells)];
}

/** Another program may take this much of a core before the figures are called in question. */
const OTHER_CORES_MAX = 0.15;

/** Warnings about rows during which something else was busy. */
export function disturbances(rows: readonly Row[]): string[] {
  const disturbed = rows.filter((row) => row.usage.otherCores > OTHER_CORES_MAX);
  if (disturbed.length === 0) return [];
  const most = Math.max(...disturbed.map((row) => row.usage.otherCores));
  return [
    '',
    `DISTURBED: in ${disturbed.length} of ${rows.length} rows other programs kept up to ` +
      `${most.toFixed(1)} cores busy; the figures are too low, ratios between systems unsure`,
  ];
}
