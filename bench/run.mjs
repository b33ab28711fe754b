/**
 * `npm run bench`: SET and GET of kvorum (three datanodes, three replicas, fsync before the answer)
 * beside a stock redis-server (`appendonly yes, appendfsync always`), in one run on one machine.
 * Prints requests per second, latencies and the ratio; cleans up after itself.
 *
 *   npm run bench -- [--seconds 5] [--clients 50] [--json FILE]
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    clients: { type: 'string', default: '50' },
    json: { type: 'string' },
  },
});
const directory = mkdtempSync(join(tmpdir(), 'kvorum-bench-'));
const children = [];

try {
  await main();
} finally {
  for (const child of children) await stop(child);
  rmSync(directory, { recursive: true, force: true });
}

async function main() {
  const gateway = await freePorts(3);
  const cluster = await freePorts(3, gateway + 3);
  const http = await freePorts(2, cluster + 3);
  const redis = await freePorts(1, http + 2);
  await startRedis(redis);
  await startKvorum(gateway, cluster, http);
  say(`one machine, all processes together; ${flags.clients} clients, 100-byte values, -r 1000000`);
  say('kvorum: 3 datanodes, 3 replicas, fdatasync before the answer; redis: appendfsync always\n');
  const rows = [];
  for (const pipeline of [1, 16]) {
    for (const test of ['set', 'get']) {
      const beside = { redis: measure(redis, test, pipeline) };
      beside.gateway = measure(gateway, test, pipeline);
      beside.cluster = measure(cluster, test, pipeline, ['--cluster']);
      rows.push({ test, pipeline, ...beside });
      printRow(rows.at(-1));
    }
  }
  if (flags.json) writeFileSync(flags.json, `${JSON.stringify(rows, null, 2)}\n`);
}

function printRow({ test, pipeline, redis, gateway, cluster }) {
  say(`${test.toUpperCase()}, pipeline ${pipeline}`);
  for (const [name, result] of Object.entries({ redis, gateway, cluster })) {
    const ratio = (result.perSecond / redis.perSecond).toFixed(2);
    const latency = `p50 ${result.p50} ms, p99 ${result.p99} ms`;
    say(`  ${name.padEnd(8)} ${Math.round(result.perSecond)}/s  ×${ratio} redis  ${latency}`);
  }
}

/** One run of redis-benchmark, long enough to last about the wanted seconds. */
function measure(port, test, pipeline, extra = []) {
  const run = (requests) => {
    const args = ['-p', port, '-t', test, '-n', requests, '-c', flags.clients, '-P', pipeline];
    args.push('-d', 100, '-r', 1_000_000, '--csv', ...extra);
    const result = spawnSync('redis-benchmark', args.map(String), {
      encoding: 'utf8',
      timeout: 120_000,
    });
    const line = result.stdout
      .split('\n')
      .find((text) => text.startsWith(`"${test.toUpperCase()}`));
    if (!line) throw new Error(`redis-benchmark failed: ${result.stderr || result.stdout}`);
    const [, perSecond, , , p50, , p99] = line.split(',').map((cell) => cell.replaceAll('"', ''));
    return { perSecond: Number(perSecond), p50: Number(p50), p99: Number(p99) };
  };
  const trial = run(5_000 * pipeline);
  return run(Math.max(5_000, Math.round(trial.perSecond * Number(flags.seconds))));
}

async function startRedis(port) {
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  args.push('--appendonly', 'yes', '--appendfsync', 'always');
  children.push(spawn('redis-server', args.map(String), { stdio: 'ignore' }));
  await answering(port);
}

async function startKvorum(gateway, cluster, http) {
  const kvorum = join(root, 'dist', 'cli', 'kvorum.js');
  const args = ['start', '--data', join(directory, 'kvorum'), '--port', gateway];
  args.push('--cluster-port', cluster, '--http-port', http);
  const child = spawn(process.execPath, [kvorum, ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => String(chunk).includes('kvorum is ready') && resolve());
    child.once('exit', (code) => reject(new Error(`kvorum start ended with ${code}`)));
  });
  await answering(gateway);
}

async function answering(port) {
  for (let tried = 0; tried < 200; tried++) {
    const args = ['-p', String(port), 'set', 'bench:ready', '1'];
    const { stdout } = spawnSync('redis-cli', args, { encoding: 'utf8' });
    if (stdout.trim() === 'OK') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing answers on port ${port}`);
}

function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  return new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });
}

async function freePorts(count, from = 10_000 + Math.floor(Math.random() * 8_000)) {
  for (let first = from; first < 30_000; first += count) {
    const wanted = Array.from({ length: count }, (_, at) => first + at);
    if ((await Promise.all(wanted.map(isFree))).every(Boolean)) return first;
  }
  throw new Error('no free ports');
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)));
  });
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
