/** Many reads of large values that were confirmed together: others have turns between them. */
import { expect, test } from 'vitest';
import type { Clock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { LARGE_RECORD_BYTES } from '../../../../src/datanode/encoding/txn/large-records.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { FollowerReads } from '../../../../src/datanode/partition/reading/follower-reads.ts';
import { Reads } from '../../../../src/datanode/partition/reading/reads.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { handClock } from '../hand-clock.ts';
import { readGround } from '../read-ground.ts';
import { batchOf } from '../trio.ts';

const share = { firstSlot: 0, lastSlot: 16_383 };
const readMs = limits.workMs / 2;
const count = 40;

/** A replica in which one look at the engine takes `readMs`. */
async function setup() {
  const clock = handClock();
  const { engine: memory } = await createMemoryHost().open('1-0');
  let [turn, inTurn, most] = [-1, 0, 0];
  const slow = Object.assign(Object.create(memory), {
    getSync(key: Buffer) {
      clock.ms += readMs;
      if (clock.turns !== turn) [turn, inTurn] = [clock.turns, 0];
      most = Math.max(most, ++inTurn);
      return memory.getSync(key);
    },
  });
  const ground = {
    engine: () => slow,
    ...readGround,
    onFault: (failure: unknown) => {
      throw failure;
    },
    pace: new Pace(clock as unknown as Clock),
  };
  return { ground, memory, most: () => most };
}

type Ground = Awaited<ReturnType<typeof setup>>['ground'];
type Run = (ground: Ground) => Promise<readonly LineResult[]>[];

const confirmed = [{ readContext: 1, index: 7 }];
const batches = () => Array.from({ length: count }, (_, at) => batchOf('read', [`GET k${at}`]));

const atLeader: Run = (ground) => {
  const reads = new Reads(ground, share);
  const results = batches().map((batch) => reads.gather(batch));
  reads.flush({ requestRead: () => 1, vouchedReadIndex: () => undefined });
  reads.confirm(confirmed);
  return results;
};

const atFollower: Run = (ground) => {
  const reads = new FollowerReads(ground, share);
  const results = batches().map((batch) => reads.gather(batch, 1_000));
  reads.confirm(confirmed);
  return results;
};

test.each([
  ['a leader', atLeader],
  ['a follower', atFollower],
])('reads of single values at %s give way once they took long', async (_name, run) => {
  const { ground, most } = await setup();
  const results = await Promise.all(run(ground));
  expect(results.every(([result]) => result!.ok)).toBe(true);
  expect(most()).toBeLessThanOrEqual(limits.workMs / readMs + 1);
});

/** Room that is full when the test says so; whoever waits for it goes on when the test says that. */
function createRoom() {
  const waiting: (() => void)[] = [];
  const room = {
    isFull: false,
    isGone: false,
    making: 0,
    get mayBeginLarge() {
      return room.making === 0;
    },
    begin: () => room.making++,
    end: () => room.making--,
    onceFree: (run: () => void) => waiting.push(run),
  };
  return { room, waiting };
}

/** Reads of another node's clients, at a leader that has a large value and a small one. */
async function setupForwarded() {
  const { ground, memory } = await setup();
  const context = { nowMs: 1, random: () => 0, ...share };
  const fill = new Txn(memory);
  fill.beginEntry(1);
  const values = [
    ['large', Buffer.alloc(2 * LARGE_RECORD_BYTES)],
    ['small', Buffer.alloc(1)],
  ] as const;
  for (const [key, value] of values) {
    const line = [Buffer.from('SET'), Buffer.from(key), value];
    const command = resolveCommand(line);
    const prepared = command?.kind === 'write' ? command.prepare(line) : undefined;
    if (!prepared?.ok) throw new Error('SET writes');
    prepared.run(fill, context);
  }
  await memory.write(fill.operations());
  const reads = new Reads({ ...ground, engine: () => memory }, share);
  const { room, waiting } = createRoom();
  const answered: string[] = [];
  const ask = (...lines: string[]) => {
    const all = lines.map(async (line) => {
      const [result] = await reads.gather({ ...batchOf('read', [line]), room });
      answered.push(result!.ok ? line : `${line} ${result!.code}`);
    });
    reads.flush({ requestRead: () => 1, vouchedReadIndex: () => undefined });
    reads.confirm(confirmed);
    return Promise.all(all);
  };
  return { reads, room, waiting, answered, ask };
}

test('large values are read one after the other for a node, small ones at once', async () => {
  const { room, waiting, answered, ask } = await setupForwarded();
  const asked = ask('GET large', 'GET large', 'GET small', 'GET large');
  await expect.poll(() => answered).toEqual(['GET small', 'GET large']);
  expect([waiting.length, room.making]).toEqual([2, 0]);
  waiting.shift()!();
  await expect.poll(() => answered.length).toBe(3);
  waiting.shift()!();
  await asked;
  expect([waiting.length, room.making]).toEqual([0, 0]);
});

test('ranges are read once a node takes what it is answered', async () => {
  const { room, waiting, answered, ask } = await setupForwarded();
  room.isFull = true;
  const asked = ask('HGETALL h', 'GET small');
  await expect.poll(() => answered).toEqual(['GET small']);
  room.isFull = false;
  waiting.shift()!();
  await asked;
  expect(answered).toEqual(['GET small', 'HGETALL h']);
});

test('for a node that has gone nothing is read', async () => {
  const { room, waiting, answered, ask } = await setupForwarded();
  room.making = 1;
  const asked = ask('GET large');
  await expect.poll(() => waiting.length).toBe(1);
  room.isGone = true;
  waiting.shift()!();
  await asked;
  expect(answered).toEqual(['GET large BUSY']);
});

test('who waits for room is told when the leader steps down, or that was too long', async () => {
  const { reads, room, waiting, answered, ask } = await setupForwarded();
  room.making = 1;
  const first = ask('GET large');
  await expect.poll(() => waiting.length).toBe(1);
  reads.failAll('NOT_LEADER', 'leadership was lost');
  await first;
  const second = ask('GET large');
  await expect.poll(() => waiting.length).toBe(2);
  reads.expire(Number.POSITIVE_INFINITY);
  await second;
  expect(answered).toEqual(['GET large NOT_LEADER', 'GET large BUSY']);
  for (const run of waiting) run();
  expect(answered).toHaveLength(2);
});
