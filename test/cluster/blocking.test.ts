/**
 * Producers push known elements, consumers take them with BLPOP, BLMOVE and BZPOPMIN through every
 * node, while datanodes are killed: no element is given twice, and none is lost but with a
 * connection that was waiting for its reply.
 */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';

const CONSUMERS = 9;
const PRODUCERS = 3;
/** Of one partition, and of another one. */
const LISTS = ['{a}one', '{a}two'];
const MOVED = '{a}moved';
const ZSET = '{b}set';
const GIVEN_MIN = 20;

const ended = endedAfterEach();

interface Tally {
  /** Acknowledged pushes. */
  readonly pushed: Set<string>;
  /** Elements whose push ended in an error: they may be there or not. */
  readonly perhaps: Set<string>;
  readonly given: string[];
  /** Waits that ended in an error: an element may have been lost with each. */
  lost: number;
  timeouts: number;
}

function connect(port: number): Redis {
  const client = new Redis({
    port,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  });
  client.on('error', () => {});
  return client;
}

async function produce(client: Redis, who: number, tally: Tally, running: () => boolean) {
  for (let at = 0; running(); at++) {
    const element = `${who}-${at}`;
    try {
      if (at % 4 === 3) await client.zadd(ZSET, at, element);
      else await client.rpush(LISTS[at % 2]!, element);
      tally.pushed.add(element);
    } catch {
      tally.perhaps.add(element);
      await pause(20);
    }
    await pause(at % 5);
  }
}

async function take(client: Redis, who: number): Promise<string | undefined> {
  if (who % 3 === 0) return (await client.blpop(...LISTS, 2))?.[1];
  if (who % 3 === 1)
    return (await client.blmove(LISTS[0]!, MOVED, 'LEFT', 'RIGHT', 2)) ?? undefined;
  return (await client.bzpopmin(ZSET, 2))?.[1];
}

async function consume(client: Redis, who: number, tally: Tally, running: () => boolean) {
  while (running()) {
    try {
      const element = await take(client, who);
      if (element === undefined) tally.timeouts++;
      else tally.given.push(element);
    } catch {
      tally.lost++;
      await pause(20);
    }
  }
}

test('each element is given to one consumer, whatever leaders are killed', async () => {
  const running = ended(await startCluster({ partitions: 4 }));
  const tally: Tally = { pushed: new Set(), perhaps: new Set(), given: [], lost: 0, timeouts: 0 };
  const clients = Array.from({ length: CONSUMERS + PRODUCERS }, (_, at) =>
    connect(running.gatewayPort(at % 3)),
  );
  let producing = true;
  let consuming = true;
  const producers = clients
    .slice(CONSUMERS)
    .map((client, who) => produce(client, who, tally, () => producing));
  const consumers = clients
    .slice(0, CONSUMERS)
    .map((client, who) => consume(client, who, tally, () => consuming));
  for (let kill = 0; kill < scale.kills; kill++) {
    await pause(2_000);
    running.kill(`datanode${(kill % 3) + 1}`);
    const back = clients[kill % 3]!;
    await pause(1_000);
    await eventually(60_000, 'the node is back', async () => (await back.client('ID')) > 0);
  }
  await pause(2_500);
  await eventually(60_000, 'enough is given', () => tally.given.length > GIVEN_MIN);
  producing = false;
  await Promise.all(producers);
  const reader = connect(running.gatewayPort(0));
  await eventually(60_000, 'everything is taken', async () => {
    const left = [...(await Promise.all(LISTS.map((list) => reader.llen(list))))];
    return left.every((length) => length === 0) && (await reader.zcard(ZSET)) === 0;
  });
  // what was taken may be on its way yet: each waits once more, for nothing
  consuming = false;
  await Promise.all(consumers);
  const later = await Promise.all(clients.map((client, who) => take(client, who)));
  expect(later).toEqual(clients.map(() => undefined));
  const moved = await reader.lrange(MOVED, 0, -1);
  reader.disconnect();
  for (const client of clients) client.disconnect();

  const once = new Set(tally.given);
  const twice = tally.given.filter((element, at) => tally.given.indexOf(element) !== at);
  const missing = [...tally.pushed].filter(
    (element) => !once.has(element) && !moved.includes(element),
  );
  const strange = tally.given.filter(
    (element) => !tally.pushed.has(element) && !tally.perhaps.has(element),
  );
  const { pushed, perhaps, given, lost, timeouts } = tally;
  process.stdout.write(
    `pushed ${pushed.size}, perhaps ${perhaps.size}, given ${given.length}, lost waits ${lost}, ` +
      `timeouts ${timeouts}, missing ${missing.length}\n`,
  );
  expect(twice).toEqual([]);
  expect(strange).toEqual([]);
  expect(new Set(moved).size).toBe(moved.length);
  expect(missing.length).toBeLessThanOrEqual(lost);
  expect(given.length).toBeGreaterThan(GIVEN_MIN);
}, 300_000);
