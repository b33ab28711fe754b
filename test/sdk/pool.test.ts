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
    events: { connected: () => {}, lost: () => {}, empty: () => {} },
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
  return { clock, pool, opened, outcomes, ask };
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
