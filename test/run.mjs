/**
 * `npm test`: installs what is missing, checks the house, runs every test, and ends with the line
 * `N passed, N failed`. Arguments are passed on to vitest (`npm test -- test/datanode/raft`).
 * Plain JavaScript: it must run before anything is installed.
 */
import { execFile, spawnSync, spawn as start } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInstalledAsLocked } from '../src/cli/locked-packages.mjs';
import { refusalOfNode } from '../src/cli/node-version.mjs';
import { check, checked } from './check.mjs';
import { pythonWithRedis } from './python-redis.mjs';
import { filesInOneProcess } from './shared-process.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const results = join(root, '.cache');
const began = Date.now();
let passed = 0;
let failed = 0;
/** Said once more in the end: a report may show the last lines only. */
const failures = [];

/** Programs that tests drive, and the Debian package of each. */
const programs = {
  etcd: 'etcd-server',
  etcdctl: 'etcd-client',
  'redis-server': 'redis-server',
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  strace: 'strace',
};

/** The same of what tests can do without: with it more kinds of faults are injected. */
const useful = { ip: 'iproute2', nft: 'nftables', faketime: 'faketime' };

/** Tests that want the machine for themselves: others would disturb them, or they others. */
const alone = [
  'test/chaos/run.test.ts',
  ...['pause', 'rolling'].map((name) => `test/cluster/${name}.test.ts`),
  ...['holds', 'unread'].map((name) => `test/storage/${name}.test.ts`),
];

/** Whole clusters on virtual time: a third of all the work. */
const simulator = 'test/sim/seeds.test.ts';

/** Files that wait for half of their time: one more than processors, so that these are busy. */
const threeAtOnce = ['--maxWorkers=3'];

/** Libraries that tests drive: the Debian package of each, and whether it is there. */
const libraries = {
  'libredis-perl': () => spawnSync('perl', ['-MRedis', '-e', '1']).status === 0,
  'python3-redis': () => pythonWithRedis() !== undefined,
};

checkNode();
installPackages();
installPrograms();
await count(built());
const asked = process.argv.slice(2);
const checks = count(check(behind));
if (asked.length > 0) {
  await vitest('tests', asked);
  await checks;
} else {
  const sent = join(results, 'sent');
  rmSync(sent, { recursive: true, force: true });
  mkdirSync(sent, { recursive: true });
  process.env.KVORUM_SENT = sent;
  const processes = ['test/cluster/', 'test/storage/', 'test/chaos/'];
  const apart = [...processes.map((folder) => `${folder}**`), simulator];
  // Virtual time is in no hurry: it gets what others leave.
  const seeds = vitest('simulator', [simulator], 'aside');
  const shared = filesInOneProcess(root);
  await vitest('rooms in few processes', [...threeAtOnce, '--no-isolate', ...shared]);
  const others = [...apart, ...shared].flatMap((files) => ['--exclude', files]);
  await vitest('rooms', [...threeAtOnce, ...others]);
  // Clusters and nodes on disks: two files at once.
  await vitest('clusters', [...processes, ...alone.flatMap((file) => ['--exclude', file])]);
  await Promise.all([seeds, checks]);
  await vitest('alone', ['--no-file-parallelism', ...alone]);
  step('every command ran', process.execPath, [join(root, 'test', 'covered-commands.mjs'), sent]);
}
process.stdout.write(`\nall tests took ${seconds(began)}\n`);
end(failed === 0 ? 0 : 1);

function checkNode() {
  const refusal = refusalOfNode(process.versions.node);
  if (refusal === undefined) return;
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}

function installPackages() {
  if (isInstalledAsLocked(root)) return;
  say('installing the locked npm packages …');
  // dev: where NODE_ENV is production npm leaves out what tests need
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund']);
}

function installPrograms() {
  const missing = missingPrograms();
  const apt = aptCommand();
  const absent = apt === undefined ? [] : Object.keys(useful).filter((name) => !isThere(name));
  if (missing.length + absent.length === 0) return;
  const names = [
    ...missing.map((name) => programs[name] ?? name),
    ...absent.map((name) => useful[name]),
  ];
  const packages = [...new Set(names)];
  if (apt === undefined) {
    process.stderr.write(
      `tests need ${missing.join(', ')}; install them (Debian: ${packages.join(' ')}) and repeat\n`,
    );
    process.exit(1);
  }
  say(`installing ${packages.join(', ')} …`);
  withoutStartingServices(apt, () => {
    run(apt[0], [...apt.slice(1), 'update', '-qq']);
    run(apt[0], [...apt.slice(1), 'install', '-y', '-qq', '--no-install-recommends', ...packages]);
  });
  const still = missingPrograms();
  if (still.length === 0) return;
  process.stderr.write(`${packages.join(', ')} installed, and ${still.join(', ')} not found\n`);
  failed++;
  end(1);
}

