import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isAlive } from '../../src/cli/run-file.ts';
import { KVORUM_VERSION } from '../../src/common/version.ts';
import { NICER, threadsOfOwnPriority } from '../cli/priorities.ts';
import {
  allLed,
  eventually,
  kvorum,
  planCluster,
  startCluster,
  type TestCluster,
} from './cluster.ts';
import { connect } from './load.ts';

let cluster: TestCluster | undefined;
let directory: string | undefined;

afterEach(async () => {
  await cluster?.destroy();
  cluster = undefined;
  if (directory) rmSync(directory, { recursive: true, force: true });
  directory = undefined;
}, 300_000);

/** Runs `kvorum` to its end; for starts that must be refused. */
function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [kvorum, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const limit = setTimeout(() => child.kill('SIGKILL'), 120_000);
    // `close`, not `exit`: only then is all heard that it said last
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ code, output });
    });
  });
}

async function allGone(pids: readonly number[]): Promise<void> {
  await eventually(90_000, 'no child is left', () => pids.every((pid) => !isAlive(pid)));
}

describe('kvorum start', () => {
  test('says what is ready, answers, keeps its data over a stop', async () => {
    cluster = await planCluster({ partitions: 4 });
    const firstMs = await cluster.start();
    process.stdout.write(`ready after ${firstMs.toFixed(0)} ms\n`);
    for (const name of ['placedriver1', 'datanode1', 'datanode2', 'datanode3']) {
      expect(cluster.output).toContain(`${name} ready (pid `);
    }
    expect(cluster.output).toContain(`redis-cli -p ${cluster.ports.gateway}`);
    const client = connect(cluster.gatewayPort(1));
    for (let at = 0; at < 100; at++) await client.set(`key:${at}`, `value:${at}`);
    client.disconnect();
    const { processes } = await cluster.statusByCommand();
    if (process.platform === 'linux') {
      for (const { pid, role } of processes) {
        const nices = threadsOfOwnPriority(pid!).map(([, nice]) => nice);
        expect(nices).toEqual(role === 'datanode' ? [NICER] : []);
      }
    }
    const pids = processes.map((line) => line.pid!);
    await cluster.stop('SIGINT');
    await allGone(pids);
    const againMs = await cluster.start();
    process.stdout.write(`ready again after ${againMs.toFixed(0)} ms\n`);
    const reader = connect(cluster.gatewayPort(2));
    for (let at = 0; at < 100; at++) expect(await reader.get(`key:${at}`)).toBe(`value:${at}`);
    reader.disconnect();
  }, 600_000);

  test('status names processes, leaders and replicas, also when they are dead', async () => {
    cluster = await startCluster({ partitions: 4, flags: ['--no-restart'] });
    const running = cluster;
    await allLed(running, 4);
    const report = await running.statusByCommand();
    expect(report.code).toBe(0);
    expect(report.processes.map((line) => [line.name, line.role, line.alive])).toEqual([
      ['datanode1', 'datanode', true],
      ['datanode2', 'datanode', true],
      ['datanode3', 'datanode', true],
      ['placedriver1', 'placedriver', true],
    ]);
    expect(report.partitions[0]?.replicas.map((replica) => replica.node).sort()).toEqual([
      'datanode1',
      'datanode2',
      'datanode3',
    ]);
    running.kill('datanode2');
    await eventually(90_000, 'status shows the death', async () => {
      const after = await running.statusByCommand();
      const dead = after.processes.some((line) => line.name === 'datanode2' && !line.alive);
      expect(after.code).toBe(dead ? 1 : 0);
      return dead;
    });
    const parent = running.process!;
    parent.stdout!.destroy(); // as `| head` does
    const ended = once(parent, 'exit');
    parent.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
  }, 400_000);

  test('a child that still waits for the metadata store ends with its parent', async () => {
    directory = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
    const file = join(directory, 'n1.yaml');
    const log = join(directory, 'n1.log');
    const ports = '{ gateway: 0, cluster: 0, follower: 0, transport: 0, http: 0 }';
    const nowhere = '{ endpoints: ["http://127.0.0.1:1"] }';
    writeFileSync(
      file,
      `name: n1\ndata-dir: ${directory}/n1\nports: ${ports}\nmeta: ${nowhere}\n` +
        `log: { file: ${log} }\n`,
    );
    const args = [kvorum, 'datanode', '--config', file, '--life-line'];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'ignore'] });
    try {
      await eventually(90_000, 'it waits', () => {
        return existsSync(log) && readFileSync(log, 'utf8').includes('waiting to join');
      });
      // the terminal's own, the second as it closes: the parent decides
      for (const signal of ['SIGINT', 'SIGHUP'] as const) {
        child.kill(signal);
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect([child.exitCode, child.signalCode], signal).toEqual([null, null]);
      }
      child.stdin.end();
      await eventually(90_000, 'it ends', () => child.exitCode === 0);
    } finally {
      child.kill('SIGKILL');
    }
  }, 400_000);

  test('one run by hand says who it is, and takes the end of its terminal as SIGTERM', async () => {
    directory = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
    const file = join(directory, 'p1.yaml');
    const log = join(directory, 'p1.log');
    writeFileSync(
      file,
      `name: p1\ndata-dir: ${directory}/p1\nports: { http: 0 }\n` +
        `meta: { embedded: { port: 0 } }\nlog: { file: ${log} }\n`,
    );
    const child = spawn(process.execPath, [kvorum, 'placedriver', '--config', file], {
      stdio: 'ignore',
    });
    try {
      const lines = () => (existsSync(log) ? readFileSync(log, 'utf8') : '').trim().split('\n');
      await eventually(90_000, 'it is ready', () => lines().some((line) => /"ready"/.test(line)));
      expect(JSON.parse(lines()[0]!)).toMatchObject({
        ...{ name: 'p1', msg: 'starting', version: KVORUM_VERSION, pid: child.pid },
        ...{ config: file, dataDir: join(directory, 'p1'), node: process.version },
      });
      child.kill('SIGHUP');
      await eventually(90_000, 'it ends', () => child.exitCode === 0);
      const stopping = lines().find((line) => line.includes('"stopping"'));
      expect(JSON.parse(stopping ?? '{}')).toMatchObject({ why: 'SIGHUP' });
    } finally {
      child.kill('SIGKILL');
    }
  }, 400_000);

  test('a child that died is started again, with one line; none outlives a parent that is killed', async () => {
    cluster = await startCluster({ partitions: 2 });
    const running = cluster;
    const pid = running.pidOf('datanode3');
    running.kill('datanode3');
    await eventually(90_000, 'it is back', () => {
      try {
        return running.pidOf('datanode3') !== pid;
      } catch {
        return false;
      }
    });
    expect(running.output).toContain('datanode3 was ended by SIGKILL; starting it again');
    const pids = (await running.statusByCommand()).processes.map((line) => line.pid!);
    expect(pids.length).toBe(4);
    expect(pids).not.toContain(pid);
    running.process?.kill('SIGKILL');
    await allGone(pids);
  }, 400_000);
});

