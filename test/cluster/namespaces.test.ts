/** Namespaces of a cluster of processes: made and deleted while a datanode is killed. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { decodeRecord, recordKinds } from '../../src/meta/records.ts';
import { keys } from '../../src/meta/schema.ts';
import type { MetaOperation, MetaStore } from '../../src/meta/store.ts';
import { namespaceRequests } from '../../src/placedriver/operator/namespaces.ts';
import type { NamespaceSpec } from '../../src/placedriver/operator/operator.ts';
import { Picture } from '../../src/placedriver/picture.ts';
import { defaultPlacementSettings, type MasterTerm } from '../../src/placedriver/term.ts';
import { RawClient } from '../datanode/server/doors.ts';
import { eventually, startCluster, type TestCluster } from './cluster.ts';

let cluster: TestCluster;
let store: MetaStore;
const NODES = [0, 1, 2];
const WAIT_MS = 60_000;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 2 });
  const url = `http://127.0.0.1:${cluster.ports.http + 1}`;
  const logger = silentLogger;
  const random = seededRandom('operator');
  store = connectEtcd({ clock: systemClock, random, logger, urls: [url] });
}, 300_000);

afterAll(async () => {
  await store?.close();
  await cluster?.destroy();
}, 300_000);

/** As the master that the cluster has: its election's key fences what is asked of `store`. */
async function asMaster(store: MetaStore) {
  const { items } = await store.range(keys.election);
  const [master] = [...items].sort((a, b) => a.createRevision - b.createRevision);
  const picture = new Picture();
  picture.list((await store.range(keys.root)).items);
  const { key, createRevision } = master!;
  const lost = new AbortController().signal;
  const resign = () => Promise.resolve();
  const term: MasterTerm = {
    ...{ store, clock: systemClock, random: seededRandom('term'), logger: silentLogger, picture },
    settings: defaultPlacementSettings,
    leadership: { key, revision: createRevision, lost, resign },
    fence: { key, createRevision },
  };
  return { requests: namespaceRequests(term), fence: term.fence };
}

/**
 * In one transaction: what is half made by another than the master's own process is cleaned up. What
 * is to be written is found out on a copy of the store.
 */
async function create(spec: NamespaceSpec): Promise<void> {
  const meta = new MemoryMeta({ clock: systemClock });
  const before = new Map((await store.range(keys.root)).items.map((item) => [item.key, item]));
  for (const [key, item] of before) meta.items.set(key, item);
  const { requests, fence } = await asMaster(meta.connect());
  await requests.createNamespace(spec);
  const puts = [...meta.items.values()]
    .filter(({ key, value }) => before.get(key)?.value !== value)
    .map(({ key, value }): MetaOperation => ({ type: 'put', key, value }));
  const absent = { key: keys.namespace(spec.name), modRevision: 0 };
  expect((await store.transaction([fence, absent], puts)).succeeded).toBe(true);
}

async function partitions(name: string) {
  const { items } = await store.range(keys.partitionsOf(name));
  return items.map(({ key, value }) => decodeRecord(recordKinds.partition, key, value));
}

/** Replicas whose engines lie on a node's disk. */
function engines(node: number): Set<number> {
  const path = join(cluster.data, `datanode${node + 1}`, 'engines');
  expect(existsSync(path)).toBe(true);
  return new Set(readdirSync(path).map((name) => Number(name.split('-')[0])));
}

/** The first line of the last answer. */
async function ask(node: number, ...commands: string[]): Promise<string> {
  const client = await RawClient.open(cluster.gatewayPort(node));
  try {
    let answer = '';
    for (const command of commands) {
      const before = client.text.length;
      client.send(command);
      const text = await client.until((all) => all.indexOf('\r\n', before) >= 0);
      answer = text.slice(before, text.indexOf('\r\n', before));
    }
    return answer;
  } finally {
    client.end();
  }
}

const serves = (node: number, ...commands: string[]) =>
  eventually(WAIT_MS, `node ${node} serves`, async () => (await ask(node, ...commands)) === '+OK');

test('a datanode that was killed before a deletion destroys its replicas when it is back', async () => {
  const db1 = { name: 'db1', partitions: 4, replicas: 3, hash: 'slots' } as const;
  await create(db1);
  for (const node of NODES) await serves(node, 'SELECT 1', `SET key${node} 1`);
  await serves(0, 'SET kept 1');
  const replicas = new Set(
    (await partitions('db1')).flatMap((one) => one.replicas.map(({ replica }) => replica)),
  );
  expect(replicas.size).toBe(12);
  const left = (node: number) => [...engines(node)].filter((id) => replicas.has(id)).length;
  await eventually(WAIT_MS, 'each has its replicas', () => NODES.every((node) => left(node) === 4));

  const pid = cluster.pidOf('datanode3');
  cluster.kill('datanode3');
  await (await asMaster(store)).requests.deleteNamespace('db1');
  await eventually(WAIT_MS, 'the living destroy theirs', () => left(0) + left(1) === 0);
  await eventually(WAIT_MS, 'so does the killed one', () => {
    return cluster.pidOf('datanode3') !== pid && left(2) === 0;
  });
  await eventually(WAIT_MS, 'the name is free', async () => {
    return (await store.get(keys.namespace('db1'))) === undefined;
  });
  await create({ ...db1, partitions: 3, hash: 'murmur3' });
  for (const node of NODES) {
    await serves(node, 'SELECT 1', `SET new${node} 1`);
    expect(await ask(node, 'SELECT 1', `GET key${node}`)).toBe('$-1');
    expect(await ask(node, 'GET kept')).toBe('$1');
  }
  expect(await ask(1, 'SELECT 1', 'DBSIZE')).toBe(':3');
}, 240_000);