/** Names of programs, and packages of libraries. */
function missingPrograms() {
  return [
    ...Object.keys(programs).filter((name) => !onPath(name)),
    ...Object.keys(libraries).filter((name) => !libraries[name]()),
  ];
}

function aptCommand() {
  if (!onPath('apt-get')) return undefined;
  if (process.getuid?.() === 0) return ['apt-get'];
  const sudo = onPath('sudo') && spawnSync('sudo', ['-n', 'true']).status === 0;
  return sudo ? ['sudo', '-n', 'apt-get'] : undefined;
}

/** Debian asks policy-rc.d before it starts a service it has installed; 101 says no. */
function withoutStartingServices(apt, install) {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = apt.length === 1 && !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    install();
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}

function onPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((dir) => existsSync(join(dir, name)));
}

/** Also where administrators' programs are, which are not on everybody's path. */
function isThere(name) {
  return onPath(name) || ['/usr/sbin', '/sbin'].some((dir) => existsSync(join(dir, name)));
}

function step(name, command, args) {
  const began = Date.now();
  const { status } = spawn(command, args);
  if (status === 0) passed++;
  else failed++;
  tell(status === 0, `${name}  ${seconds(began)}`);
}

/** dist is what tests of whole processes start. */
async function built() {
  const isBuilt = await checked('build', 'build');
  return isBuilt ? { passed: 1, failed: [] } : { passed: 0, failed: ['build'] };
}

async function count(verdicts) {
  const counts = await verdicts;
  passed += counts.passed;
  failed += counts.failed.length;
  failures.push(...counts.failed.map((name) => `FAILED  ${name}; its words are above`));
}

/** Behind everything else on this machine; resolves with its exit code and what it has said. */
function aside(command, args) {
  return new Promise((resolve) => {
    const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(command, args, options, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : (error.code ?? 1), said: `${stdout}${stderr}` }),
    );
    behind(child);
  });
}

function behind(child) {
  try {
    setPriority(child.pid, constants.priority.PRIORITY_LOW);
  } catch {
    // it has ended, or this system has no priorities
  }
}

/** Resolves with its exit code; what it says is seen at once. */
function infront(command, args) {
  return new Promise((resolve) => {
    const child = start(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', () => resolve({ status: 1, said: '' }));
    child.once('close', (status) => resolve({ status, said: '' }));
  });
}

async function vitest(name, args, where) {
  const began = Date.now();
  const file = join(results, `${name}.json`);
  mkdirSync(results, { recursive: true });
  rmSync(file, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const program = join(root, 'node_modules', '.bin', 'vitest');
  const run = where === 'aside' ? aside : infront;
  const { status, said } = await run(program, ['run', ...reporters, ...args]);
  process.stdout.write(said);
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  passed += report?.numPassedTests ?? 0;
  const failedTests = report?.numFailedTests ?? 0;
  // A file that does not load, or an error outside any test, fails the run without a failed test.
  const outside = status !== 0 && failedTests === 0;
  failed += outside ? 1 : failedTests;
  if (outside)
    tell(false, `${name}: a file does not load, or an error outside any test; see above`);
  for (const suite of report?.testResults ?? []) {
    const time = ((suite.endTime - suite.startTime) / 1000).toFixed(1);
    const why = suite.status === 'passed' ? [] : reasons(suite);
    tell(suite.status === 'passed', `${suite.name.slice(root.length + 1)}  ${time} s`, why);
  }
  say(`${name} took ${seconds(began)}`);
}

/** One line of the result; what failed is kept for the end. */
function tell(isWell, what, why = []) {
  const lines = [`${isWell ? 'ok' : 'FAILED'}  ${what}`, ...why];
  if (!isWell) failures.push(...lines);
  lines.forEach(say);
}

/** Goes beside the name of a file that failed. */
function reasons(suite) {
  const whole = suite.message ? [indented(suite.message, 12)] : [];
  const tests = suite.assertionResults.filter(({ status }) => status === 'failed');
  const named = tests.map(({ fullName, failureMessages }) => [
    `  in  ${fullName}`,
    ...failureMessages.map((message) => indented(message, 12)),
  ]);
  return [...whole, ...named.flat()];
}

function end(code) {
  failures.forEach(say);
  say(`${passed} passed, ${failed} failed`);
  process.exit(code);
}

function indented(text, linesMax) {
  const own = (line) => !line.includes('/node_modules/');
  const lines = text.trim().split('\n').filter(own).slice(0, linesMax);
  return lines.map((line) => `      ${line}`).join('\n');
}

function run(command, args) {
  const { status } = spawn(command, args);
  if (status === 0) return;
  process.stderr.write(`${command} ${args.join(' ')} failed with ${status}\n`);
  failed++;
  end(1);
}

function spawn(command, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env });
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
