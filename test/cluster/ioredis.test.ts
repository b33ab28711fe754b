/** ioredis of both major versions, unmodified, on the gateway and the cluster ports. */
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyClient, families } from './client-families.ts';
import { eventually, ledAsWanted, startCluster, type TestCluster } from './cluster.ts';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
  // a scan of each node by itself finds every key only while leaders stay
  await ledAsWanted(cluster, 4);
}, 300_000);

afterAll(() => cluster?.destroy(), 300_000);

/** The versions differ in types that do not matter here. */
const versions: readonly (readonly [string, typeof Redis])[] = [
  ['ioredis 5.11', Redis5 as unknown as typeof Redis],
  ['ioredis 6', Redis],
];

describe.each(versions)('%s', (version, Client) => {
  const opened: AnyClient[] = [];
  const kept = <T extends AnyClient>(client: T): T => {
    opened.push(client);
    return client;
  };
  const gateway = (node = 0) => kept(new Client({ port: cluster.gatewayPort(node) }));
  const nodes = () => [0, 1, 2].map((at) => ({ host: '127.0.0.1', port: cluster.clusterPort(at) }));
  const ofCluster = (options = {}) => kept(new Client.Cluster(nodes(), options));

  afterAll(() => {
    for (const client of opened) client.disconnect();
  });

  const doors = { gateway, cluster: ofCluster } as const;
  describe.each(['gateway', 'cluster'] as const)('%s port', (door) => {
    test.each(Object.entries(families))('%s', async (name, family) => {
      // two tags, so that more than one partition is asked
      await family(doors[door](), `{${version} ${door} ${name}}`);
      await family(doors[door](), `{${name} ${door} ${version}}`);
    });

    test('many keys of all partitions, pipelined by itself', async () => {
      const client =
        door === 'gateway'
          ? kept(new Client({ port: cluster.gatewayPort(1), enableAutoPipelining: true }))
          : ofCluster({ enableAutoPipelining: true });
      const keys = Array.from({ length: 300 }, (_, at) => `auto:${version}:${door}:${at}`);
      await Promise.all(keys.map((key, at) => client.set(key, at)));
      const values = await Promise.all(keys.map((key) => client.get(key)));
      expect(values).toEqual(keys.map((_, at) => String(at)));
    });

    test('publish and subscribe, by name and pattern', async () => {
      const subscriber = doors[door]();
      const heard: string[] = [];
      subscriber.on('message', (channel, text) => heard.push(`${channel}=${text}`));
      subscriber.on('pmessage', (pattern, channel, text) => {
        heard.push(`${pattern}:${channel}=${text}`);
      });
      const prefix = `${version}-${door}`;
      expect(await subscriber.subscribe(`${prefix}-a`)).toBe(1);
      expect(await subscriber.psubscribe(`${prefix}-b*`)).toBe(2);
      const publisher = doors[door]();
      expect(await publisher.publish(`${prefix}-a`, '1')).toBe(1);
      expect(await publisher.publish(`${prefix}-bc`, '2')).toBe(1);
      await eventually(30_000, 'both messages arrive', async () => heard.length === 2);
      // a cluster's client sends each by any node: only what comes by one of them is in order
      expect(heard.sort()).toEqual([`${prefix}-a=1`, `${prefix}-b*:${prefix}-bc=2`]);
      await subscriber.unsubscribe(`${prefix}-a`);
      expect(await publisher.publish(`${prefix}-a`, '3')).toBe(0);
    });
  });

  test('a shard channel', async () => {
    const subscriber = gateway(0);
    const heard: string[] = [];
    subscriber.on('smessage', (channel, text) => heard.push(`${channel}=${text}`));
    expect(await subscriber.ssubscribe(`${version}-shard`)).toBe(1);
    expect(await gateway(1).spublish(`${version}-shard`, 'x')).toBe(1);
    await eventually(30_000, 'the message arrives', async () => heard.length === 1);
    expect(heard).toEqual([`${version}-shard=x`]);
  });

  test('WATCH, and what another client did meanwhile', async () => {
    const [client, other] = [gateway(0), gateway(1)];
    const key = `watched ${version}`;
    await client.set(key, '1');
    await client.watch(key);
    await other.set(key, '2');
    expect(await client.multi().set(key, '3').exec()).toBe(null);
    await client.watch(key);
    expect(await client.multi().set(key, '3').exec()).toEqual([[null, 'OK']]);
    expect(await other.get(key)).toBe('3');
  });

  test('scan streams find every key, element and member', async () => {
    const client = gateway(2);
    const prefix = `stream ${version}`;
    const batch = client.pipeline();
    for (let at = 0; at < 300; at++) batch.set(`${prefix}:${at}`, at).sadd(prefix, at);
    await batch.exec();
    const found = new Set<string>();
    for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 20 })) {
      for (const key of keys as string[]) found.add(key);
    }
    expect(found.size).toBe(300);
    const members = new Set<string>();
    for await (const some of client.sscanStream(prefix, { count: 20 })) {
      for (const member of some as string[]) members.add(member);
    }
    expect(members.size).toBe(300);
    const perNode = ofCluster();
    await perNode.ping();
    const everywhere = new Set<string>();
    for (const node of perNode.nodes('master')) {
      for await (const keys of node.scanStream({ match: `${prefix}:*` })) {
        for (const key of keys as string[]) everywhere.add(key);
      }
    }
    expect(everywhere).toEqual(found);
  });

  test('keys of several partitions: split on the gateway, CROSSSLOT in the cluster', async () => {
    const keys = ['a', 'b', 'c', 'd'].map((name) => `${version}:${name}`);
    const client = gateway();
    expect(await client.mset(Object.fromEntries(keys.map((key) => [key, key])))).toBe('OK');
    expect(await client.mget(...keys)).toEqual(keys);
    expect(await client.del(...keys)).toBe(4);
    await expect(client.rename(keys[0]!, keys[1]!)).rejects.toThrow(/CROSSSLOT|no such key/);
    await expect(ofCluster().mget(...keys)).rejects.toThrow(/slot/i);
  });

  test('a database that is not there, and a name for the connection', async () => {
    const client = kept(new Client({ port: cluster.gatewayPort(0), connectionName: 'me' }));
    expect(await client.client('GETNAME')).toBe('me');
    expect(await client.client('LIST')).toMatch(/name=me .*lib-name=ioredis/);
    await expect(client.select(7)).rejects.toThrow('ERR DB index is out of range');
    expect(await client.info('server')).toContain('redis_version:7.4.0');
    expect(await client.echo('here')).toBe('here');
  });
});

