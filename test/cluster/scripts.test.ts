/** Scripts on a cluster of real processes: kills and hand-overs in their midst, others beside them. */
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  allLed,
  eventually,
  ledAsWanted,
  pause,
  startCluster,
  type TestCluster,
} from './cluster.ts';

const PARTITIONS = 4;
/** Long, and nobody is to see a part of it. */
const LONG = `
  local n = 0
  for round = 1, tonumber(ARGV[1]) do
    for at = 1, 1000 do n = n + at end
    redis.call('HSET', KEYS[1], 'f' .. (round % 500), round)
    redis.call('INCR', KEYS[2])
  end
  return redis.call('GET', KEYS[2])`;
const ROUNDS = 1_500;

let cluster: TestCluster;
const clients: Redis[] = [];

beforeAll(async () => {
  cluster = await startCluster({ partitions: PARTITIONS });
  await ledAsWanted(cluster, PARTITIONS);
}, 300_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await cluster.destroy();
}, 300_000);

function connect(node: number, port = cluster.gatewayPort(node)): Redis {
  const client = new Redis({ port, retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

/** Asked again while nobody says it: on a busy machine a node may be late with its answer. */
async function leaderOf(partition: number): Promise<number> {
  let name: string | null | undefined;
  await eventually(60_000, `partition ${partition} is led`, async () => {
    const { partitions } = await cluster.status();
    name = partitions.find((line) => line.partition === partition)?.leader;
    return typeof name === 'string';
  });
  return Number(name!.replace('datanode', '')) - 1;
}

/** Its slot is of the first partition. */
const tag = '{06S}';

test('a script or a call without keys runs from every cluster port, as Redis takes it at any node', async () => {
  const library =
    "#!lua name=anywhere\nredis.register_function('anywhere', function(_, args) return args[1] end)";
  await connect(0).call('FUNCTION', 'LOAD', 'REPLACE', library);
  for (const node of [0, 1, 2]) {
    const client = connect(node, cluster.clusterPort(node));
    // of four partitions each is that of some of them
    for (let at = 0; at < 8; at++) {
      const body = `return ARGV[1] .. '${at}'`;
      const sha = createHash('sha1').update(body).digest('hex');
      expect(await client.eval(body, 0, 'a')).toBe(`a${at}`);
      expect(await client.evalsha(sha, 0, 'b')).toBe(`b${at}`);
    }
    expect(await client.call('FCALL', 'anywhere', '0', 'c')).toBe('c');
  }
  await connect(0).function('DELETE', 'anywhere');
});

test('who listens anywhere hears what a script publishes, once; a script that is loaded is everywhere', async () => {
  const heard: string[] = [];
  for (const node of [0, 1, 2]) {
    const subscriber = connect(node);
    subscriber.on('message', (_channel, text) => heard.push(`${node} ${text}`));
    subscriber.on('smessage', (_channel, text) => heard.push(`${node} ${text}`));
    await subscriber.subscribe('news');
    await subscriber.call('SSUBSCRIBE', 'slotted');
  }
  const publisher = connect(0);
  const body =
    "redis.call('SPUBLISH', 'slotted', 'two') return redis.call('PUBLISH', 'news', ARGV[1])";
  const sha = (await publisher.script('LOAD', body)) as string;
  for (const [at, key] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
    expect(await connect(at % 3).evalsha(sha, 1, key, 'one')).toBe(0);
  }
  const all = [0, 1, 2].flatMap((node) => [`${node} one`, `${node} two`]);
  await eventually(10_000, 'all hear it', () => heard.length >= 6 * all.length);
  await pause(200);
  expect(heard.sort()).toEqual(all.flatMap((text) => Array(6).fill(text)).sort());
});

test('clients that load a script at every port, those for reads of followers too, find it everywhere', async () => {
  const body = 'return {KEYS[1], ARGV[1], 3}';
  const ports = new Set<number>();
  const slots = await connect(0, cluster.clusterPort(0)).cluster('SLOTS');
  for (const [, , , ...replicas] of slots) for (const [, port] of replicas) ports.add(port);
  expect(ports.size).toBe(3);
  const shas = new Set<unknown>();
  for (const port of ports) shas.add(await connect(0, port).script('LOAD', body));
  expect([...shas]).toEqual([createHash('sha1').update(body).digest('hex')]);
  const [sha] = [...shas] as string[];
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    expect(await connect(0).evalsha(sha!, 1, key, 'x')).toEqual([key, 'x', 3]);
  }
  for (const port of ports) expect(await connect(0, port).script('FLUSH')).toBe('OK');
  await expect(connect(0).evalsha(sha!, 1, 'a', 'x')).rejects.toThrow('NOSCRIPT');
});

const LIBRARY = `#!lua name=counting
  local n = 0
  redis.register_function('count', function(keys, args)
    n = n + 1
    return {n, redis.call('INCR', keys[1])}
  end)
  redis.register_function{function_name='peek', flags={'no-writes'}, callback=function(keys)
    return redis.call('GET', keys[1])
  end}`;
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];

test('a library is in all partitions, at whichever port it is loaded', async () => {
  expect(await connect(0).function('LOAD', LIBRARY)).toBe('counting');
  for (const [at, key] of KEYS.entries()) {
    const client = connect(at % 3);
    expect(await client.fcall('count', 1, `fn ${key}`)).toEqual([1, 1]);
    expect(await client.fcall('count', 1, `fn ${key}`)).toEqual([1, 2]);
    expect(await client.fcall_ro('peek', 1, `fn ${key}`)).toBe('2');
  }
  await expect(connect(1).function('LOAD', LIBRARY)).rejects.toThrow(
    "ERR Library 'counting' already exists",
  );
  expect(await connect(2).call('FUNCTION', 'STATS')).toEqual([
    ...['running_script', null, 'engines'],
    ['LUA', ['libraries_count', 1, 'functions_count', 2]],
  ]);
  expect(String(await connect(1).info('memory'))).toMatch(
    /number_of_functions:2\r\nnumber_of_libraries:1\r\n/,
  );
  await expect(connect(0).call('FUNCTION', 'KILL')).rejects.toThrow('NOTBUSY');
  expect(String(await connect(1).call('FUNCTION', 'HELP'))).toContain('LOAD');
  const payload = await connect(0).callBuffer('FUNCTION', 'DUMP');
  // one of the ports leads some, and those that it has none of keep theirs
  expect(await connect(0, cluster.clusterPort(1)).function('DELETE', 'counting')).toBe('OK');
  await eventually(10_000, 'it is missing somewhere', async () => {
    const asked = KEYS.map((key) => connect(0).fcall_ro('peek', 1, `fn ${key}`).catch(String));
    return String(await Promise.all(asked)).includes('Function not found');
  });
  expect(await connect(2).function('LOAD', LIBRARY)).toBe('counting');
  for (const key of KEYS) expect(await connect(0).fcall_ro('peek', 1, `fn ${key}`)).toBe('2');
  expect(await connect(0, cluster.clusterPort(2)).function('FLUSH')).toBe('OK');
  expect(await connect(0).function('DELETE', 'counting')).toBe('OK');
  await expect(connect(0).function('DELETE', 'counting')).rejects.toThrow('Library not found');
  expect(await connect(0).call('FUNCTION', 'RESTORE', payload as Buffer)).toBe('OK');
  expect(await connect(1).call('FUNCTION', 'LIST')).toHaveLength(1);
});

test('a replica that was killed answers calls as one that has run all of them', async () => {
  const key = `${tag}fn`;
  for (let round = 1; round <= 2; round++) {
    const leader = await leaderOf(0);
    const asked = connect((leader + 1) % 3);
    const before = Number((await asked.get(key)) ?? 0);
    expect(await asked.fcall('count', 1, key)).toEqual([1, before + 1]);
    await cluster.killAndWait(`datanode${leader + 1}`);
    await allLed(cluster, PARTITIONS);
    expect(await asked.fcall('count', 1, key)).toEqual([1, before + 2]);
    await ledAsWanted(cluster, PARTITIONS);
  }
  expect(await connect(0).fcall_ro('peek', 1, key)).toBe('4');
});

test('a long script is carried out as a whole, or not at all, whoever is killed in its midst', async () => {
  const [hash, count] = [`${tag}h`, `${tag}n`];
  for (const who of ['leader', 'follower'] as const) {
    await connect(0).del(hash, count);
    const leader = await leaderOf(0);
    const asked = (leader + 1) % 3;
    const victim = who === 'leader' ? leader : (leader + 2) % 3;
    const reply = connect(asked).eval(LONG, 2, hash, count, ROUNDS).catch(String);
    await pause(150);
    await cluster.killAndWait(`datanode${victim + 1}`);
    const answer = await reply;
    await allLed(cluster, PARTITIONS);
    const seen = Number((await connect(asked).get(count)) ?? 0);
    expect([0, ROUNDS], `${who}: ${answer}`).toContain(seen);
    if (answer === `${ROUNDS}`) expect(seen).toBe(ROUNDS);
  }
});

test('a script goes on beside a hand-over, and the next leader knows what was kept', async () => {
  const [hash, count] = [`${tag}h2`, `${tag}n2`];
  const body = `${LONG} -- handed over`;
  const leader = await leaderOf(0);
  const reply = connect((leader + 1) % 3).eval(body, 2, hash, count, ROUNDS);
  await pause(100);
  process.kill(cluster.pidOf(`datanode${leader + 1}`), 'SIGTERM');
  expect(await reply).toBe(`${ROUNDS}`);
  const sha = createHash('sha1').update(body).digest('hex');
  expect(await connect(leader).evalsha(sha, 2, hash, count, 1)).toBe(`${ROUNDS + 1}`);
});

test('others of the node are answered while a script runs that takes long', async () => {
  const leader = await leaderOf(0);
  const pinging = Array.from({ length: 50 }, () => connect(leader));
  await Promise.all(pinging.map((client) => client.ping()));
  let isOver = false;
  let longestMs = 0;
  const counts = pinging.map(() => 0);
  const beside = pinging.map(async (client, at) => {
    while (!isOver) {
      const startedMs = performance.now();
      await client.ping();
      longestMs = Math.max(longestMs, performance.now() - startedMs);
      counts[at]!++;
    }
  });
  const busy = 'local n = 0 while true do n = n + 1 end';
  await expect(connect(leader).eval(busy, 1, `${tag}k`)).rejects.toThrow(/steps/);
  isOver = true;
  await Promise.all(beside);
  const least = Math.min(...counts);
  console.log(`${least} PINGs of each client, the longest took ${longestMs.toFixed(1)} ms`);
  // in one piece it would leave two: one on its way when it begins, and the next when it has ended
  expect(least).toBeGreaterThan(10);
});

test('there is nothing to kill, and nothing to step through', async () => {
  const client = connect(0);
  await expect(client.script('KILL')).rejects.toThrow('NOTBUSY No scripts in execution right now.');
  expect(await client.script('DEBUG', 'NO')).toBe('OK');
  await expect(client.script('DEBUG', 'YES')).rejects.toThrow('SCRIPT DEBUG knows NO alone');
  expect(await client.call('SCRIPT', 'HELP')).toContain('KILL');
});
