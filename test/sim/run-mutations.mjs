/**
 * `npm run test:mutations`: builds the simulator once, then for each mutation a copy with that bug,
 * and runs seeds until a checker objects. Prints mutation, seeds needed and checker; a mutation that
 * nobody catches fails the run. Words of names: those mutations alone. `--scenarios`: those
 * that are named for the mutations are played instead of seeds, to see that each can object. KVORUM_MUTATION_SEED: the first
 * seed; KVORUM_MUTATION_WORKERS: how many at a time, 2 when left out. Plain JavaScript: it drives
 * builds.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { simulatorFlags } from './node-flags.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const build = join(root, '.cache', 'sim');
const mutants = join(root, '.cache', 'mutants');
const SEEDS_MAX = 1_500;
/** For one mutation; the other bound is for a process that hangs, on however busy a machine. */
const CPU_SECONDS_MAX = 300;
const TIME_MAX_MS = 1_200_000;
const WORKERS = Number(process.env.KVORUM_MUTATION_WORKERS ?? 2);
const WORKERS_MAX = 64;
const HELP = `Plants bugs in the simulator's build, one at a time, and shows who catches each.

  npm run test:mutations -- [options] [WORDS ...]

  WORDS            only mutations whose names hold one of these (without: all of them)
  --scenarios      play the scenarios that are named for the mutations, and no seeds
  --help           this text

KVORUM_MUTATION_SEED: the first seed. KVORUM_MUTATION_WORKERS: how many at a time (default 2).
Ends with exit code 1 when a mutation is not caught.
`;

const words = process.argv.slice(2);
const unknown = words.find((word) => word.startsWith('--') && word !== '--scenarios');
if (unknown !== undefined) {
  const isHelp = unknown === '--help';
  const wrong = `there is no option ${unknown}; --help lists them\n`;
  (isHelp ? process.stdout : process.stderr).write(isHelp ? HELP : wrong);
  process.exit(isHelp ? 0 : 1);
}

if (!(Number.isInteger(WORKERS) && WORKERS >= 1 && WORKERS <= WORKERS_MAX)) {
  const given = process.env.KVORUM_MUTATION_WORKERS;
  process.stderr.write(
    `KVORUM_MUTATION_WORKERS: a whole number from 1 to ${WORKERS_MAX}, not ${given}\n`,
  );
  process.exit(1);
}

rmSync(build, { recursive: true, force: true });
buildSimulator();
const { mutations } = await import(
  pathToFileURL(join(build, 'test', 'sim', 'mutations.js')).href
).catch(async () => {
  throw new Error('the simulator build has no mutations');
});
/** The scenarios of each mutation, and no seed. */
const scenarios = words.includes('--scenarios');
const only = words.filter((word) => !word.startsWith('--'));
const queue = mutations
  .filter(({ name }) => only.length === 0 || only.some((word) => name.includes(word)))
  .filter((mutation) => !scenarios || mutation.scenarios !== undefined);
if (queue.length === 0) {
  process.stderr.write(`no mutation's name holds ${only.join(' or ')}\n`);
  process.exit(1);
}
const chosen = queue.length;
const began = Date.now();
const results = [];
await Promise.all(Array.from({ length: WORKERS }, () => worker()));
report();

function buildSimulator() {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const { status } = spawnSync(tsc, ['-p', join(root, 'test', 'sim')], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

async function worker() {
  for (;;) {
    const mutation = queue.shift();
    if (mutation === undefined) return;
    const result = await catchIt(mutation, makeMutant(mutation));
    results.push({ mutation, ...result });
    const { name, checker, by, seeds, seconds, cpuSeconds } = result;
    const how = by.length > 0 ? `playing ${by.join('; ')}` : `by ${checker} after ${seeds} seeds`;
    const spent = `${cpuSeconds.toFixed(1)} s of CPU, ${seconds.toFixed(0)} s`;
    process.stdout.write(`${name}: ${checker ? `caught ${how}` : 'NOT CAUGHT'} (${spent})\n`);
  }
}

function makeMutant({ name, edits }) {
  const dir = join(mutants, name.replaceAll(' ', '-'));
  rmSync(dir, { recursive: true, force: true });
  linkTree(build, dir);
  const changed = new Map();
  for (const { file, find, replace } of edits) {
    const source = changed.get(file) ?? readFileSync(join(root, file), 'utf8');
    const parts = source.split(find);
    if (parts.length !== 2) {
      process.stderr.write(`${name}: ${file} holds the text to change ${parts.length - 1} times\n`);
      process.exit(1);
    }
    changed.set(file, parts.join(replace));
  }
  for (const [file, source] of changed) {
    const { outputText } = ts.transpileModule(source, {
      fileName: file,
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        rewriteRelativeImportExtensions: true,
      },
    });
    const target = join(dir, file.replace(/\.ts$/, '.js'));
    rmSync(target);
    writeFileSync(target, outputText);
  }
  return dir;
}

function linkTree(from, to) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else {
      try {
        linkSync(source, target);
      } catch {
        cpSync(source, target);
      }
    }
  }
}

