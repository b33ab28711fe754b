/**
 * Producers add entries to streams, consumers of groups and readers wait for them through every node, while
 * datanodes are killed: a group gives each entry to one consumer, or it is pending for one that lost its
 * reply; a reader sees all of them in order.
 */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';

const CONSUMERS = 6;
const READERS = 4;
const PRODUCERS = 3;
/** Of one partition, so that one command may wait for both. */
const STREAMS = ['{a}one', '{a}two'];
const GROUPS = ['g', 'h'];
const ADDED_MIN = 100;
const WAIT_MS = '2000';
const CLAIM_MS = 3_000;

const ended = endedAfterEach();

type Entries = readonly [id: string, fields: readonly string[], idleMs?: number, given?: number][];
type Rows = readonly (readonly [stream: string, entries: Entries])[];

interface Consumer {
  readonly group: string;
  readonly given: string[];
  lost: number;
}

/** What one saw of each stream, in the order in which it did. */
type Seen = Map<string, string[]>;

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

/** What either command answered: the client shows RESP3's map as a flat list. */
function rowsOf(reply: unknown): Rows {
  const items = (reply ?? []) as readonly unknown[];
  if (Array.isArray(items[0])) return items as Rows;
  return items.flatMap((item, at) =>
    at % 2 === 0 ? [[item as string, items[at + 1] as Entries] as const] : [],
  );
}

/** What one consumer keeps for long becomes another's while that waits: no entry makes it so. */
async function claimWhileWaiting(main: Redis, other: Redis): Promise<Rows> {
  await main.xgroup('CREATE', '{a}kept', 'g', '0', 'MKSTREAM');
  await main.xadd('{a}kept', '1-0', 'f', 'v');
  await main.xreadgroup('GROUP', 'g', 'keeps', 'STREAMS', '{a}kept', '>');
  const options = ['BLOCK', 100_000, 'CLAIM', CLAIM_MS, 'STREAMS', '{a}kept', '>'];
  return rowsOf(await other.call('XREADGROUP', 'GROUP', 'g', 'takes', ...options));
}

async function produce(client: Redis, who: number, added: Set<string>, running: () => boolean) {
  for (let at = 0; running(); at++) {
    const stream = STREAMS[at % 2]!;
    try {
      added.add(`${stream} ${await client.xadd(stream, '*', 'from', `${who}-${at}`)}`);
    } catch {
      await pause(20);
    }
    await pause(at % 7);
  }
}

async function consume(client: Redis, who: number, consumer: Consumer, running: () => boolean) {
  const streams = who % 3 === 0 ? [...STREAMS, '>', '>'] : [STREAMS[who % 2]!, '>'];
  const name = `c${who}`;
  while (running()) {
    try {
      const reply = await client.call(
        'XREADGROUP',
        ...['GROUP', consumer.group, name, 'COUNT', '3', 'BLOCK', WAIT_MS, 'STREAMS', ...streams],
      );
      for (const [stream, entries] of rowsOf(reply)) {
        consumer.given.push(...entries.map(([id]) => `${stream} ${id}`));
        await client.xack(stream, consumer.group, ...entries.map(([id]) => id));
      }
    } catch {
      consumer.lost++;
      await pause(20);
    }
  }
}

/** `from`: behind what it begins. */
async function follow(client: Redis, from: '0' | '$', seen: Seen, running: () => boolean) {
  const behind = (stream: string) => seen.get(stream)?.at(-1) ?? from;
  // behind what is last it begins once for both: what came to one is not to be skipped for the other
  const streams = from === '0' ? STREAMS : STREAMS.slice(0, 1);
  while (running()) {
    try {
      const reply = await client.call(
        'XREAD',
        ...['COUNT', '5', 'BLOCK', WAIT_MS, 'STREAMS', ...streams, ...streams.map(behind)],
      );
      for (const [stream, entries] of rowsOf(reply)) {
        const all = seen.get(stream) ?? [];
        all.push(...entries.map(([id]) => id));
        seen.set(stream, all);
      }
    } catch {
      await pause(20);
    }
  }
}

