/** A client that sends nothing more, or has gone: what it sent may still wait for others. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../cluster/cluster.ts';
import { type Doors, openDoors, type RawClient } from './doors.ts';
import { RawClients, whenBlocked } from './raw-clients.ts';

let doors: Doors;
let client: RawClient;
let other: RawClient;
const clients = new RawClients();

beforeEach(async () => {
  doors = await openDoors(1);
  client = await clients.open(doors.gateway);
  other = await clients.open(doors.gateway);
});

afterEach(async () => {
  clients.end();
  await doors.close();
});

const pause = () => other.ask('CLIENT PAUSE 60000 WRITE', '+OK\r\n');
const unpause = () => other.ask('CLIENT UNPAUSE', '+OK\r\n');
const connected = (count: number) =>
  eventually(30_000, `${count} are there`, () => doors.server.info().connectedClients === count);

/** What the client sent runs up to a command that waits for `open`. */
async function untilItWaits(first: string, ...behind: string[]): Promise<() => void> {
  const [partition] = doors.partitions;
  const open = partition!.shut();
  client.send(first, ...behind);
  await eventually(30_000, 'it runs', () => partition!.batches.length > 0);
  return open;
}

/** What came is read: the node hears of the end only behind it. */
async function endInput(): Promise<void> {
  const heard = doors.server.info().connectedClients;
  client.socket.end();
  await other.ask('PING', '+PONG\r\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  await other.ask('PING', '+PONG\r\n');
  expect(doors.server.info().connectedClients).toBe(heard);
}

async function expectNothingRan(): Promise<void> {
  await unpause();
  expect(await other.ask('GET a', '$-1\r\n')).toBe('$-1\r\n');
}

describe('while clients are paused', () => {
  test('a request that is held back is let go when nothing more comes', async () => {
    await pause();
    client.send('SET a 1');
    await whenBlocked(doors, 1);
    client.socket.end();
    await eventually(10_000, 'closed', () => client.closed);
    expect([client.text, doors.server.info().blockedClients]).toEqual(['', 0]);
    await expectNothingRan();
  });

  test('the same when it came before its turn, and nothing more did', async () => {
    const open = await untilItWaits('DBSIZE', 'SET a 1');
    await endInput();
    await pause();
    open();
    await eventually(10_000, 'closed', () => client.closed);
    expect(doors.server.info().blockedClients).toBe(0);
    await expectNothingRan();
  });

  test('nothing of a client runs that has gone', async () => {
    await pause();
    client.send('SET a 1', 'SET a 2');
    await whenBlocked(doors, 1);
    client.socket.resetAndDestroy();
    await connected(1);
    expect(doors.server.info().blockedClients).toBe(0);
    await expectNothingRan();
  });
});

test('what would wait for an element waits for none, when nothing more comes', async () => {
  const open = await untilItWaits('DBSIZE', 'BLPOP l 0', 'PING');
  await endInput();
  open();
  await eventually(10_000, 'closed', () => client.closed);
  expect(client.text).toBe(':0\r\n*-1\r\n+PONG\r\n');
});

describe('a client that goes while its command runs', () => {
  test.each([
    ['DBSIZE', 'DEL a'],
    ['GET a', 'FLUSHALL'],
  ])('behind %s its %s does not', async (first, behind) => {
    await other.ask('SET a 1', '+OK\r\n');
    doors.partitions[0]!.batches.length = 0;
    const open = await untilItWaits(first, behind);
    client.socket.resetAndDestroy();
    await connected(1);
    open();
    expect(await other.ask('GET a', '$1\r\n1\r\n')).toBe('$1\r\n1\r\n');
  });
});
