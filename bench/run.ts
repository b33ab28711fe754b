/** `npm run bench`: kvorum beside redis and etcd; see options.ts for what it does. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { killAll } from '../tools/children.ts';
import { busyCores, cores } from './accounting.ts';
import { makeDirectory, probeSync, removeDirectory, requireWritable } from './disk.ts';
import { measureIdle } from './idle.ts';
import { kvorumScript, measureEtcd, measureKvorum, measureRedis } from './measure.ts';
import { help, type Options, parseOptions } from './options.ts';
import { estimateSeconds, orderOf } from './plan.ts';
import { requirePrograms } from './programs.ts';
import {
  disturbances,
  durability,
  floors,
  processes,
  type SystemNote,
  targets,
  throughput,
} from './report.ts';
import { find, floorsOf, type Idle, linesOf, type ProcessMemory, type Row } from './results.ts';
import { judgeTargets } from './targets.ts';
import { judgeLatency, type TimedRow, timedReport } from './timed.ts';

const measures = { redis: measureRedis, kvorum: measureKvorum, etcd: measureEtcd } as const;

const say = (line: string) => process.stdout.write(`${line}\n`);

interface Figures {
  readonly rows: Row[];
  readonly timed: TimedRow[];
  readonly memory: ProcessMemory[];
  readonly versions: Record<string, SystemNote>;
  /** Undefined when kvorum is not measured. */
  readonly idle: Idle | undefined;
}

/** Resolves to whether no floor was missed. */
async function main(options: Options, directory: string): Promise<boolean> {
  const began = performance.now();
  const elapsed = () => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, '0')}`;
  };
  const machine = await describeMachine(directory);
  const minutes = Math.ceil(estimateSeconds(options) / 60);
  say(`this takes about ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}; Ctrl-C ends it`);
  const figures = await measureAll(options, directory, elapsed);
  const { rows, timed, memory, versions, idle } = figures;
  const judged = floorsOf(rows, memory, idle);
  const report = [
    ...durability(versions),
    ...throughput(rows),
    ...processes(rows, memory),
    ...timedReport(timed),
    ...targets(judgeAll(rows, timed)),
    ...floors(judged, cores),
    ...disturbances(rows),
  ];
  for (const line of report) say(line);
  say(`\ntook ${elapsed().trim()} minutes`);
  if (options.json !== undefined) {
    const all = { machine, options, versions, rows, timed, memory, idle, floors: judged };
    writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`);
    say(`all figures are in ${options.json}`);
  }
  return judged.every(({ holds }) => holds !== false);
}

async function measureAll(
  options: Options,
  directory: string,
  elapsed: () => string,
): Promise<Figures> {
  const rows: Row[] = [];
  const timed: TimedRow[] = [];
  const memory: ProcessMemory[] = [];
  const versions: Record<string, SystemNote> = {};
  for (let round = 1; round <= options.rounds; round++) {
    for (const system of orderOf(round, options.only)) {
      const prefix = options.rounds > 1 ? `round ${round}, ` : '';
      const own = join(directory, `${round}-${system}`);
      mkdirSync(own);
      await measures[system]({
        options,
        directory: own,
        began: ({ version, fsync }) => {
          versions[system] = { version, fsync };
          say(`${elapsed()}  ${prefix}${system} ${version} runs`);
        },
        row: (row) => rows.push({ ...row, system, round }),
        timed: (row) => timed.push({ ...row, system, round }),
        memory: (name, held) => memory.push({ name, ...held, system, round }),
        progress: (text) => say(`${elapsed()}  ${prefix}${text}`),
      });
      removeDirectory(own);
    }
  }
  if (!options.only.includes('kvorum')) return { rows, timed, memory, versions, idle: undefined };
  say(`${elapsed()}  kvorum with idle partitions`);
  const idle = await measureIdle(directory, kvorumScript);
  return { rows, timed, memory, versions, idle };
}

function judgeAll(rows: readonly Row[], timed: readonly TimedRow[]) {
  const lines = linesOf(rows);
  const peak = find(lines, 'kvorum cluster', { test: 'SET', pipeline: 1, clients: 50 });
  return [...judgeTargets(lines), judgeLatency(timed, peak?.perSecond)];
}

async function describeMachine(directory: string) {
  const syncs = probeSync(directory);
  const at = (share: number) => syncs[Math.floor((syncs.length - 1) * share)] ?? 0;
  const machine = {
    cores,
    processor: cpus()[0]?.model ?? 'unknown',
    memoryBytes: totalmem(),
    node: process.versions.node,
    syncP50Ms: at(0.5),
    syncP99Ms: at(0.99),
    busyCoresBefore: await busyCores(1_000),
  };
  say(`machine: ${cores} cores (${machine.processor}), Node.js ${machine.node}`);
  say(
    `disk: a synced write of 4 KiB takes ${machine.syncP50Ms.toFixed(2)} ms (median), ` +
      `${machine.syncP99Ms.toFixed(2)} ms (p99); data in ${directory}`,
  );
  if (machine.busyCoresBefore > 0.2) {
    say(`WARNING: other programs keep ${machine.busyCoresBefore.toFixed(1)} cores busy right now`);
  }
  return machine;
}

function fail(error: unknown): never {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

/** Whatever ends this process, nothing it has started or written outlives it. */
function cleanUpAtExit(directory: string): void {
  process.once('exit', () => {
    killAll();
    removeDirectory(directory);
  });
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
  process.stdout.on('error', () => process.exit(1));
  if (process.env['npm_lifecycle_event'] !== 'bench') return;
  // npm and its shell pass no signal on to what the shell runs: when they are gone, end as well.
  const parent = process.ppid;
  const watch = () => {
    if (process.ppid !== parent) process.exit(143);
  };
  setInterval(watch, 500).unref();
}

function start(): void {
  let options: Options;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    fail(new Error(`${error instanceof Error ? error.message : error}; see --help`));
  }
  if (options.help) {
    say(help);
    return;
  }
  try {
    if (process.platform !== 'linux') throw new Error('it reads /proc: it needs Linux');
    requirePrograms(options.only, process.env['PATH'] ?? '');
    if (options.json !== undefined) requireWritable(options.json);
    const directory = makeDirectory(options.data);
    cleanUpAtExit(directory);
    main(options, directory).then((hold) => process.exit(hold ? 0 : 1), fail);
  } catch (error) {
    fail(error);
  }
}

start();