test('values of megabytes, written and edited through every node, are whole on every node', async () => {
  const MIB = 1_048_576;
  const clients = [0, 1, 2].map((at) => new Redis({ port: cluster.gatewayPort(at) }));
  try {
    const keys = clients.flatMap((_, node) => [0, 1].map((at) => `large:${node}:${at}`));
    const bytesOf = (at: number) => Buffer.alloc(3 * MIB + at, `value ${at} `);
    // small ones before and behind each, on the same connection
    const outcomes = keys.map((key, at) => {
      const client = clients[at % 3]!;
      return [client.set(key, 'small'), client.set(key, bytesOf(at)), client.append(key, 'x')];
    });
    const lengths = keys.map((_, at) => ['OK', 'OK', bytesOf(at).length + 1]);
    expect(await Promise.all(outcomes.map((some) => Promise.all(some)))).toEqual(lengths);
    for (const client of clients) {
      for (const [at, key] of keys.entries()) {
        const value = await client.getBuffer(key);
        expect(value?.equals(Buffer.concat([bytesOf(at), Buffer.from('x')])), key).toBe(true);
      }
    }
    // the log entry is made around the dump's own bytes
    const dump = await clients[0]!.dumpBuffer(keys[0]!);
    expect(await clients[1]!.restore(keys[0]!, 0, dump, 'REPLACE')).toBe('OK');
    const restored = await clients[2]!.getBuffer(keys[0]!);
    expect(restored?.length).toBe(bytesOf(0).length + 1);
  } finally {
    for (const client of clients) client.disconnect();
  }
});
