import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { birthOf, type RunFile, writeRunFile } from '../../src/cli/run-file.ts';
import {
  collect,
  isWhole,
  mergePartitions,
  type NodePartition,
  processText,
} from '../../src/cli/status.ts';

const members = [
  { node: 'n1', id: 1, match: 10 },
  { node: 'n2', id: 2, match: 8 },
];

const report = (node: string, own: Partial<NodePartition>): NodePartition => ({
  namespace: 'default',
  partition: 0,
  node,
  replica: Number(node.slice(1)),
  role: 'follower',
  leader: 'n1',
  term: 3,
  commit: 10,
  applied: 10,
  lastIndex: 10,
  state: 'running',
  members: members.map((member) => ({ ...member, match: 0 })),
  ...own,
});

test('one line per partition, seen by its leader', () => {
  const [line] = mergePartitions([
    report('n2', { applied: 7, commit: 8 }),
    report('n1', { role: 'leader', members }),
  ]);
  expect(line).toEqual({
    namespace: 'default',
    partition: 0,
    leader: 'n1',
    replicas: [
      { node: 'n1', id: 1, role: 'leader', match: 10, state: 'running' },
      { node: 'n2', id: 2, role: 'follower', match: 8, state: 'running' },
    ],
    term: 3,
    commit: 10,
    applied: 10,
    lag: 3,
  });
});

test('a deposed leader does not count, and a silent replica shows', () => {
  const [line] = mergePartitions([report('n1', { role: 'leader', term: 2 }), report('n2', {})]);
  expect(line).toMatchObject({ leader: null, term: 3 });
  const [alone] = mergePartitions([report('n1', { role: 'leader', members })]);
  expect(alone!.replicas[1]).toMatchObject({ node: 'n2', role: 'unknown', state: 'unreachable' });
});

test('partitions come in order', () => {
  const lines = mergePartitions([10, 2, 1].map((partition) => report('n1', { partition })));
  expect(lines.map(({ partition }) => partition)).toEqual([1, 2, 10]);
});

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'kvorum-status-'));
});
afterEach(() => rmSync(data, { recursive: true }));

const pid = process.pid;

function told(name: string, own: Partial<RunFile> = {}): void {
  const role = name.startsWith('datanode') ? 'datanode' : 'placedriver';
  const run = { name, role, pid, host: '127.0.0.1', ports: {}, ...own } as const;
  writeRunFile(join(data, 'run', `${name}.json`), run);
}

function markOf(nodes: number): void {
  const doors = { gateway: 1, cluster: 2, transport: 3, http: 4 };
  const ports = { http: 5, datanodes: Array.from({ length: nodes }, () => doors) };
  const mark = { kvorum: 1, nodes, partitions: 4, replicas: 1, ports };
  writeFileSync(join(data, 'kvorum-cluster.json'), JSON.stringify(mark));
}

const lines = async () => (await collect(data)).processes.map(processText);

test('a process of the cluster that has told nothing of itself has a line', async () => {
  markOf(3);
  told('datanode1', { ports: { gateway: 7 } });
  told('datanode3');
  expect(await lines()).toEqual([
    `datanode1  datanode  pid ${pid}  alive  gateway 7`,
    `datanode2  datanode  not running, or still starting (see ${data}/log/datanode2.log)`,
    `datanode3  datanode  pid ${pid}  alive  `,
    `placedriver1  placedriver  not running, or still starting (see ${data}/log/placedriver1.log)`,
  ]);
});

test('where no cluster was made, or its mark is damaged, what has told of itself is named', async () => {
  mkdirSync(join(data, 'run'));
  expect(await lines()).toEqual([]);
  told('datanode1');
  const found = [`datanode1  datanode  pid ${pid}  alive  `];
  expect(await lines()).toEqual(found);
  writeFileSync(join(data, 'kvorum-cluster.json'), '{');
  expect(await lines()).toEqual(found);
});

test.runIf(process.platform === 'linux')('another process of the same id is not it', async () => {
  told('datanode1', { birth: birthOf(pid) });
  told('datanode2', { birth: 'another boot/1' });
  expect((await collect(data)).processes.map(({ alive }) => alive)).toEqual([true, false]);
});

test('a cluster is whole when all that is planned is alive, and something is', async () => {
  const whole = async () => isWhole(await collect(data));
  expect(await whole()).toBe(false);
  expect(isWhole(await collect(join(data, 'tpyo')))).toBe(false);
  markOf(1);
  told('datanode1');
  expect(await whole()).toBe(false);
  told('placedriver1');
  expect(await whole()).toBe(true);
  told('placedriver1', { pid: 2 ** 22 + 1 });
  expect(await whole()).toBe(false);
});

test('a datanode is asked at an address of IPv6 too', async () => {
  const partitions = [report('n1', {})];
  const server = createServer((_, response) => response.end(JSON.stringify({ partitions })));
  await new Promise<void>((resolve) => server.listen(0, '::1', resolve));
  told('datanode1', { host: '::1', ports: { http: (server.address() as AddressInfo).port } });
  const found = (await collect(data)).partitions;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(found).toHaveLength(1);
});
