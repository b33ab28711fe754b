/** `kvorum import` against real clusters: files that a real redis-server wrote, and one that runs. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasRedis } from '../datanode/commands/real-redis.ts';
import { freeStorePort } from '../ports.ts';
import { eventually, kvorum, pause, startCluster, type TestCluster } from './cluster.ts';
import { allKeys, differences } from './same-keys.ts';
import { fillEverything, Traffic } from './source-load.ts';

const bounds = ['--maxmemory', '1gb', '--proto-max-bulk-len', '16777216'];
let cluster: TestCluster;
let source: Source;
let ours: Redis;

/** A redis-server on a port. */
class Source {
  readonly directory = mkdtempSync(join(tmpdir(), 'kvorum-source-'));
  readonly port: number;
  #child: ChildProcess | undefined;
  client!: Redis;

  constructor(port: number) {
    this.port = port;
  }

  async start(...more: string[]): Promise<void> {
    const flags = ['--port', String(this.port), '--dir', this.directory, '--save', ''];
    this.#child = spawn('redis-server', [...flags, '--appendonly', 'no', ...bounds, ...more], {
      stdio: 'ignore',
    });
    this.client = new Redis({ port: this.port });
    await this.client.ping();
  }

  /** Written by SAVE. */
  async file(): Promise<string> {
    await this.client.save();
    return join(this.directory, 'dump.rdb');
  }

  async stop(): Promise<void> {
    this.client?.disconnect();
    const child = this.#child;
    if (child !== undefined && child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const library = (name: string, answer: string) =>
  `#!lua name=${name}\nredis.register_function('${name}', function() return '${answer}' end)`;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...args: readonly string[]): Promise<Ran> {
  return ended(begin(...args));
}

function runImport(...args: readonly string[]): Promise<Ran> {
  return run('import', ...args);
}

function begin(...args: readonly string[]): ChildProcess {
  const bounded = { timeout: 200_000 };
  return execFile(process.execPath, [kvorum, ...args, '--data', cluster.data], bounded);
}

async function ended(child: ChildProcess): Promise<Ran> {
  const said = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    said.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    said.stderr += chunk;
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...said };
}

