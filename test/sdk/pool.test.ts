/** Which connections there are, and when they end. */
import { expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { Pool } from '../../src/sdk/pool.ts';
import { HandClock } from './hand-clock.ts';
import { HandConnection } from './hand-connection.ts';

const here = { host: 'n0', port: 1 };
const other = { host: 'n1', port: 1 };

function scene() {
  const clock = new HandClock();
  const opened: HandConnection[] = [];
  const told: string[] = [];
  const pool = new Pool({
    clock,
    avoidMs: 1_000,
    idleMax: 2,
    settings: {
      namespace: undefined,
      username: undefined,
      password: undefined,
      connectTimeoutMs: 1_000,
    },
    events: {
      connected: ({ host }) => told.push(`connected ${host}`),
      lost: ({ host }) => told.push(`lost ${host}`),
      empty: () => told.push('empty'),
    },
    connector: {
      open: ({ address }, events) => {
        const connection = new HandConnection(address, events);
        opened.push(connection);
        return connection;
      },
    },
  });
  const outcomes: string[] = [];
  const ask = (connection: { send: HandConnection['send'] }) =>
    connection.send(['GET', 'k'], ({ kind }) => outcomes.push(kind));
  return { clock, pool, opened, outcomes, ask, told };
}

const LOOK_MS = limits.sdkLeavingLookMs;

test('a node that the table has lost: what is under way ends, and nothing new begins there', () => {
  const { clock, pool, opened, outcomes, ask } = scene();
  ask(pool.shared('data', here));
  pool.shared('any', here);
  pool.retain([other]);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, true]);
  expect(pool.size).toBe(1);
  clock.run(LOOK_MS);
  expect(opened[0]!.isClosed).toBe(false);
  expect(pool.shared('data', here)).not.toBe(opened[0]);
  opened[0]!.answer();
  clock.run(LOOK_MS);
  expect(opened[0]!.isClosed).toBe(true);
  expect(outcomes).toEqual(['reply']);
});

test('it is there again: its connection goes on', () => {
  const { clock, pool, opened, ask } = scene();
  ask(pool.shared('data', here));
  pool.retain([other]);
  pool.retain([here, other]);
  expect(pool.shared('data', here)).toBe(opened[0]);
  opened[0]!.answer();
  clock.run(LOOK_MS);
  expect(opened[0]!.isClosed).toBe(false);
  expect(clock.armed).toBe(0);
});

test('it says nothing for long: what is under way is lost', () => {
  const { clock, pool, opened, outcomes, ask } = scene();
  ask(pool.shared('data', here));
  ask(pool.borrow(here));
  clock.run(limits.sdkSilentMs);
  for (const connection of opened) connection.owesSinceMs = 0;
  pool.retain([other]);
  clock.run(limits.sdkSilentMs - 1);
  expect(outcomes).toEqual([]);
  clock.run(LOOK_MS);
  expect(outcomes).toEqual(['lost', 'lost']);
  expect([pool.size, clock.armed]).toEqual([0, 0]);
});

test('one that is borrowed is closed when it is given back, unless its node is there again', () => {
  const { clock, pool, opened } = scene();
  const [first, second] = [pool.borrow(here), pool.borrow(here)];
  pool.retain([other]);
  clock.run(LOOK_MS);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  pool.giveBack(first);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  pool.retain([here]);
  pool.giveBack(second);
  expect(pool.borrow(here)).toBe(second);
});

test('closed: all are, at once', () => {
  const { clock, pool, opened, outcomes, ask } = scene();
  ask(pool.shared('data', here));
  ask(pool.borrow(here));
  pool.retain([other]);
  ask(pool.borrow(other));
  pool.close();
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
  expect(outcomes).toEqual(['lost', 'lost', 'lost']);
  expect(clock.armed).toBe(0);
});

