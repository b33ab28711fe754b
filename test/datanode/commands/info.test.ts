import { beforeEach, expect, test } from 'vitest';
import { FakeNode } from './fake-node.ts';
import { ask } from './node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

/** Section titles of an INFO reply. */
const titles = (text: string) => [...text.matchAll(/# (\w+)\r\n/g)].map(([, title]) => title);

test('INFO has the sections and fields that tools read', async () => {
  const text = await ask(node, 'INFO');
  expect(titles(text)).toEqual([
    'Server',
    'Clients',
    'Memory',
    'Persistence',
    'Stats',
    'Replication',
    'Cpu',
    'Modules',
    'Errorstats',
    'Cluster',
    'Keyspace',
  ]);
  for (const line of [
    'redis_version:7.2.4',
    'redis_mode:standalone',
    'process_id:42',
    'uptime_in_seconds:90',
    'connected_clients:3',
    'used_memory:3145728',
    'loading:0',
    'total_commands_processed:100',
    'role:master',
    'cluster_enabled:0',
    'db0:keys=7,expires=2,avg_ttl=0',
  ]) {
    expect(text).toContain(`${line}\r\n`);
  }
});

test('INFO shows the sections asked for', async () => {
  expect(titles(await ask(node, 'INFO clients keyspace'))).toEqual(['Clients', 'Keyspace']);
  expect(titles(await ask(node, 'INFO commandstats'))).toEqual(['Commandstats']);
  expect(titles(await ask(node, 'INFO everything'))).toContain('Kvorum');
  expect(await ask(node, 'INFO nothing')).toBe('$0\r\n\r\n');
  expect(await ask(node, 'INFO kvorum')).toMatch(/partition_default_0:group=\d+,role=leader/);
});

test('the cluster port says so', async () => {
  const text = await ask(new FakeNode('cluster'), 'INFO');
  expect(text).toContain('cluster_enabled:1\r\n');
  expect(text).toContain('redis_mode:cluster\r\n');
});
