/** Users on real processes: made at one node, asked for at every node, also after a restart. */
import { expect, test } from 'vitest';
import { RawClient } from '../datanode/server/doors.ts';
import { startCluster } from './cluster.ts';

test('a password set at one node is asked for at all, and by those that start again', async () => {
  const cluster = await startCluster({ nodes: 3, partitions: 2 });
  try {
    const first = await RawClient.open(cluster.gatewayPort(0));
    await first.ask('CONFIG SET requirepass secret', '+OK\r\n');
    await first.ask('ACL SETUSER bob on >pw +get +ping ~b*', '+OK\r\n');
    const noAuth = '-NOAUTH Authentication required.\r\n';
    const denied = async (node: number) => {
      const client = await RawClient.open(cluster.gatewayPort(node));
      const answer = await client.ask('PING', '+PONG\r\n');
      client.end();
      return answer === noAuth;
    };
    for (const node of [1, 2]) await expect.poll(() => denied(node)).toBe(true);
    const bob = await RawClient.open(cluster.gatewayPort(2));
    expect(await bob.ask('AUTH bob pw', '+OK\r\n')).toBe('+OK\r\n');
    expect(await bob.ask('GET b1', '$-1\r\n')).toBe('$-1\r\n');
    expect(await bob.ask('GET a1', '-NOPERM')).toMatch(/^-NOPERM/);
    await first.ask('ACL DELUSER bob', ':1\r\n');
    await bob.until(() => bob.closed);
    first.end();
    await cluster.stop();
    await cluster.start();
    for (const node of [0, 1, 2]) expect(await denied(node)).toBe(true);
  } finally {
    await cluster.destroy();
  }
}, 240_000);
