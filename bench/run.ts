/** `npm run bench`: kvorum beside redis and etcd; see options.ts for what it does. */
import { rmSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { busyCores, cores } from './accounting.ts';
import { killAll } from './children.ts';
import { makeDirectory, probeSync } from './disk.ts';
import { measureEtcd, measureKvorum, measureRedis } from './measure.ts';
import { help, type Options, parseOptions } from './options.ts';
import { disturbances, floors, processes, throughput } from './report.ts';
import { floorsOf, type ProcessMemory, type Row } from './results.ts';

const measures = { redis: measureRedis, kvorum: measureKvorum, etcd: measureEtcd } as const;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(options: Options, directory: string): Promise<boolean> {
  const began = performance.now();
  const elapsed = () => {
    const seconds = Math.round((performance.now() - began) / 1_000);
    return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, '0')}`;
  };
  const machine = await describeMachine(directory);
  const rows: Row[] = [];
  const memory: ProcessMemory[] = [];
  const versions: Record<string, { readonly version: string; readonly fsync: string }> = {};
  for (let round = 1; round <= options.rounds; round++) {
    for (const system of options.only) {
      const prefix = options.rounds > 1 ? `round ${round}, ${system}` : system;
      await measures[system]({
        options,
        directory,
        began: ({ version, fsync }) => {
          versions[system] = { version, fsync };
          if (round === 1) say(`        ${system} ${version}: ${fsync}`);
        },
        row: (row) => rows.push({ ...row, system, round }),
        memory: (name, held) => memory.push({ name, ...held, system, round }),
        progress: (text) => say(`${elapsed()}  ${prefix}: ${text}`),
      });
    }
  }
  const judged = floorsOf(rows, memory);
  for (const line of throughput(rows)) say(line);
  for (const line of processes(rows, memory)) say(line);
  for (const line of floors(judged)) say(line);
  for (const line of disturbances(rows)) say(line);
  say(`\ntook ${elapsed().trim()} minutes`);
  if (options.json !== undefined) {
    const figures = { machine, options, versions, rows, memory, floors: judged };
    writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
    say(`all figures are in ${options.json}`);
  }
  return judged.every(({ holds }) => holds !== false);
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
  const directory = makeDirectory(options.data);
  // Whatever ends this process, nothing it has started or written outlives it.
  process.once('exit', () => {
    killAll();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  });
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
  process.stdout.on('error', () => process.exit(1));
  main(options, directory).then((hold) => process.exit(hold ? 0 : 1), fail);
}

start();
