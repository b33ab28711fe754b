/** `npm run bench`: kvorum beside redis and etcd; see options.ts for what it does. */
import { writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { killAll } from '../tools/children.ts';
import { busyCores, cores } from './accounting.ts';
import { makeDirectory, probeSync, removeDirectory, requireWritable } from './disk.ts';
import { type Figures, Run } from './measure-all.ts';
import { help, type Options, parseOptions } from './options.ts';
import { requireReport, writeReport } from './performance-files.ts';
import { commandOf } from './performance-page.ts';
import { estimate, estimateSeconds } from './plan.ts';
import { requirePrograms } from './programs.ts';
import { disturbances, durability, floors, processes, targets, throughput } from './report.ts';
import { find, floorsOf, linesOf } from './results.ts';
import { inTerminal } from './sheet.ts';
import type { SystemName } from './system.ts';
import { type Judged, judgeTargets } from './targets.ts';
import { judgeLatency, timedReport } from './timed.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Resolves to whether no floor was missed, and all was measured. */
async function main(options: Options, directory: string): Promise<boolean> {
  const machine = await describeMachine(directory);
  for (const line of planned(options)) say(line);
  const run = new Run(options, directory, say);
  const figures = await run.measure();
  const { rows, timed, memory, versions, idle, leftOut } = figures;
  const judged = floorsOf(rows, memory, idle);
  const wanted = judgeAll(figures);
  const beside = [
    ...durability(versions),
    ...throughput(rows),
    ...processes(rows, memory),
    ...timedReport(timed),
  ];
  const verdicts = [
    ...targets(wanted),
    ...(rows.length > 0 ? floors(judged, cores) : []),
    ...disturbances(rows),
  ];
  for (const line of [...beside, ...verdicts].flatMap(inTerminal)) say(line);
  for (const text of leftOut) say(`NOT MEASURED: ${text}`);
  say(`\ntook ${run.elapsed().trim()} minutes`);
  if (options.json !== undefined) {
    const all = { machine, options, ...figures, floors: judged, targets: wanted };
    writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`);
    say(`all figures are in ${options.json}`);
  }
  if (options.report) {
    const { rounds, seconds } = options;
    const common = {
      machine,
      date: new Date().toISOString().slice(0, 10),
      command: commandOf(process.argv.slice(2)),
    };
    const sheets = [...verdicts, ...beside];
    writeReport({ ...common, rounds, seconds, targets: wanted, sheets, leftOut }, linesOf(rows));
    say('docs/performance.md and docs/performance.svg are written');
  }
  return judged.every(({ holds }) => holds !== false) && leftOut.length === 0;
}

/** How long it will take; with scenarios, each part for itself. */
function planned(options: Options): string[] {
  const minutes = (seconds: number) => `${Math.max(1, Math.ceil(seconds / 60))} min`;
  const parts = estimate(options).map(([name, seconds]) => `${name} ${minutes(seconds)}`);
  const all = `this takes about ${minutes(estimateSeconds(options))}; Ctrl-C ends it`;
  return options.scenarios.length === 0 ? [all] : [all, `  ${parts.join(', ')}`];
}

function judgeAll({ rows, timed, found }: Figures): Judged[] {
  const lines = linesOf(rows);
  const peak = find(lines, 'kvorum cluster', { test: 'SET', pipeline: 1, clients: 50 });
  return [...judgeTargets(lines), judgeLatency(timed, peak?.perSecond), ...found];
}

async function describeMachine(directory: string) {
  const syncs = probeSync(directory);
  const at = (share: number) => syncs[Math.floor((syncs.length - 1) * share)] ?? 0;
  const machine = {
    cores,
    processor: cpus()[0]?.model ?? 'unknown',
    memoryBytes: totalmem(),
    node: process.versions.node,
    system: `${type()} ${release()}`,
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

/** Scenarios ask kvorum by redis-cli, too. */
function needed({ systems, scenarios }: Options): readonly SystemName[] {
  return scenarios.length > 0 ? [...systems, 'kvorum'] : systems;
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
    requirePrograms(needed(options), process.env['PATH'] ?? '');
    if (options.json !== undefined) requireWritable(options.json);
    if (options.report) requireReport();
    const directory = makeDirectory(options.data);
    cleanUpAtExit(directory);
    main(options, directory).then((hold) => process.exit(hold ? 0 : 1), fail);
  } catch (error) {
    fail(error);
  }
}

start();
