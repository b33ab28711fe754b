/** The report of a run, as sheets. */
import { checkPerfLoad, isCapped } from './check-perf.ts';
import type { Floor, Line, ProcessMemory, Row } from './results.ts';
import { find, linesOf, sum } from './results.ts';
import { round, type Sheet } from './sheet.ts';
import type { Door } from './system.ts';
import { type Judged, shareOf } from './targets.ts';

export interface SystemNote {
  readonly version: string;
  readonly fsync: string;
}

/** The floors are set for a machine of this many cores. */
export const FLOOR_CORES = 2;

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);

/** Every load with the systems that were given it, and their ratios. */
export function throughput(rows: readonly Row[]): Sheet[] {
  const lines = linesOf(rows);
  const loads = [...new Set(lines.filter(isShared).map(titleOf))];
  const checkPerf = find(lines, 'etcd check perf', {});
  return loads.map((title) => {
    const same = lines.filter((line) => isShared(line) && titleOf(line) === title);
    const ofSet = same[0]?.test === 'SET' && same[0].pipeline === 1;
    return section(title, same, ofSet ? checkPerf : undefined);
  });
}

function isShared(line: Line): boolean {
  return line.door !== 'etcd check perf';
}

function titleOf({ test, pipeline, clients, valueBytes }: Line): string {
  const size = valueBytes.toLocaleString('en-US');
  return `${test}, pipeline ${pipeline}, ${clients} clients, ${size}-byte values`;
}

function section(title: string, same: readonly Line[], checkPerf: Line | undefined): Sheet {
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
    return [line.door, spread(line), ...ratios, ...latencies, ...costs, each];
  });
  return { title, head, rows: cells, notes: checkPerf ? checkPerfNotes(checkPerf) : [] };
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
    `etcd check perf --load=${name}: its own ${n(clients)} clients, ${keyBytes}-byte keys, ` +
    `${n(valueBytes)}-byte values, rate cap ${n(writesPerSecondMax)} writes/s, ` +
    `${seconds.toFixed(0)} s`;
  if (!isCapped(perSecond)) return [load];
  return [load, 'It has reached its rate cap: etcd may be faster, × etcd check perf smaller'];
}

/** Which versions were measured, and when each has a write on disk. */
export function durability(systems: Readonly<Record<string, SystemNote>>): Sheet[] {
  const rows = Object.entries(systems).map(([name, { version, fsync }]) => [
    `${name} ${version}`,
    fsync,
  ]);
  if (rows.length === 0) return [];
  const head = ['', 'when a write is answered'];
  return [{ title: 'what is on disk before the answer', head, rows, words: 2 }];
}

/** What each process cost over all its rows, and what it held. */
export function processes(rows: readonly Row[], memory: readonly ProcessMemory[]): Sheet[] {
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
    return [name, seconds.toFixed(1), megabytes(end), megabytes(peak)];
  });
  const systems = [...new Set(rows.map((row) => row.system))];
  const loads = systems.map((system) => {
    const seconds = sum(rows.filter((row) => row.system === system).map((row) => row.usage.load));
    return [`load on ${system}`, seconds.toFixed(1), '', ''];
  });
  const head = ['', 'CPU s in all rows', 'RssAnon MB at the end', 'peak'];
  return [{ title: 'processes', head, rows: [...cells, ...loads] }];
}

/** How far it is to each target that was measured. */
export function targets(all: readonly Judged[]): Sheet[] {
  const measured = all.filter((one) => one.measured !== undefined);
  if (measured.length === 0) return [];
  const cells = measured.map((one) => {
    const { text, unit, better, reach, goal, note = '' } = one;
    const bound = (value: number) => `${better === 'more' ? '≥' : '≤'} ${value} ${unit}`;
    const figure = `${round(one.measured ?? 0)} ${unit}`;
    return [text, figure, bound(reach), bound(goal), verdictOf(one), note];
  });
  const head = ['', 'measured', 'must reach', 'goal', '', ''];
  return [{ title: 'targets', head, rows: cells, endsInWords: true }];
}

/** In words: the goal, what must be reached, or how much of that. */
export function verdictOf(one: Judged): string {
  if (shareOf(one, one.goal) >= 1) return 'goal';
  const share = shareOf(one, one.reach);
  return share >= 1 ? 'reached' : `${round(share)} of it`;
}

export function floors(all: readonly Floor[], cores: number): Sheet[] {
  const cells = all.map(({ text, measured, unit, holds }) => {
    const verdict = holds === undefined ? 'not measured' : holds ? 'pass' : 'FAIL';
    return [text, measured === undefined ? '' : `${round(measured)} ${unit}`, verdict];
  });
  const title =
    cores === FLOOR_CORES ? 'floors' : `floors (set for ${FLOOR_CORES} cores, this has ${cores})`;
  return [{ title, head: ['', 'measured', ''], rows: cells }];
}

/** Another program may take this much of a core before the figures are called in question. */
const OTHER_CORES_MAX = 0.15;

/** Warnings about rows during which something else was busy. */
export function disturbances(rows: readonly Row[]): Sheet[] {
  const disturbed = rows.filter((row) => row.usage.otherCores > OTHER_CORES_MAX);
  if (disturbed.length === 0) return [];
  const most = Math.max(...disturbed.map((row) => row.usage.otherCores));
  const title =
    `DISTURBED: in ${disturbed.length} of ${rows.length} rows other programs kept up to ` +
    `${most.toFixed(1)} cores busy; the figures are too low, ratios between systems unsure`;
  return [{ title, head: [], rows: [] }];
}
