/** What tens of thousands of calls come to at once takes several turns: others have theirs between. */
import { afterEach, expect, test } from 'vitest';
import { Client, type ClientError, type ClientOptions } from '../../src/sdk/index.ts';
import { bulk, type Peer, scriptedPlacedriver, startPeers } from './peer.ts';

const COUNT = 20_000;
/** Longer than a test may take: on a busy machine so many calls take as long as one may by default. */
const unhurried = { timeoutMs: 300_000, attemptTimeoutMs: 300_000 };
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function scene(script: Peer['script'], options: ClientOptions = {}) {
  const { peers, nodes } = await startPeers([script], ends);
  const partitions = [{ leader: 'n0', replicas: ['n0'] }];
  const driver = scriptedPlacedriver({ epoch: 1, nodes, partitions });
  /** The placedriver answers when this is resolved. */
  const gate = { open: Promise.resolve() };
  const client = new Client(
    { placedrivers: ['p:1'], sessions: false, ...unhurried, ...options },
    { get: (url, signal) => gate.open.then(() => driver.get(url, signal)) },
  );
  ends.push(() => client.disconnect());
  return { client, peer: peers[0]!, gate };
}

/** Calls that nobody answers, and how many have ended. */
async function unanswered(signal?: AbortSignal) {
  const { client } = await scene(([name]) => (name === 'GET' ? bulk('warm') : 'hang'));
  await client.get('warm');
  const ended = new Map<string, number>();
  const count = () => [...ended.values()].reduce((sum, one) => sum + one, 0);
  const calls = Array.from({ length: COUNT }, (_, at) =>
    client.set(`k${at}`, at, { signal }).catch(({ code }: ClientError) => {
      ended.set(code, (ended.get(code) ?? 0) + 1);
    }),
  );
  return { client, calls, ended, count };
}

/** The most that came to `count` in one turn, until it is all of them. */
async function mostOfATurn(count: () => number): Promise<number> {
  let [before, most] = [0, 0];
  while (before < COUNT) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, count() - before);
    before = count();
  }
  return most;
}

test('a client that is closed at once', async () => {
  const { client, count, ended } = await unanswered();
  const { inFlight } = client.pending;
  client.disconnect();
  expect(client.status).toBe('end');
  expect(await mostOfATurn(count)).toBeLessThan(COUNT / 2);
  expect(Object.fromEntries(ended)).toEqual({
    OUTCOME_UNKNOWN: inFlight,
    CLOSED: COUNT - inFlight,
  });
  expect(client.pending).toEqual({ inFlight: 0, queued: 0 });
});

test('a signal of many calls', async () => {
  const abort = new AbortController();
  const { client, count, ended } = await unanswered(abort.signal);
  const { inFlight } = client.pending;
  abort.abort();
  expect(await mostOfATurn(count)).toBeLessThan(COUNT / 2);
  expect(Object.fromEntries(ended)).toEqual({
    OUTCOME_UNKNOWN: inFlight,
    ABORTED: COUNT - inFlight,
  });
});

test('calls that wait for the partitions are sent in their order, and before who comes later', async () => {
  const { client, peer, gate } = await scene(() => '+OK\r\n', { maxInFlight: COUNT * 2 });
  let open = () => {};
  gate.open = new Promise((resolve) => {
    open = resolve;
  });
  const calls: Promise<unknown>[] = Array.from({ length: COUNT }, (_, at) => client.set('k', at));
  const connected = client.connect();
  const ready = new Promise<void>((resolve) => client.once('ready', resolve));
  open();
  await ready;
  calls.push(client.set('k', COUNT));
  expect(client.pending.queued).toBeGreaterThan(COUNT / 2);
  await connected;
  await Promise.all(calls);
  expect(peer.commands).toEqual(calls.map((_, at) => `SET k ${at}`));
});

test('closed while they wait for the partitions', async () => {
  const { client, gate } = await scene(() => '+OK\r\n');
  gate.open = new Promise(() => {});
  let ended = 0;
  for (let at = 0; at < COUNT; at++) client.get('k').catch(() => ended++);
  client.disconnect();
  expect(await mostOfATurn(() => ended)).toBeLessThan(COUNT / 2);
});
