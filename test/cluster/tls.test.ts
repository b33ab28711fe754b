/** `kvorum start --tls`: a whole cluster that speaks TLS, to clients of both kinds. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../../src/common/tls/ask.ts';
import { Client } from '../../src/sdk/client.ts';
import { eventually, kvorum, startCluster, type TestCluster } from './cluster.ts';

let cluster: TestCluster;
let caFile: string;
let ca: string;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 2, partitions: 2, flags: ['--tls'] });
  caFile = join(cluster.data, 'tls', 'ca.crt');
  ca = readFileSync(caFile, 'utf8');
}, 300_000);

afterAll(() => cluster?.destroy(), 60_000);

const https = () => `https://127.0.0.1:${cluster.ports.http}`;

async function verb(...args: readonly string[]): Promise<string> {
  const ran = await promisify(execFile)(process.execPath, [kvorum, ...args]);
  return ran.stdout;
}

/** What the run file of a process says of its HTTP port. */
function httpPort(name: string): number {
  const run = JSON.parse(readFileSync(join(cluster.data, 'run', `${name}.json`), 'utf8'));
  return run.ports.http as number;
}

describe('a cluster of kvorum start --tls', () => {
  test('takes plain clients and those of TLS at the same ports', async () => {
    const plain = new Redis({ port: cluster.gatewayPort(0) });
    const secure = new Redis({ port: cluster.gatewayPort(1), tls: { ca } });
    // keys of both partitions: some of them go from one node to the other
    const keys = Array.from({ length: 20 }, (_, at) => `key:${at}`);
    for (const key of keys) await plain.set(key, `of ${key}`);
    expect(await secure.mget(...keys)).toEqual(keys.map((key) => `of ${key}`));
    expect(await secure.info('clients')).toContain('connected_clients');
    for (const client of [plain, secure]) client.disconnect();
    const stranger = new Redis({ port: cluster.gatewayPort(0), tls: {}, lazyConnect: true });
    stranger.on('error', () => {});
    await expect(stranger.connect()).rejects.toThrow();
    stranger.disconnect();
  }, 60_000);

  test('is found by the SDK at placedrivers and at datanodes, and by who believes it alone', async () => {
    const tls = { ca };
    const ways = [
      { placedrivers: [https()], tls },
      { placedrivers: [`127.0.0.1:${cluster.ports.http}`] },
      { datanodes: [`127.0.0.1:${cluster.clusterPort(0)}`], tls },
    ];
    for (const [at, way] of ways.entries()) {
      await using client = new Client({ ...way, timeoutMs: 30_000 });
      await client.set('sdk', `way ${at}`);
      expect(await client.get('sdk')).toBe(`way ${at}`);
    }
    const stranger = new Client({ placedrivers: [https()], tls: true });
    stranger.on('error', () => {});
    // a busy machine may take longer for a handshake than a short call has, and then says less
    await eventually(60_000, 'it is told of the certificate', async () => {
      const told = await stranger.get('sdk', { timeoutMs: 500 }).catch(String);
      return /certificate/.test(String(told));
    });
    stranger.disconnect();
  }, 120_000);

  test('is asked by verbs, by its directory and by https, and makes a backup', async () => {
    const byUrl = ['--url', https(), '--ca', caFile];
    const byData = ['--data', cluster.data];
    for (const where of [byUrl, byData]) {
      expect(JSON.parse(await verb('nodes', ...where, '--json')).nodes).toHaveLength(2);
    }
    expect(await verb('status', ...byData)).toContain('placedriver1');
    const made = join(cluster.data, 'backup');
    await verb('backup', made, ...byUrl, '--tls');
    expect(await verb('restore', made, ...byData, '--as', 'db1')).toMatch(/^21 keys/m);
  }, 120_000);

  test('tells both kinds of processes how long their certificates are valid', async () => {
    for (const name of ['datanode1', 'placedriver1']) {
      const url = `https://127.0.0.1:${httpPort(name)}/metrics`;
      const { text } = await ask(url, { authorities: ca });
      expect(text).toMatch(/kvorum_tls_certificate_days_left\{file="cert-file"\} 36[45]/);
    }
    const stats = await ask(`http://127.0.0.1:${cluster.ports.http}/cluster/stats`);
    expect(JSON.parse(stats.text)).toMatchObject({ datanodes: 2 });
  }, 60_000);
});