/** A scenario comes first where there is one; else, or when it holds, seeds. */
async function catchIt(mutation, dir) {
  const { name, edits, about, wholeNodes, patient } = mutation;
  const start = Date.now();
  // seeds of the core alone cannot see a bug that is elsewhere, or of special plans
  const inCore = edits.some(({ file }) => file.startsWith('src/datanode/raft/')) && !wholeNodes;
  const seeds = [
    ...['--core', inCore && about === undefined ? '2000' : '0'],
    ...['--from', process.env.KVORUM_MUTATION_SEED ?? '1'],
    ...(about === undefined ? [] : ['--about', about]),
    ...['--seeds', String(SEEDS_MAX), '--cpu', String(CPU_SECONDS_MAX)],
    ...(patient ? ['--patient'] : []),
  ];
  const scripted = [];
  let cpuSeconds = 0;
  for (const begin of scenarios || mutation.scripted ? mutation.scenarios : []) {
    scripted.push(...(await simulate(dir, ['--scenarios', begin])));
    cpuSeconds += scripted.at(-1)?.cpuSeconds ?? 0;
  }
  const objecting = scripted.filter(({ violation }) => violation !== undefined);
  const drawn = objecting.length > 0 || scenarios ? [] : await simulate(dir, seeds);
  if (!process.env.KEEP_MUTANTS) rmSync(dir, { recursive: true, force: true });
  const { violation: checker } = objecting[0] ?? drawn.at(-1) ?? {};
  const by = objecting.map((line) => `${line.scenario} (${line.violation})`);
  const count = objecting.length > 0 ? 'scenario' : String(drawn.length);
  cpuSeconds += drawn.at(-1)?.cpuSeconds ?? 0;
  return { name, checker, by, seeds: count, seconds: (Date.now() - start) / 1_000, cpuSeconds };
}

/** What the simulator in `dir` tells with `args`, a line each. */
function simulate(dir, args) {
  const main = join(dir, 'test', 'sim', 'main.js');
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...simulatorFlags, main, ...args, '--once', '--json'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), TIME_MAX_MS);
    child.once('close', () => {
      clearTimeout(timer);
      const lines = output.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
      resolve(lines.map((line) => JSON.parse(line)));
    });
  });
}

function report() {
  const width = Math.max(...results.map(({ name }) => name.length));
  process.stdout.write('\n');
  results.sort((a, b) => mutations.indexOf(a.mutation) - mutations.indexOf(b.mutation));
  for (const { mutation, checker, seeds, cpuSeconds } of results) {
    const columns = [seeds.padStart(8), `${cpuSeconds.toFixed(1).padStart(5)} s of CPU`];
    process.stdout.write(
      `${mutation.name.padEnd(width)}  ${columns.join('  ')}  ${checker ?? '-'}\n`,
    );
  }
  const missed = results.filter(({ checker }) => !checker);
  const took = ((Date.now() - began) / 1_000).toFixed(0);
  const cpu = results.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0).toFixed(0);
  process.stdout.write(
    `${results.length - missed.length} of ${results.length} caught in ${took} s, ${cpu} s of CPU\n`,
  );
  if (results.length < chosen) {
    process.stderr.write(`${chosen - results.length} of ${chosen} mutations were not tried\n`);
  }
  process.exitCode = missed.length === 0 && results.length === chosen ? 0 : 1;
}