test('kvorum status of a directory where nothing has run ends with 1, and names it', async () => {
  const { code, output } = await run(['status', '--data', '/nowhere/kvorum']);
  expect([code, output]).toEqual([
    1,
    'no process has run in /nowhere/kvorum: start a cluster there (kvorum start), or name its --data\n',
  ]);
});

test.each(['start', 'status', 'nodes'])('kvorum %s takes no empty --data', async (verb) => {
  const { code, output } = await run([verb, '--data', '']);
  expect(code).toBe(1);
  expect(output).toContain("option '--data <dir>' argument '' is invalid. must name a directory");
});

test('kvorum --version tells the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(await run(['--version'])).toEqual({ code: 0, output: `${version}\n` });
});

describe('kvorum start refuses with one line and exit code 1', () => {
  let server: Server | undefined;

  afterEach(() => {
    server?.close();
  });

  test('a taken port', async () => {
    const planned = await planCluster();
    cluster = planned;
    server = createServer();
    await new Promise<void>((resolve) =>
      server?.listen(planned.gatewayPort(1), '127.0.0.1', () => resolve()),
    );
    const { code, output } = await run(['start', ...planned.flags]);
    expect(code).toBe(1);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(`port ${planned.gatewayPort(1)} is taken`);
    expect(output).toContain('--port');
  });

  test('a directory that cannot be written', async () => {
    const planned = await planCluster({ data: '/proc/kvorum' });
    const { code, output } = await run(['start', ...planned.flags]);
    expect(code).toBe(1);
    expect(output).toContain('cannot write to /proc/kvorum');
    expect(output).toContain('--data');
  });

  test('a directory of something else, also with --fresh', async () => {
    directory = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
    writeFileSync(join(directory, 'precious'), 'data');
    const planned = await planCluster({ data: directory });
    for (const flags of [planned.flags, [...planned.flags, '--fresh']]) {
      const { code, output } = await run(['start', ...flags]);
      expect(code).toBe(1);
      expect(output.trim().split('\n')).toHaveLength(1);
      expect(output).toContain(directory);
    }
    expect(existsSync(join(directory, 'precious'))).toBe(true);
  });

  test('another version, and another shape of cluster', async () => {
    directory = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
    mkdirSync(directory, { recursive: true });
    const mark = join(directory, 'kvorum-cluster.json');
    writeFileSync(mark, JSON.stringify({ kvorum: 99 }));
    const planned = await planCluster({ data: directory });
    const version = await run(['start', ...planned.flags]);
    expect(version.code).toBe(1);
    expect(version.output).toContain('format 99');
    const ports = { meta: 1, http: 1, datanodes: [] };
    writeFileSync(mark, JSON.stringify({ kvorum: 1, nodes: 5, partitions: 4, replicas: 3, ports }));
    const shape = await run(['start', ...planned.flags]);
    expect(shape.code).toBe(1);
    expect(shape.output).toContain('--nodes 5');
    expect(readFileSync(mark, 'utf8')).toContain('"nodes":5');
  });

  test('options that make no sense', async () => {
    const { code, output } = await run(['start', '--nodes', '2', '--replicas', '3']);
    expect(code).toBe(1);
    expect(output).toContain('--replicas 3 needs as many datanodes');
  });
});
