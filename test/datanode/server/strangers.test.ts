/** What a client sends behind commands that have not run yet, of which one says who it is. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import { eventually } from '../../cluster/cluster.ts';
import { type Doors, openDoors, wire } from './doors.ts';
import { RawClients, whenBlocked } from './raw-clients.ts';

const clients = new RawClients();
let doors: Doors;

/** While it is, a turn's time passes between two looks at the clock. */
let isSlow = false;
let skewMs = 0;
const clock = {
  ...systemClock,
  monotonicMs: () => {
    if (isSlow) skewMs += limits.turnMs;
    return systemClock.monotonicMs() + skewMs;
  },
};

beforeEach(async () => {
  doors = await openDoors(4, {}, 'slots', Number.POSITIVE_INFINITY, clock);
});

afterEach(async () => {
  isSlow = false;
  clients.end();
  await doors.close();
});

const password = 'pw';
const tooMany = ['MGET', ...Array.from({ length: 10 }, () => 'a')].join(' ');
const tooLong = `GET ${'k'.repeat(16_385)}`;
const refusedMany = '-ERR Protocol error: unauthenticated multibulk length\r\n';
const refusedLong = '-ERR Protocol error: unauthenticated bulk length\r\n';
const wrong = '-WRONGPASS invalid username-password pair or user is disabled.\r\n';
const nothing = '$-1\r\n';

/** Where a password is asked for. */
async function openLocked() {
  const admin = await clients.open(doors.gateway);
  await admin.ask(`CONFIG SET requirepass ${password}`, '+OK\r\n');
  return { admin, client: await clients.open(doors.gateway) };
}

/** What `lines` are answered that come while clients are paused, once they are not. */
async function behindAPause(lines: readonly string[], isWhole: (text: string) => boolean) {
  const { admin, client } = await openLocked();
  await admin.ask('CLIENT PAUSE 60000 ALL', '+OK\r\n');
  const before = doors.server.info().inputBytes;
  client.send(...lines);
  // the first line, and the header of the one behind it
  const seen = before + wire(lines[0]!).length + wire('GET').length;
  await eventually(30_000, 'it is read', () => doors.server.info().inputBytes >= seen);
  await whenBlocked(doors, 1);
  await admin.ask('CLIENT UNPAUSE', '+OK\r\n');
  return client.until((text) => client.closed || isWhole(text));
}

test.each([
  ['many arguments', tooMany, refusedMany],
  ['a long one', tooLong, refusedLong],
])('behind a wrong password: %s', async (_, line, refused) => {
  const text = await behindAPause(['AUTH wrong', line, 'PING'], () => false);
  expect(text).toBe(wrong + refused);
});

test('behind the password all of it is taken, in its order', async () => {
  const values = `*10\r\n${nothing.repeat(10)}`;
  const answers = `+OK\r\n${values}${nothing}${nothing}`;
  const lines = [`AUTH ${password}`, tooMany, 'GET a', tooLong];
  const text = await behindAPause(lines, (so) => so.length >= answers.length);
  expect(text).toBe(answers);
});

test.each([
  [`AUTH ${password}`, `+OK\r\n*10\r\n${nothing.repeat(10)}`],
  ['AUTH wrong', wrong + refusedMany],
])('behind %s that took all of a turn', async (line, answer) => {
  const { client } = await openLocked();
  isSlow = true;
  // the first is answered at once, and its answer leaves before the next turn begins
  client.send('GET a', line, tooMany);
  const whole = `-NOAUTH Authentication required.\r\n${answer}`;
  await client.until((text) => client.closed || text.length >= whole.length);
  expect(client.text).toBe(whole);
});

test.each([false, true])('behind what takes the password back, all of a turn: %s', async (slow) => {
  const { client } = await openLocked();
  await client.ask(`AUTH ${password}`, '+OK\r\n');
  const open = doors.partitions[3]!.shut();
  client.send('GET a', 'ReSet', tooMany, 'PING');
  await client.until(() => doors.partitions[3]!.batches.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  isSlow = slow;
  open();
  await client.until(() => client.closed);
  expect(client.text).toBe(`+OK\r\n${nothing}+RESET\r\n${refusedMany}`);
});

test('behind a command that runs alone a client that is known is read on', async () => {
  const client = await clients.open(doors.gateway);
  client.send('BLPOP a 0', tooMany, 'PING');
  await whenBlocked(doors, 1);
  // so that its end is noticed while it waits
  client.end();
  await whenBlocked(doors, 0);
});
