/** Namespaces that come and go on three whole datanodes, on real files and sockets. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { silentLogger } from '../../src/common/log.ts';
import { murmur3 } from '../../src/common/murmur3.ts';
import { systemRandom } from '../../src/common/random.ts';
import { tcpNetwork } from '../../src/common/tcp.ts';
import { datanodeConfigSchema } from '../../src/datanode/config.ts';
import { createDatanode, type Datanode } from '../../src/datanode/datanode.ts';
import { createLevelHost } from '../../src/datanode/engine/leveldb.ts';
import type { NamespaceSpec } from '../../src/placedriver/operator/operator.ts';
import { eventually, pause } from '../cluster/cluster.ts';
import { RawClient } from '../datanode/server/doors.ts';
import { TestDriver } from '../placedriver/driver.ts';

const dir = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
const driver = new TestDriver();
const nodes = new Map<string, Datanode>();
const clients: RawClient[] = [];
const NAMES = ['n1', 'n2', 'n3'];
const WAIT_MS = 60_000;

beforeAll(async () => {
  await driver.start('pd1', 3);
  await Promise.all(NAMES.map(start));
  await eventually(WAIT_MS, 'default is led', async () => {
    return (await ask('n1', 'SET k default')) === '+OK';
  });
}, 300_000);

afterAll(async () => {
  for (const client of clients) client.end();
  await Promise.all(NAMES.map(stop));
  await driver.stop();
  rmSync(dir, { recursive: true, force: true });
}, 300_000);

async function start(name: string): Promise<void> {
  const dataDir = join(dir, name);
  const datanode = await createDatanode({
    config: datanodeConfigSchema.parse({
      ...{ name, 'data-dir': dataDir, meta: { endpoints: ['memory:1'] } },
      ports: { gateway: 0, cluster: 0, follower: 0, transport: 0, http: 0 },
      timing: { 'hold-ms': 20_000 },
    }),
    ...{ clock: systemClock, random: systemRandom(), network: tcpNetwork, disk: fsDisk },
    logger: silentLogger,
    engines: createLevelHost({
      ...{ dir: join(dataDir, 'engines'), disk: fsDisk, logger: silentLogger },
      ...{ cacheBytes: 1_048_576, writeBufferBytes: 65_536 },
    }),
    store: driver.meta.connect(),
    ...{ processId: 1, os: 'test', systemMemoryBytes: 0, configFile: '' },
    usage: () => ({ rssBytes: 0, heapBytes: 0, cpuUserSeconds: 0, cpuSystemSeconds: 0 }),
    fatal: (error) => {
      throw error;
    },
  });
  nodes.set(name, datanode);
}

async function stop(name: string): Promise<void> {
  const node = nodes.get(name);
  nodes.delete(name);
  await node?.stop();
}

async function open(name: string, door: 'gateway' | 'cluster' = 'gateway'): Promise<RawClient> {
  const client = await RawClient.open(nodes.get(name)!.ports[door]);
  clients.push(client);
  return client;
}

/** The first line of the answer. */
async function tell(client: RawClient, command: string): Promise<string> {
  const before = client.text.length;
  client.send(command);
  const text = await client.until((all) => all.indexOf('\r\n', before) >= 0);
  await pause(5);
  return text.slice(before, text.indexOf('\r\n', before));
}

async function ask(name: string, ...commands: string[]): Promise<string> {
  const client = await open(name);
  let answer = '';
  for (const command of commands) answer = await tell(client, command);
  client.end();
  return answer;
}

/** Replicas whose engines lie on the node's disk. */
function engines(name: string): number[] {
  const path = join(dir, name, 'engines');
  const found = existsSync(path) ? readdirSync(path) : [];
  return [...new Set(found.map((each) => Number(each.split('-')[0])))].sort((a, b) => a - b);
}

const enginesInAll = () => NAMES.reduce((sum, name) => sum + engines(name).length, 0);

/** Those that a record still names for the node. */
async function wanted(name: string): Promise<number[]> {
  const all = await Promise.all(['default', 'db1', 'm'].map((each) => driver.partitions(each)));
  return all
    .flat()
    .flatMap(({ replicas }) => replicas.filter(({ node }) => node === name))
    .map(({ replica }) => replica)
    .sort((a, b) => a - b);
}

const agree = (...names: string[]) =>
  eventually(WAIT_MS, 'only wanted engines are left', async () => {
    const pairs = await Promise.all(names.map(async (name) => [engines(name), await wanted(name)]));
    return pairs.every(([found, named]) => String(found) === String(named));
  });

const created = (spec: NamespaceSpec) =>
  eventually(WAIT_MS, `${spec.name} is led`, async () => {
    const ready = (await driver.namespace(spec.name))?.ready === true;
    if (!ready) await driver.operator.createNamespace(spec);
    const places = ['n1', 'n2', 'n3'].filter((name) => nodes.has(name));
    const answers = await Promise.all(
      places.map((name) => ask(name, `SELECT ${spec.name}`, 'SET probe 1')),
    );
    return answers.every((answer) => answer === '+OK');
  });

