import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { LongWrites } from '../../../src/datanode/server/long-writes.ts';
import { type Doors, openDoors, RawClient, wire } from './doors.ts';

const MIB = 1_048_576;
const long = (count: number) => Array.from({ length: count }, () => ({ mayAnswerMuch: true }));
const answers = (count: number, size: number) =>
  Array.from({ length: count }, () => ({
    ...{ ok: true as const },
    reply: { kind: 'bulk' as const, bytes: Buffer.alloc(size) },
  }));

let doors: Doors;

beforeEach(async () => {
  doors = await openDoors(4);
});

afterEach(() => doors.close());

/** What a client that reads all it can is given for so many commands, of so many bytes each. */
async function takenOf(count: number, command: (at: number) => string, replyBytes: number) {
  const reader = connect(doors.gateway, '127.0.0.1');
  let [taken, isClosed] = [0, false];
  reader.on('data', (chunk) => {
    taken += chunk.length;
  });
  reader.on('close', () => {
    isClosed = true;
  });
  reader.write(Array.from({ length: count }, (_, at) => wire(command(at))).join(''));
  const wanted = count * replyBytes;
  await expect.poll(() => isClosed || taken === wanted, { timeout: 50_000 }).toBe(true);
  reader.destroy();
  return { taken, isClosed };
}

test('one begins, more while replies are small, and one in any case while there is no other', () => {
  const writes = new LongWrites(() => 0);
  expect(writes.countMax()).toBe(1);
  writes.begin(long(1));
  expect([writes.countMax(), writes.countMax(true)]).toEqual([0, 1]);
  writes.end(long(1), answers(1, 100));
  expect(writes.countMax()).toBe(2);
  for (let at = 0; at < 20; at++) {
    writes.begin(long(10));
    writes.end(long(10), answers(10, 100));
  }
  expect(writes.countMax()).toBeGreaterThan(100_000);
  writes.begin(long(1));
  writes.end(long(1), answers(1, 64 * MIB));
  expect(writes.countMax()).toBe(1);
  writes.begin([{ mayAnswerMuch: false }, {}]);
  expect(writes.countMax()).toBe(1);
});

test('replies that wait for the client leave less room for more', () => {
  let waiting = 0;
  const writes = new LongWrites(() => waiting);
  for (let at = 0; at < 5; at++) {
    writes.begin(long(1));
    writes.end(long(1), answers(1, MIB - 16));
  }
  expect(writes.countMax()).toBe(32);
  waiting = 30 * MIB;
  expect(writes.countMax()).toBe(2);
  waiting = 40 * MIB;
  expect(writes.countMax()).toBe(1);
  writes.begin(long(1));
  expect(writes.countMax()).toBe(0);
});

test('those held back go on in their order, as long as there is room', () => {
  const writes = new LongWrites(() => 0);
  const began: string[] = [];
  const lane = (name: string) => ({
    pump: () => {
      began.push(name);
      writes.begin(long(1));
    },
  });
  writes.begin(long(1));
  for (const name of ['a', 'b', 'c', 'd']) writes.holdBack(lane(name));
  writes.letGoOn();
  expect(began).toEqual([]);
  writes.end(long(1), answers(1, 0));
  writes.letGoOn();
  expect(began).toEqual(['a', 'b']);
  const refused = { ok: false as const, code: 'NO_LEADER' as const, message: 'none' };
  writes.end(long(2), [refused, refused]);
  writes.letGoOn();
  expect(began).toEqual(['a', 'b', 'c', 'd']);
});

test('what was refused tells nothing of sizes', () => {
  const writes = new LongWrites(() => 0);
  const first = writes.countMax();
  const refused = { ok: false as const, code: 'NO_LEADER' as const, message: 'none' };
  for (let at = 0; at < 20; at++) {
    writes.begin(long(10));
    writes.end(
      long(10),
      Array.from({ length: 10 }, () => refused),
    );
  }
  expect(writes.countMax()).toBe(first);
  writes.begin(long(2));
  writes.end(long(2), [answers(1, 24 * MIB)[0]!, refused]);
  expect(writes.countMax()).toBe(1);
});

test('tries without a leader do not make a large batch of what gives back much', async () => {
  const bytes = Buffer.from(`$${MIB}\r\n${'v'.repeat(MIB)}\r\n`);
  let [tries, most] = [0, 0];
  for (const partition of doors.partitions) {
    partition.execute = async ({ lines }) => {
      if (++tries <= 14) {
        return lines.map(() => ({ ok: false, code: 'NO_LEADER', message: 'as the script says' }));
      }
      most = Math.max(most, lines.length);
      return lines.map(() => ({ ok: true, reply: { kind: 'encoded', bytes } }));
    };
  }
  const count = 512;
  const { taken, isClosed } = await takenOf(count, () => 'GETDEL k', bytes.length);
  expect([isClosed, taken]).toEqual([false, count * bytes.length]);
  expect(most).toBeLessThanOrEqual(limits.connectionLongWritesBytes / MIB);
});

/** Every partition answers each write with these bytes, a millisecond later; how many are under way at most. */
function answerAll(bytes: Buffer): { readonly most: number } {
  const load = { most: 0 };
  let underWay = 0;
  for (const partition of doors.partitions) {
    partition.execute = async ({ lines }) => {
      underWay += lines.length;
      load.most = Math.max(load.most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay -= lines.length;
      return lines.map(() => ({ ok: true, reply: { kind: 'encoded', bytes } }));
    };
  }
  return load;
}

test('a pipeline of writes that give back much neither takes much memory nor is closed', async () => {
  const count = 1_000;
  const bytes = Buffer.from(`$${MIB}\r\n${'v'.repeat(MIB)}\r\n`);
  const load = answerAll(bytes);
  const { taken, isClosed } = await takenOf(count, (at) => `GETDEL k${at}`, bytes.length);
  expect([isClosed, taken]).toEqual([false, count * bytes.length]);
  expect(load.most).toBeLessThanOrEqual(limits.connectionLongWritesBytes / MIB + 1);
});

describe('over many partitions', () => {
  beforeEach(async () => {
    await doors.close();
    doors = await openDoors(17);
  });

  test.each([
    [16 * MIB, 68],
    [MIB, 1_000],
  ])('replies of %d bytes each do not have the client closed', async (size, count) => {
    const bytes = Buffer.from(`$${size}\r\n${'v'.repeat(size)}\r\n`);
    const load = answerAll(bytes);
    const { taken, isClosed } = await takenOf(count, (at) => `GETDEL k${at}`, bytes.length);
    expect([isClosed, taken]).toEqual([false, count * bytes.length]);
    expect(load.most * size).toBeLessThanOrEqual(limits.connectionLongWritesBytes + size);
  });
});

test('writes that answer shortly leave as one batch', async () => {
  const client = await RawClient.open(doors.gateway);
  client.send(...Array.from({ length: 500 }, () => 'SET a 1'));
  await client.until((text) => text.length === 500 * '+OK\r\n'.length);
  const sizes = doors.partitions.flatMap(({ batches }) => batches.map(({ lines }) => lines.length));
  expect(Math.max(...sizes)).toBeGreaterThan(64);
  client.end();
});