describe.skipIf(!hasRedis)('kvorum import', () => {
  beforeAll(async () => {
    source = new Source(await freeStorePort());
    await Promise.all([
      startCluster({ partitions: 4 }).then((started) => {
        cluster = started;
      }),
      source.start(),
    ]);
    ours = new Redis({ port: cluster.gatewayPort(0) });
    await fillEverything(source.client);
    await source.client.function('LOAD', library('first', 'as it was'));
    await source.client.function('LOAD', library('second', '2'));
  }, 300_000);

  afterAll(async () => {
    ours?.disconnect();
    await source?.stop();
    await cluster?.destroy();
  }, 300_000);

  test('a file arrives as it is, in every encoding', async () => {
    const file = await source.file();
    const check = await runImport(file, '--check', '--json');
    expect(JSON.parse(check.stdout)).toMatchObject({
      ...{ version: 10, hasChecksum: true, left: [] },
      libraries: expect.arrayContaining(['first', 'second']),
    });
    const ran = await runImport(file);
    expect(ran).toMatchObject({ code: 0 });
    expect(ran.stderr).not.toMatch(/kvorum:/);
    expect(differences(await allKeys(ours), await allKeys(source.client))).toEqual([]);
    expect(await ours.fcall('first', 0)).toBe('as it was');
    const again = await runImport(file);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/the key ".*" is there already: say --on-conflict replace/);
  }, 300_000);

  test('conflicts are kept or replaced, and a dry run changes nothing', async () => {
    const file = await source.file();
    await ours.set('text:1', 'ours');
    await ours.rpush('list:large', 'ours');
    await ours.function('LOAD', 'REPLACE', library('first', 'ours'));
    const keys = await source.client.dbsize();
    const dry = await runImport(file, '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toMatchObject({ existed: keys, keptLibraries: 2 });
    const kept = await runImport(file, '--on-conflict', 'skip', '--json');
    expect(JSON.parse(kept.stdout)).toMatchObject({
      ...{ existed: keys, refused: 0, libraries: 1, keptLibraries: 1 },
    });
    const refused = await runImport(file, '--on-conflict', 'skip', '--functions', 'fail');
    expect(refused.stderr).toMatch(/library of functions first is there already, with other code/);
    expect(await ours.fcall('first', 0)).toBe('ours');
    expect(await ours.get('text:1')).toBe('ours');
    expect(await ours.lindex('list:large', -1)).toBe('ours');
    expect((await runImport(file, '--on-conflict', 'replace')).code).toBe(0);
    expect(await ours.fcall('first', 0)).toBe('as it was');
    expect(differences(await allKeys(ours), await allKeys(source.client))).toEqual([]);
  }, 300_000);

  test('a backup is restored into a namespace of other partitions, when all of it is there', async () => {
    const directory = join(source.directory, 'backup');
    expect(await run('backup', directory)).toMatchObject({ code: 0 });
    const restored = await run('restore', directory, '--as', 'db5', '--partitions', '3');
    expect(restored).toMatchObject({ code: 0 });
    const again = new Redis({ port: cluster.gatewayPort(1), db: 5 });
    expect(differences(await allKeys(again), await allKeys(ours))).toEqual([]);
    expect(await again.fcall('second', 0)).toBe('2');
    again.disconnect();
    const second = await run('restore', directory, '--as', 'db5');
    expect(second.stderr).toMatch(/the namespace db5 has \d+ keys already: name another/);
    const file = join(directory, 'default', '1.rdb');
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
    const damaged = await run('restore', directory, '--as', 'db6');
    expect(damaged.code).toBe(1);
    expect(damaged.stderr).toMatch(/default\/1\.rdb is not what was written.*nothing was written/);
  }, 300_000);

  test('a damaged file and one that is cut are told; standard input is read', async () => {
    const bytes = readFileSync(await source.file());
    const bent = join(source.directory, 'bent.rdb');
    bytes[bytes.length >> 1]! ^= 16;
    writeFileSync(bent, bytes);
    const damaged = await runImport(bent, '--check');
    expect(damaged.code).toBe(1);
    expect(damaged.stderr).toMatch(/at byte \d+, in /);
    bytes[bytes.length >> 1]! ^= 16;
    const child = begin('import', '-', '--on-conflict', 'replace');
    child.stdin?.end(bytes.subarray(0, bytes.length - 3));
    const cut = await ended(child);
    expect(cut.code).toBe(1);
    expect(cut.stderr).toMatch(/in the file's checksum: the file ends here: it is cut/);
  }, 300_000);

  test('a running Redis is followed under load, over a broken link, until both are the same', async () => {
    await ours.flushall();
    await source.client.function('LOAD', library('third', '3'));
    const dump = (await source.client.callBuffer('FUNCTION', 'DUMP')) as Buffer;
    await source.client.function('DELETE', 'third');
    const traffic = new Traffic(source.client);
    const load = traffic.run();
    // lives at the source as long as somebody puts its deadline off
    await source.client.set('session', 'alive', 'PX', 2_500);
    const keepAlive = async (ms: number) => {
      const lives = await source.client.pexpire('session', ms);
      // this process may have stood still for longer than it lives
      if (lives === 0) await source.client.set('session', 'alive again', 'PX', ms);
    };
    const life = setInterval(() => void keepAlive(2_500).catch(() => {}), 500);
    const child = begin(
      'import',
      '--from',
      `redis://127.0.0.1:${source.port}`,
      '--until-caught-up',
      '--json',
    );
    const ran = ended(child);
    await eventually(120_000, 'it follows', async () => {
      return /slave0:.*state=online.*offset=[1-9]/.test(await source.client.info('replication'));
    });
    await source.client.function('RESTORE', dump, 'REPLACE');
    await source.client.function('LOAD', 'REPLACE', library('first', 'from the stream'));
    await source.client.function('DELETE', 'second');
    await pause(1_000);
    await source.client.call('CLIENT', 'KILL', 'TYPE', 'replica');
    await pause(2_500);
    traffic.stop();
    await load;
    clearInterval(life);
    await keepAlive(3_600_000);
    const { code, stdout, stderr } = await ran;
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the stream goes on where it was'),
    });
    const told = JSON.parse(stdout.slice(stdout.indexOf('{')));
    expect(told.commands).toBeGreaterThan(100);
    expect(differences(await allKeys(ours), await allKeys(source.client))).toEqual([]);
    expect(await ours.fcall('first', 0)).toBe('from the stream');
    expect(await ours.fcall('third', 0)).toBe('3');
    await expect(ours.fcall('second', 0)).rejects.toThrow('Function not found');
  }, 300_000);
});
