import { beforeEach, expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode('cluster');
});

test('CLUSTER NODES has a line per node in the form clients parse', async () => {
  const lines = (await ask(node, 'CLUSTER NODES')).split('\r\n')[1]!.trimEnd().split('\n');
  expect(lines[0]).toMatch(
    /^1{40} 127\.0\.0\.1:7001@17001 myself,master - 0 \d+ 1 connected 0-8191$/,
  );
  expect(lines[1]).toMatch(/^2{40} .* master - 0 \d+ 1 connected 8192-16382 16383$/);
  expect(lines[2]).toMatch(/^3{40} .* master,fail\? - 0 \d+ 1 disconnected$/);
});

test('CLUSTER SLOTS and SHARDS cover every slot', async () => {
  const slots = await ask(node, 'CLUSTER SLOTS');
  expect(slots).toMatch(/^\*3\r\n\*3\r\n:0\r\n:8191\r\n\*4\r\n\$9\r\n127\.0\.0\.1\r\n:7001\r\n/);
  expect(slots).toContain(':8192\r\n:16382\r\n');
  node.session.protocol = 3;
  expect(await ask(node, 'CLUSTER SLOTS')).toMatch(/:7001\r\n\$40\r\n1{40}\r\n%0\r\n/);
  node.session.protocol = 2;
  expect(slots).toContain(':16383\r\n:16383\r\n');
  const shards = await ask(node, 'CLUSTER SHARDS');
  expect(shards).toContain('$5\r\nslots\r\n*2\r\n:0\r\n:8191\r\n');
  expect(shards).toContain('failed');
});

test('CLUSTER SLOTS alone names followers, at the ports where they answer', async () => {
  node.followers = [{ id: 'f'.repeat(40), host: '127.0.0.1', port: 8_002 }];
  const slots = await ask(node, 'CLUSTER SLOTS');
  expect(slots.match(/:8002\r\n\$40\r\nf{40}\r\n/g)).toHaveLength(3);
  expect(await ask(node, 'CLUSTER NODES')).not.toContain('8002');
  expect(await ask(node, 'CLUSTER SHARDS')).not.toContain('8002');
});

test('the follower-read port shows as a slave of its node', async () => {
  const slave = new FakeNode('follower');
  const info = await ask(slave, 'INFO replication');
  expect(info).toContain('role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:7001\r\n');
  expect(await ask(slave, 'ROLE')).toMatch(/^\*5\r\n\$5\r\nslave\r\n\$9\r\n127.0.0.1\r\n:7001\r\n/);
  expect(await ask(slave, 'HELLO 3')).toContain('$7\r\nreplica\r\n');
  expect(await ask(slave, 'INFO cluster')).toContain('cluster_enabled:1');
  expect(await ask(node, 'INFO replication')).toContain('role:master');
});

test('CLUSTER INFO says ok only when every slot has a leader', async () => {
  expect(await ask(node, 'CLUSTER INFO')).toMatch(
    /cluster_state:ok\r\ncluster_slots_assigned:16384/,
  );
  node.nodes = node.nodes.slice(0, 1);
  expect(await ask(node, 'CLUSTER INFO')).toContain('cluster_state:fail');
});

test('CLUSTER MYID, KEYSLOT, REPLICAS, LINKS', async () => {
  expect(await ask(node, 'CLUSTER MYID')).toBe(`$40\r\n${'1'.repeat(40)}\r\n`);
  expect(await ask(node, 'CLUSTER MYSHARDID')).toBe(`$40\r\n${'1'.repeat(40)}\r\n`);
  expect(await ask(node, 'CLUSTER KEYSLOT foo')).toBe(':12182\r\n');
  expect(await ask(node, 'CLUSTER KEYSLOT {foo}bar')).toBe(':12182\r\n');
  expect(await ask(node, `CLUSTER REPLICAS ${'2'.repeat(40)}`)).toBe('*0\r\n');
  expect(await ask(node, 'CLUSTER REPLICAS x')).toBe('-ERR Unknown node x\r\n');
  expect(await ask(node, 'CLUSTER COUNT-FAILURE-REPORTS x')).toBe('-ERR Unknown node x\r\n');
  expect(await ask(node, 'CLUSTER LINKS')).toBe('*0\r\n');
});

test('what administrators of Redis Cluster do by hand is refused with a reason', async () => {
  for (const command of ['MEET 127.0.0.1 7002', 'FORGET x', 'RESET', 'FAILOVER', 'ADDSLOTS 1']) {
    expect(await ask(node, `CLUSTER ${command}`)).toMatch(
      /^-ERR kvorum places partitions by itself/,
    );
  }
});

test('on the gateway there is no cluster, except for KEYSLOT', async () => {
  const gateway = new FakeNode();
  const disabled = '-ERR This instance has cluster support disabled\r\n';
  expect(await ask(gateway, 'CLUSTER NODES')).toBe(disabled);
  expect(await ask(gateway, 'CLUSTER SLOTS')).toBe(disabled);
  expect(await ask(gateway, 'CLUSTER KEYSLOT foo')).toBe(':12182\r\n');
});
