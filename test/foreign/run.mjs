/**
 * `npm run test:foreign`: clients and tools of other languages, real and pinned, against a real cluster.
 * Not part of `npm test`: they need compilers and their own registries. Each folder beside this file
 * that has a `foreign.json` is a suite:
 *
 *   { "needs": ["go"], "prepare": ["go", "build", "-o", "suite", "."], "run": ["./suite"], "seconds": 300 }
 *
 * A suite whose `needs` are not on PATH is skipped, and that is said. Its program finds the cluster in
 * the environment (see `places`), and prints `ok NAME` or `not ok NAME: why` for each thing it has
 * tried; what else it prints is shown when it fails. Words of names: those suites alone.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const program = join(here, '..', '..', 'dist', 'cli', 'kvorum.js');
const READY_MS = 120_000;
const PREPARE_MS = 900_000;
const HELP = `Runs clients of other languages against a cluster of three datanodes.

  npm run test:foreign -- [--port N] [WORDS ...]

  --port N   first of the ports that the cluster takes (default 24000)
  WORDS      only suites whose names hold one of these (without: all of them)

Ends with exit code 1 when something failed.
`;

function optionsOf(args) {
  const options = { port: 24_000, words: [] };
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--help') end(HELP, 0);
    else if (args[i] === '--port') options.port = Number(args[++i]);
    else if (args[i].startsWith('--')) end(`there is no option ${args[i]}; --help lists them\n`, 2);
    else options.words.push(args[i]);
  }
  if (!(Number.isInteger(options.port) && options.port >= 1_024 && options.port <= 50_000))
    end('--port is a number of 1024 to 50000\n', 2);
  return options;
}

function end(text, code) {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

function suites(words) {
  return readdirSync(here)
    .filter((name) => existsSync(join(here, name, 'foreign.json')))
    .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
    .sort()
    .map((name) => ({
      name,
      ...JSON.parse(readFileSync(join(here, name, 'foreign.json'), 'utf8')),
    }));
}

function isOnPath(command) {
  return spawnSync('sh', ['-c', `command -v "${command}"`], { stdio: 'ignore' }).status === 0;
}

/** Where the program finds what: `host:port` each, several with commas between them. */
function places(port, directory) {
  const three = (first) => [0, 1, 2].map((i) => `127.0.0.1:${first + i}`).join(',');
  return {
    /** Any key on any node. */
    KVORUM_GATEWAYS: three(port),
    /** For clients of Redis Cluster. */
    KVORUM_CLUSTER: three(port + 50),
    /** The placedriver's HTTP API. */
    KVORUM_HTTP: `127.0.0.1:${port + 100}`,
    /** For clients of ZanRedisDB. */
    KVORUM_ZAN: three(port + 150),
    /** `datanode1` … with their process ids in `run/NAME.json`, to be killed by who wants to. */
    KVORUM_DIRECTORY: directory,
  };
}

async function startCluster(port, directory) {
  const args = ['start', '--data', directory, '--port', port, '--cluster-port', port + 50];
  args.push('--http-port', port + 100, '--zan-port', port + 150);
  const child = spawn(process.execPath, [program, ...args.map(String)]);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  for (let waited = 0; !said.includes('kvorum is ready'); waited += 100) {
    if (child.exitCode !== null || waited > READY_MS) {
      child.kill('SIGINT');
      throw new Error(`the cluster is not ready:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    stop: async () => {
      child.kill('SIGINT');
      await ended;
    },
  };
}

/** Resolves with the exit code and what was printed. */
function runProgram([command, ...args], { cwd, env, ms, onLine }) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
  const timer = setTimeout(() => child.kill('SIGKILL'), ms);
  let text = '';
  let rest = '';
  child.stderr.on('data', (chunk) => (text += chunk));
  child.stdout.on('data', (chunk) => {
    text += chunk;
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) onLine?.(line);
  });
  return new Promise((resolve) => {
    child.once('error', (error) => (text += error.message));
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, text });
    });
  });
}

/** Returns what passed and what did not. */
async function runSuite(suite, env) {
  const cwd = join(here, suite.name);
  const count = { passed: 0, failed: 0 };
  if (suite.prepare !== undefined) {
    const made = await runProgram(suite.prepare, { cwd, env, ms: PREPARE_MS });
    if (made.code !== 0) return fail(count, `${suite.name} can't be made`, made.text);
  }
  const onLine = (line) => {
    if (/^(not )?ok /.test(line)) process.stdout.write(`${suite.name}: ${line}\n`);
    if (line.startsWith('ok ')) count.passed++;
    if (line.startsWith('not ok ')) count.failed++;
  };
  const ms = suite.seconds * 1_000;
  const { code, text } = await runProgram(suite.run, { cwd, env, ms, onLine });
  if (code !== 0 && count.failed === 0) fail(count, `${suite.name} ended with ${code}`, text);
  else if (count.passed + count.failed === 0) fail(count, `${suite.name} tried nothing`, text);
  return count;
}

function fail(count, what, text) {
  count.failed++;
  process.stdout.write(`not ok ${what}\n${text.slice(-4_000)}\n`);
  return count;
}

const options = optionsOf(process.argv.slice(2));
const chosen = suites(options.words);
if (chosen.length === 0) end('no suite has such a name\n', 2);
const total = { passed: 0, failed: 0, skipped: 0 };
for (const suite of chosen) {
  const missing = suite.needs.filter((command) => !isOnPath(command));
  if (missing.length > 0) {
    process.stdout.write(`${suite.name}: skipped, ${missing.join(' and ')} not on PATH\n`);
    total.skipped++;
    continue;
  }
  const directory = mkdtempSync(join(tmpdir(), 'kvorum-foreign-'));
  const cluster = await startCluster(options.port, directory);
  try {
    const { passed, failed } = await runSuite(suite, places(options.port, directory));
    total.passed += passed;
    total.failed += failed;
  } finally {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
process.stdout.write(
  `${total.passed} passed, ${total.failed} failed, ${total.skipped} suites skipped\n`,
);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