const db1: NamespaceSpec = { name: 'db1', partitions: 4, replicas: 3, hash: 'slots' };

test('a deleted namespace is gone from every disk; made anew it is empty', async () => {
  await created(db1);
  for (let at = 0; at < 40; at++) await ask('n2', 'SELECT 1', `SET key${at} ${at}`);
  await agree(...NAMES);
  expect(enginesInAll()).toBe(2 + 12);

  const [selected, blocked, queued] = await Promise.all([open('n1'), open('n3'), open('n2')]);
  for (const client of [selected, blocked, queued]) await tell(client, 'SELECT 1');
  blocked.send('BLPOP nothing 0');
  await tell(queued, 'MULTI');
  await tell(queued, 'SET key1 2');
  await pause(200);
  await driver.operator.deleteNamespace('db1');
  await blocked.until((text) => /-ERR namespace 'db1' does not exist/.test(text));
  await eventually(WAIT_MS, 'unknown', async () => {
    return /^-ERR namespace 'db1' does not/.test(await tell(selected, 'GET key1'));
  });
  expect(await tell(selected, 'DBSIZE')).toMatch(/^-ERR namespace 'db1' does not exist/);
  expect(await ask('n1', 'SELECT 1')).toMatch(/^-ERR DB index is out of range/);
  expect(await ask('n1', 'GET k')).toBe('$7');
  // its partitions are still named for a moment
  await eventually(WAIT_MS, 'only the engines of default are left', () => enginesInAll() === 2);
  await agree(...NAMES);
  expect(enginesInAll()).toBe(2);

  await created({ ...db1, partitions: 5 });
  expect(await tell(queued, 'EXEC')).toMatch(/^-EXECABORT .*deleted/);
  expect(await ask('n3', 'SELECT 1', 'DBSIZE')).toBe(':1');
  expect(await tell(selected, 'GET key1')).toBe('$-1');
  expect(await tell(selected, 'SET key1 new')).toBe('+OK');
});

test('a node that was away destroys what was deleted when it is back', async () => {
  await created(db1);
  const before = engines('n3');
  await stop('n3');
  await driver.operator.deleteNamespace('db1');
  await agree('n1', 'n2');
  expect(engines('n3')).toEqual(before);
  await start('n3');
  await agree('n3');
  await eventually(WAIT_MS, 'it is in the picture on disk as well', () => {
    return readFileSync(join(dir, 'n3', 'table'), 'utf8').includes('"deletions":[{');
  });
  await stop('n3');
  await start('n3');
  await agree('n3');
});

test('keys of a murmur3 namespace lie where ZanRedisDB has them, and SCAN gives each', async () => {
  await created({ name: 'm', partitions: 7, replicas: 1, hash: 'murmur3' });
  const keys = Array.from({ length: 200 }, (_, at) => `test:key{same}${at}`);
  const client = await open('n1');
  await tell(client, 'SELECT m');
  await tell(client, 'DEL probe');
  for (const key of keys) expect(await tell(client, `SET ${key} 1`)).toBe('+OK');
  const held = [...nodes.values()]
    .flatMap((node) => [...node.replicas()])
    .filter(({ namespace, isLeader }) => namespace === 'm' && isLeader)
    .map(({ partition, counts }) => [partition, counts().keys]);
  const counted = Array.from({ length: 7 }, (_, partition) => [
    partition,
    keys.filter((key) => murmur3(Buffer.from(key)) % 7 === partition).length,
  ]);
  expect(held.sort((a, b) => a[0]! - b[0]!)).toEqual(counted);
  expect(await tell(client, 'DBSIZE')).toBe(':200');

  const seen = new Set<string>();
  let cursor = '0';
  let calls = 0;
  do {
    const from = client.text.length;
    client.send(`SCAN ${cursor} COUNT 13`, `ECHO scan-${calls}-end`);
    const isWhole = (all: string) => all.endsWith(`scan-${calls}-end\r\n`);
    const text = (await client.until(isWhole)).slice(from);
    cursor = /^\*2\r\n\$\d+\r\n(\d+)\r\n/.exec(text)![1]!;
    for (const [key] of text.matchAll(/test:key\{same\}\d+/g)) seen.add(key);
    calls++;
  } while (cursor !== '0' && calls < 200);
  expect([...seen].sort()).toEqual([...keys].sort());

  expect(await tell(client, `MSETNX ${keys[0]} 1 ${keys[1]} 2 ${keys[2]} 3`)).toMatch(
    /^-CROSSSLOT .*murmur3/,
  );
  await ask('n1', 'ACL SETUSER zan on >pw ~* &* +@all namespace=m');
  const door = await open('n2', 'cluster');
  await tell(door, 'AUTH zan pw');
  for (const key of keys.slice(0, 20)) expect(await tell(door, `GET ${key}`)).toBe('$1');
  expect(await tell(door, 'CLUSTER SLOTS')).toMatch(/^-ERR this namespace has no slots/);
});