test('a group gives each entry once, a reader sees all, whatever leaders are killed', async () => {
  const running = ended(await startCluster({ partitions: 4 }));
  const clients = Array.from({ length: CONSUMERS + READERS + PRODUCERS + 1 }, (_, at) =>
    connect(running.gatewayPort(at % 3)),
  );
  const main = clients[0]!;
  for (const stream of STREAMS) {
    for (const group of GROUPS) await main.xgroup('CREATE', stream, group, '0', 'MKSTREAM');
  }
  const added = new Set<string>();
  const consumers = Array.from(
    { length: CONSUMERS },
    (_, who): Consumer => ({ group: GROUPS[Math.floor(who / 3)]!, given: [], lost: 0 }),
  );
  const seen = Array.from({ length: READERS }, (): Seen => new Map());
  let [producing, consuming] = [true, true];
  const [takers, others] = [clients.slice(1, CONSUMERS + 1), clients.slice(CONSUMERS + 1)];
  const waiting = [
    ...takers.map((client, who) => consume(client, who, consumers[who]!, () => consuming)),
    ...seen.map((all, who) =>
      follow(others[who]!, who % 2 === 0 ? '0' : '$', all, () => consuming),
    ),
  ];
  const producers = others
    .slice(READERS)
    .map((client, who) => produce(client, who, added, () => producing));
  for (let kill = 0; kill < scale.kills; kill++) {
    await pause(2_000);
    running.kill(`datanode${(kill % 3) + 1}`);
    await pause(1_000);
    const back = others[READERS + (kill % 3)]!;
    await eventually(60_000, 'the node is back', async () => (await back.client('ID')) > 0);
  }
  await eventually(60_000, 'enough is added', () => added.size > ADDED_MIN);
  producing = false;
  await Promise.all(producers);
  const all = new Map<string, string[]>();
  for (const stream of STREAMS) {
    all.set(
      stream,
      (await main.xrange(stream, '-', '+')).map(([id]) => id),
    );
  }
  const everything = [...all].flatMap(([stream, ids]) => ids.map((id) => `${stream} ${id}`));
  const givenTo = (group: string) =>
    consumers.filter((one) => one.group === group).flatMap(({ given }) => given);
  const pendingIn = async (group: string) => {
    const found: string[] = [];
    for (const stream of STREAMS) {
      const rows = (await main.xpending(stream, group, '-', '+', 1_000_000)) as [string][];
      found.push(...rows.map(([id]) => `${stream} ${id}`));
    }
    return found;
  };
  await eventually(60_000, 'readers have all', () =>
    seen.every((of) => of.get(STREAMS[0]!)?.at(-1) === all.get(STREAMS[0]!)!.at(-1)),
  );
  await eventually(60_000, 'groups have read all', async () => {
    for (const group of GROUPS) {
      const known = new Set([...(await pendingIn(group)), ...givenTo(group)]);
      if (!everything.every((entry) => known.has(entry))) return false;
    }
    return true;
  });
  consuming = false;
  await Promise.all(waiting);
  const pending = new Map<string, string[]>();
  for (const group of GROUPS) pending.set(group, await pendingIn(group));
  const claimed = await claimWhileWaiting(main, others[0]!);
  for (const client of clients) client.disconnect();

  const lost = consumers.reduce((sum, one) => sum + one.lost, 0);
  process.stdout.write(
    `added ${added.size}, there ${everything.length}, given ${GROUPS.map((of) => givenTo(of).length)}, ` +
      `pending ${GROUPS.map((of) => pending.get(of)!.length)}, lost waits ${lost}, ` +
      `read ${seen.map((of) => of.get(STREAMS[0]!)!.length)}\n`,
  );
  expect(claimed).toMatchObject([['{a}kept', [['1-0', ['f', 'v'], expect.any(Number), 1]]]]);
  expect(Number(claimed[0]![1][0]![2])).toBeGreaterThanOrEqual(CLAIM_MS);
  expect([...added].filter((entry) => !everything.includes(entry))).toEqual([]);
  for (const group of GROUPS) {
    const given = givenTo(group);
    const known = new Set([...given, ...pending.get(group)!]);
    expect(new Set(given).size, `what ${group} gave twice`).toBe(given.length);
    expect(everything.filter((entry) => !known.has(entry))).toEqual([]);
    // 3 of each of two streams is what a wait may have lost with its connection
    expect(pending.get(group)!.length).toBeLessThanOrEqual(6 * lost);
  }
  for (const [who, of] of seen.entries()) {
    const [first, second] = STREAMS.map((stream) => of.get(stream) ?? []);
    const whole = all.get(STREAMS[0]!)!;
    if (who % 2 === 0) expect([first, second]).toEqual(STREAMS.map((stream) => all.get(stream)));
    else expect(first).toEqual(whole.slice(whole.indexOf(first![0]!)));
  }
}, 300_000);