test('one that owes answers for long is made anew; later where commands hold back others', () => {
  const { clock, pool, opened } = scene();
  const [data, any] = [pool.shared('data', here), pool.shared('any', here)];
  for (const connection of opened) connection.owesSinceMs = 0;
  const closed = (afterMs: number) => {
    clock.run(afterMs);
    for (const connection of [data, any]) pool.doubt(connection);
    return opened.map(({ isClosed }) => isClosed);
  };
  expect(closed(limits.sdkSilentMs - 1)).toEqual([false, false]);
  expect(closed(1)).toEqual([true, false]);
  expect(closed(limits.sdkSilentAnyMs - limits.sdkSilentMs - 1)).toEqual([true, false]);
  expect(closed(1)).toEqual([true, true]);
  expect(pool.shared('any', here)).not.toBe(any);
});

test('two of one node, the older of them leaving: it neither comes back nor takes the newer along', () => {
  const { pool, opened, ask } = scene();
  ask(pool.shared('data', here));
  pool.retain([other]);
  const newer = pool.shared('data', here);
  pool.retain([here, other]);
  expect(pool.shared('data', here)).toBe(newer);
  opened[0]!.close();
  expect(pool.shared('data', here)).toBe(newer);
});

test('so many are kept for who borrows next; one that has ended meanwhile is not lent', () => {
  const { pool, opened } = scene();
  const lent = [pool.borrow(here), pool.borrow(here), pool.borrow(here)];
  for (const connection of lent) pool.giveBack(connection);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, false, true]);
  opened[1]!.close();
  expect(pool.borrow(here)).toBe(lent[0]);
  expect(lent).not.toContain(pool.borrow(here));
});

test('those that are kept end when the table loses their node', () => {
  const { pool, opened } = scene();
  pool.giveBack(pool.borrow(here));
  pool.retain([other]);
  expect(opened[0]!.isClosed).toBe(true);
  expect(pool.size).toBe(0);
});

test.each(['shared', 'borrow'] as const)(
  'a node that leaves has its time once, however often a table says so: %s',
  (use) => {
    const { clock, pool, opened, ask } = scene();
    ask(use === 'shared' ? pool.shared('data', here) : pool.borrow(here));
    opened[0]!.owesSinceMs = 0;
    const tables = 10;
    for (let table = 0; table <= tables; table++) {
      pool.retain([other]);
      expect(opened[0]!.isClosed).toBe(table === tables);
      clock.run(limits.sdkSilentMs / tables);
    }
  },
);

test('its time counts since it answered last', () => {
  const { clock, pool, opened, ask } = scene();
  ask(pool.shared('data', here));
  pool.retain([other]);
  opened[0]!.owesSinceMs = limits.sdkSilentMs / 2;
  clock.run(limits.sdkSilentMs);
  expect(opened[0]!.isClosed).toBe(false);
  clock.run(limits.sdkSilentMs / 2);
  expect(opened[0]!.isClosed).toBe(true);
});

test('what is known of a node: avoided, refused, and neither once it lets in or is gone', () => {
  const { pool, opened } = scene();
  const known = () => [pool.isAvoided(here), pool.refusal(here)?.message];
  const open = () => {
    pool.shared('data', here);
    return opened.at(-1)!;
  };
  open().events.closed(new Error('WRONGPASS'), true);
  expect(known()).toEqual([true, 'WRONGPASS']);
  open().events.closed(new Error('ECONNREFUSED'), false);
  expect(known(), 'the newest counts').toEqual([true, undefined]);
  const refused = open();
  refused.events.closed(new Error('WRONGPASS'), true);
  open().events.ready();
  expect(known()).toEqual([false, undefined]);
  opened.at(-1)!.events.closed(new Error('WRONGPASS'), true);
  pool.retain([other]);
  expect(known()).toEqual([false, undefined]);
});

test('it says when the last one has ended, of whatever use', () => {
  const { pool, opened, told } = scene();
  pool.shared('data', here);
  pool.borrow(here);
  pool.giveBack(pool.borrow(other));
  for (const connection of opened) connection.close();
  expect(told).toEqual(['lost n0', 'lost n0', 'lost n1', 'empty']);
});

test('a closed one opens nothing: what is to be sent is told to be unsent', () => {
  const { pool, opened, outcomes, ask } = scene();
  pool.close();
  ask(pool.shared('data', here));
  ask(pool.borrow(here));
  expect(outcomes).toEqual(['unsent', 'unsent']);
  expect(opened).toEqual([]);
});
