import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import {
  askOnce,
  closeSession,
  hasRun,
  isSessionKey,
  keepOnce,
  openSession,
} from '../../../../src/datanode/encoding/sessions/sessions.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const session = Buffer.from('session-1');
const other = Buffer.from('session-2');
const reply = Buffer.from('+OK\r\n');

async function newTxn(): Promise<{ engine: Engine; txn: Txn }> {
  const { engine } = await createMemoryHost().open('1-0');
  return { engine, txn: new Txn(engine) };
}

function run(txn: Txn, sequence: number, low = 1, nowMs = 0, id = session): string {
  const mark = { id, sequence, low };
  const standing = askOnce(txn, mark, nowMs);
  if (standing.kind === 'new')
    keepOnce(txn, mark, Buffer.concat([reply, Buffer.from(`${sequence}`)]));
  return standing.kind;
}

/** Records of sessions in the engine as `txn` leaves it. */
async function records(engine: Engine, txn: Txn): Promise<Buffer[]> {
  await engine.write(txn.operations());
  const found = await engine.iterate({ gte: Buffer.from([1]), lt: Buffer.from([9]) }).next(100_000);
  return found.map(([key]) => key).filter(isSessionKey);
}

test('a sequence runs once, and only in a session that is known', async () => {
  const { txn } = await newTxn();
  expect(run(txn, 1)).toBe('lost');
  expect(hasRun(txn, { id: session, sequence: 1, low: 1 })).toBe(true);
  expect(openSession(txn, session, 0)).toBe(true);
  expect(hasRun(txn, { id: session, sequence: 1, low: 1 })).toBe(false);
  expect(run(txn, 1)).toBe('new');
  expect(run(txn, 7)).toBe('new');
  expect(run(txn, 3)).toBe('new');
  expect(openSession(txn, session, 0)).toBe(true);
  for (const sequence of [7, 1, 3]) {
    const standing = askOnce(txn, { id: session, sequence, low: 1 }, 0);
    expect(standing.kind === 'kept' && standing.reply.toString()).toBe(`+OK\r\n${sequence}`);
    expect(hasRun(txn, { id: session, sequence, low: 1 })).toBe(true);
  }
  expect(closeSession(txn, session, 0)).toBe(true);
  expect(closeSession(txn, session, 0)).toBe(false);
  expect(run(txn, 8)).toBe('lost');
});

test('below the lowest sequence nothing runs, and nothing is kept', async () => {
  const { engine, txn } = await newTxn();
  openSession(txn, session, 0);
  for (const sequence of [1, 2, 9, 4, 5]) run(txn, sequence);
  expect(run(txn, 10, 6)).toBe('new');
  expect(run(txn, 5, 6)).toBe('passed');
  expect(run(txn, 5, 1)).toBe('passed');
  expect(run(txn, 3, 1)).toBe('passed');
  // one that was sent before the client had told, and comes late
  expect(hasRun(txn, { id: session, sequence: 3, low: 1 })).toBe(true);
  expect(hasRun(txn, { id: session, sequence: 7, low: 8 })).toBe(true);
  expect(hasRun(txn, { id: session, sequence: 7, low: 1 })).toBe(false);
  expect(run(txn, 9, 6)).toBe('kept');
  expect(run(txn, 11, 11)).toBe('new');
  // 11, and what finds it: session, order, totals, place, reply
  expect(await records(engine, txn)).toHaveLength(5);
});

test('a session ends when nobody has used it for an hour of the log’s time', async () => {
  const { engine, txn } = await newTxn();
  openSession(txn, session, 0);
  openSession(txn, other, 0);
  run(txn, 1, 1, 0);
  const noted = limits.sessionUseNotedMs;
  expect(run(txn, 2, 1, noted)).toBe('new');
  expect(run(txn, 1, 1, limits.sessionIdleMs, other)).toBe('lost');
  expect(run(txn, 3, 1, limits.sessionIdleMs)).toBe('new');
  expect(run(txn, 4, 1, limits.sessionIdleMs * 2 - 1)).toBe('new');
  expect(run(txn, 5, 1, limits.sessionIdleMs * 4)).toBe('lost');
  // its replies go with the next use of any
  expect(run(txn, 5, 1, limits.sessionIdleMs * 4)).toBe('lost');
  expect(await records(engine, txn)).toHaveLength(1);
});

test('beyond the bound the longest unused ends first', async () => {
  const { txn } = await newTxn();
  const id = (at: number) => Buffer.from(`session-${at}`);
  for (let at = 0; at < limits.sessionsMax; at++) openSession(txn, id(at), at);
  const noted = limits.sessionUseNotedMs;
  expect(run(txn, 1, 1, noted, id(0))).toBe('new');
  expect(openSession(txn, Buffer.from('the newest'), noted)).toBe(true);
  expect(run(txn, 2, 1, noted, id(0))).toBe('new');
  expect(run(txn, 1, 1, noted, id(1))).toBe('lost');
  expect(run(txn, 1, 1, noted, id(2))).toBe('new');
});

test('one use removes so much of what is over, whoever’s it was', async () => {
  const { engine, txn } = await newTxn();
  openSession(txn, session, 0);
  openSession(txn, other, 0);
  const many = limits.sessionSweepMax * 3;
  for (let sequence = 1; sequence <= many; sequence++) run(txn, sequence);
  const changed: number[] = [];
  const watched = new Txn(engine);
  await engine.write(txn.operations());
  closeSession(watched, session, 0);
  for (let at = 1; [...watched.changes()].length < 2 * many && at < 100; at++) {
    const before = [...watched.changes()].length;
    run(watched, at, 1, 0, other);
    changed.push([...watched.changes()].length - before);
  }
  expect(Math.max(...changed)).toBeLessThanOrEqual(2 * limits.sessionSweepMax + 4);
  run(watched, 200, 200, 0, other);
  // totals, and the other session with its order and one reply that has a place
  expect(await records(engine, watched)).toHaveLength(5);
});

test('a session with too many unconfirmed replies is full until it confirms some', async () => {
  const { txn } = await newTxn();
  openSession(txn, session, 0);
  const max = limits.sessionKeptMax;
  for (let sequence = 1; sequence <= max; sequence++) run(txn, sequence);
  expect(run(txn, max + 1)).toBe('full');
  expect(run(txn, 1)).toBe('kept');
  expect(run(txn, max + 1, 2)).toBe('new');
});

test('beyond all the bytes there is room for, marks are kept', async () => {
  const { txn } = await newTxn();
  openSession(txn, session, 0);
  const large = Buffer.alloc(limits.sessionReplyBytesMax, 'x');
  const room = Math.floor(limits.sessionsBytesMax / large.length);
  const keep = (sequence: number) => {
    const mark = { id: session, sequence, low: 1 };
    expect(askOnce(txn, mark, 0).kind).toBe('new');
    keepOnce(txn, mark, large);
    const standing = askOnce(txn, mark, 0);
    return standing.kind === 'kept' ? standing.reply.length : -1;
  };
  for (let sequence = 1; sequence <= room; sequence++) expect(keep(sequence)).toBe(large.length);
  expect(keep(room + 1)).toBe(0);
  askOnce(txn, { id: session, sequence: room + 2, low: 2 }, 0);
  expect(keep(room + 2)).toBe(large.length);
});
