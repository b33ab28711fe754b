import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { type Random, seededRandom } from '../../../../src/common/random.ts';
import {
  elementFlags,
  encodeMemberKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { encodeKey, redisDataRange } from '../../../../src/datanode/encoding/records/key.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import {
  askOnce,
  closeSession,
  keepOnce,
  openSession,
} from '../../../../src/datanode/encoding/sessions/sessions.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { applyLines } from '../../../../src/datanode/partition/applying/apply-lines.ts';
import {
  knownWorld,
  type ReadEngine,
  withHotRanges,
} from '../../../../src/datanode/partition/remembering/hot-engines.ts';
import {
  EngineRecords,
  KnownRecords,
} from '../../../../src/datanode/partition/remembering/known-records.ts';
import type { ReplicaState } from '../../../../src/datanode/partition/storage/state.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';

const KIB = 1_024;
const keyOf = (name: string | number) => encodeKey(Buffer.from(`${name}`));
/** Two thirds of the bytes are for keys without a number. */
const known = (plainBytes = 64 * KIB) => new KnownRecords(seededRandom(7), plainBytes * 1.5);
const STRING = Buffer.from([1, 0, 0x76]);
const EXPIRING = Buffer.concat([Buffer.from([1, 1]), Buffer.alloc(8), Buffer.from('v')]);
const LIST = Buffer.from([3, 0]);
const put = (name: string, value = STRING) => ({ type: 'put' as const, key: keyOf(name), value });
const del = (name: string) => ({ type: 'del' as const, key: keyOf(name) });

describe('known strings', () => {
  test('are those that were put last as strings without a deadline', () => {
    const strings = new EngineRecords(known());
    expect(strings.holdsPlain(keyOf('a'))).toBe(false);
    strings.changing([put('a'), put('b', EXPIRING), put('c', LIST), put('d')]);
    const which = () => ['a', 'b', 'c', 'd'].filter((name) => strings.holdsPlain(keyOf(name)));
    expect(which()).toEqual(['a', 'd']);
    strings.changing([put('a', LIST), put('b'), put('c'), del('d')]);
    expect(which()).toEqual(['b', 'c']);
    strings.changing([put('a'), put('b', EXPIRING)]);
    expect(which()).toEqual(['a', 'c']);
    strings.forget();
    expect(which()).toEqual([]);
  });

  test('are of one engine', () => {
    const all = known();
    const [one, other] = [new EngineRecords(all), new EngineRecords(all)];
    one.changing([put('a')]);
    expect([one.holdsPlain(keyOf('a')), other.holdsPlain(keyOf('a'))]).toEqual([true, false]);
    other.changing([del('a')]);
    expect(one.holdsPlain(keyOf('a'))).toBe(true);
  });

  test('are all remembered until there is hardly room left', () => {
    const strings = new EngineRecords(known(64 * KIB));
    const names = Array.from({ length: 0.9 * 8_192 }, (_, at) => `key ${at}`);
    for (const name of names) strings.changing([put(name)]);
    const lost = names.filter((name) => !strings.holdsPlain(keyOf(name)));
    expect(lost.length).toBeLessThan(100);
    strings.changing(names.map(del));
    expect(names.filter((name) => strings.holdsPlain(keyOf(name)))).toEqual([]);
  });

  test('are forgotten one by one where there are more than have room', () => {
    const strings = new EngineRecords(known(8 * KIB));
    const names = Array.from({ length: 4_000 }, (_, at) => `key ${at}`);
    for (const name of names) strings.changing([put(name)]);
    const left = names.filter((name) => strings.holdsPlain(keyOf(name)));
    expect(left.length).toBeGreaterThan(900);
    expect(left.length).toBeLessThanOrEqual(1_024);
    expect(left.at(-1)).toBe(names.at(-1));
  });

  test('take memory as they come, and none is lost on the way', () => {
    const all = known(64 * KIB);
    const strings = new EngineRecords(all);
    expect(all.plain.bytes).toBe(0);
    const names = Array.from({ length: 0.9 * 8_192 }, (_, at) => `key ${at}`);
    const steps = new Map<number, number>();
    for (const [at, name] of names.entries()) {
      strings.changing([put(name)]);
      if (!steps.has(all.plain.bytes)) steps.set(all.plain.bytes, at);
    }
    expect([...steps.keys()]).toEqual([16, 32, 64].map((kib) => kib * KIB));
    steps.delete(16 * KIB);
    // another table comes when those before it, places of 8 bytes, are nearly full
    for (const [bytes, at] of steps) expect((at * 8) / (bytes / 2)).toBeGreaterThan(0.85);
    strings.changing(names.filter((_, at) => at % 2 === 0).map(del));
    const left = names.filter((name) => strings.holdsPlain(keyOf(name)));
    expect(left.length).toBeGreaterThan(names.length / 2 - 200);
    expect(left.every((name) => Number(name.slice(4)) % 2 === 1)).toBe(true);
    // in the places of those that went
    strings.changing(names.map((name) => put(name)));
    expect(all.plain.bytes).toBe(64 * KIB);
    expect(names.filter((name) => !strings.holdsPlain(keyOf(name))).length).toBeLessThan(200);
  });

  test('are forgotten with a batch that is too large to look through', () => {
    const strings = new EngineRecords(known());
    strings.changing([put('a')]);
    strings.changing(
      Array.from({ length: limits.keyFilterChangesMax + 1 }, (_, at) => put(`other ${at}`)),
    );
    expect(strings.holdsPlain(keyOf('a'))).toBe(false);
  });

  test('have no very long keys', () => {
    const strings = new EngineRecords(known());
    const long = 'x'.repeat(2_000);
    strings.changing([put(long), put('a')]);
    expect([strings.holdsPlain(keyOf(long)), strings.holdsPlain(keyOf('a'))]).toEqual([
      false,
      true,
    ]);
    strings.changing([del(long)]);
  });
});

describe('known members', () => {
  const place = { slot: 7, version: { index: 9, ordinal: 0 } };
  const keyOfMember = (tag: 'hashField' | 'setMember' | 'zsetMember') =>
    encodeMemberKey(tags[tag], place, Buffer.from('m'));
  const [field, member, scored] = [
    keyOfMember('hashField'),
    keyOfMember('setMember'),
    keyOfMember('zsetMember'),
  ];
  const become = (members: EngineRecords, key: Buffer, ...bytes: number[]) =>
    members.changing([{ type: 'put', key, value: sealRecord(key, Buffer.from(bytes)) }]);

  test('are fields without a deadline', () => {
    const members = new EngineRecords(known());
    become(members, field, 0, 0x76);
    expect(members.holdsPlain(field)).toBe(true);
    become(members, field, elementFlags.hasDeadline, ...Buffer.alloc(8, 1), 0x76);
    expect(members.holdsPlain(field)).toBe(false);
    become(members, field, 0, 0x76);
    members.changing([{ type: 'del', key: field }]);
    expect(members.holdsPlain(field)).toBe(false);
  });

  test('are members of sets, and scores, of the only form there is', () => {
    const members = new EngineRecords(known());
    become(members, member, 0);
    become(members, scored, 0, ...Buffer.alloc(8, 3));
    expect(members.valueOf(member)).toEqual(Buffer.from([0]));
    expect(members.valueOf(scored)).toEqual(Buffer.from([0, ...Buffer.alloc(8, 3)]));
    become(members, member, 4);
    become(members, scored, 0, 1, 2);
    expect([members.valueOf(member), members.valueOf(scored)]).toEqual([undefined, undefined]);
    become(members, scored, 4, ...Buffer.alloc(8, 3));
    expect(members.valueOf(scored)).toBeUndefined();
  });
});

/** An engine that counts what is read of it, and the same behind what a node remembers. */
async function setup(bytes = 64 * KIB) {
  const host = createMemoryHost();
  const { engine: bare } = await createMemoryHost().open('1-0');
  const asked: Buffer[] = [];
  const open = async (name: string) => {
    const { engine, report } = await host.open(name);
    const read = engine.getSync.bind(engine);
    Object.assign(engine, {
      getSync: (key: Buffer) => {
        asked.push(key);
        return read(key);
      },
    });
    return { engine, report };
  };
  const counted = {
    open,
    remove: (name: string) => host.remove(name),
    list: () => host.list(),
    verifyTables: () => Promise.resolve(),
  };
  const world = knownWorld(
    systemClock,
    { keyFilterMisses: 1_000_000, knownRecordsBytes: 98_304, hotValuesBytes: 65_536 },
    seededRandom(3),
  );
  const records = new KnownRecords(seededRandom(3), bytes * 1.5);
  const { engine } = await withHotRanges(counted, { ...world, records }).open('1-0');
  return { bare, engine, asked };
}

const pace = new Pace(systemClock);
let entry = 0;

async function run(engine: Engine, index: number, lines: readonly string[]): Promise<unknown[]> {
  const txn = new Txn(engine);
  txn.beginEntry(index);
  const words = lines.map((line) => line.split(' ').map((word) => Buffer.from(word)));
  const context = { nowMs: index * 10, random: () => 0.5, firstSlot: 0, lastSlot: 16_383, pace };
  const { replies } = await applyLines(txn, words, context, {} as ReplicaState);
  await engine.write(txn.operations());
  return [...replies];
}

async function contentOf(engine: Engine): Promise<string[]> {
  const iterator = engine.iterate({ gte: Buffer.from([0]), lt: Buffer.from([0xff]) });
  const all: KeyValue[] = [];
  for (;;) {
    const pairs = await iterator.next(1_000);
    if (pairs.length === 0) break;
    all.push(...pairs);
  }
  await iterator.close();
  return all.map(([key, value]) => `${key.toString('hex')} ${value.toString('hex')}`);
}

test('a key has one place, however often one batch or several put it', async () => {
  const { engine } = await setup();
  const hot = engine as ReadEngine;
  await engine.write([put('a'), put('b'), put('a')]);
  await engine.write([put('b'), put('c'), del('c'), put('c')]);
  expect(['a', 'b', 'c', 'd'].map((name) => hot.holdsPlain!(keyOf(name)))).toEqual([
    true,
    true,
    true,
    false,
  ]);
  await engine.write(['a', 'b', 'c'].map(del));
  // some are asked for after one that was there, some after one that was not
  for (const name of ['a', 'b', 'c', 'a']) expect(hot.holdsPlain!(keyOf(name))).toBe(false);
  await engine.write([put('b')]);
  expect(['a', 'b', 'c'].map((name) => hot.holdsPlain!(keyOf(name)))).toEqual([false, true, false]);
});

test.each([limits.hotChangesMax, limits.hotChangesMax + 1])(
  'what a batch of %i changes is known no more as it was',
  async (count) => {
    const { engine } = await setup();
    const hot = engine as ReadEngine;
    await engine.write([put('k 1'), put('k 2'), put('k 3')]);
    const rest = Array.from({ length: count - 2 }, (_, at) => put(`other ${at}`));
    await engine.write([put('k 1', LIST), del('k 2'), ...rest]);
    const which = ['k 1', 'k 2', 'k 3'].filter((name) => hot.holdsPlain!(keyOf(name)));
    expect(which).toEqual(['k 3']);
  },
);

test('strings that one of the large batches of a busy follower brings in are known', async () => {
  const { engine } = await setup(96 * KIB);
  const hot = engine as ReadEngine;
  const names = Array.from({ length: limits.hotChangesMax + 1 }, (_, at) => `k ${at}`);
  await engine.write(names.map((name) => put(name)));
  expect(names.filter((name) => !hot.holdsPlain!(keyOf(name)))).toEqual([]);
});

describe('a string that is replaced or deleted', () => {
  test.each([
    'SET k w',
    'SET k w EX 100',
    'SET k w KEEPTTL',
    'SET k w XX',
    'SET k w NX',
    'SETNX k w',
    'SETEX k 100 w',
    'MSET k w other w',
    'MSETNX k w other w',
    'DEL k other',
    'UNLINK k',
  ])('%s does not read it', async (line) => {
    const { engine, asked } = await setup();
    await run(engine, ++entry, ['SET k v']);
    asked.length = 0;
    await run(engine, ++entry, [line]);
    expect(asked.filter((key) => key.equals(keyOf('k')))).toEqual([]);
  });

  test.each(['SET k w GET', 'GETSET k w', 'GETDEL k', 'APPEND k w', 'INCR n'])(
    '%s does',
    async (line) => {
      const { engine, asked } = await setup();
      await run(engine, ++entry, ['SET k v', 'SET n 1 EX 1000']);
      asked.length = 0;
      await run(engine, ++entry, [line]);
      const [, name] = line.split(' ');
      expect(asked.some((key) => key.equals(keyOf(name!)))).toBe(true);
    },
  );
});

describe('a member, a score, a number', () => {
  const BEFORE = ['HSET h f v', 'SADD s m', 'ZADD z 1.5 m -0.25 n', 'SET n -12', 'SET o 0'];
  test.each([
    ['HSET h f w', [0]],
    ['HDEL h f', [1]],
    ['SADD s m', [0]],
    ['SREM s m', [1]],
    ['ZADD z 2 m', [0]],
    ['ZINCRBY z 1 n', [0.75]],
    ['INCR n', [-11]],
    ['DECRBY o 3', [-3]],
  ])('%s does not read it', async (line, expected) => {
    const { engine, asked } = await setup();
    await run(engine, ++entry, BEFORE);
    asked.length = 0;
    const [reply] = await run(engine, ++entry, [line]);
    expect([shown(reply)]).toEqual(expected);
    const [, key, ...rest] = line.split(' ');
    const isString = /^(INCR|DECR)/.test(line);
    const own = isString ? keyOf(key!).toString('latin1') : rest.at(line[0] === 'Z' ? -1 : 0)!;
    expect(asked.filter((one) => one.toString('latin1').endsWith(own) && one[0] !== 0x16)).toEqual(
      [],
    );
  });

  test.each([
    ['HSET h g w', 0x12],
    ['SADD s other', 0x14],
    ['ZADD z 2 other', 0x15],
  ])('%s does not read that it is not there', async (line, tag) => {
    const { engine, asked } = await setup();
    await run(engine, ++entry, BEFORE);
    asked.length = 0;
    expect(shown((await run(engine, ++entry, [line]))[0])).toBe(1);
    expect(asked.filter((key) => key[0] === tag)).toEqual([]);
  });
});

function shown(reply: unknown): unknown {
  const { kind, value } = reply as { kind: string; value?: unknown };
  return kind === 'integer' || kind === 'double' ? Number(value) : reply;
}

const NAMES = Array.from({ length: 40 }, (_, at) => `key${at}`);
const NUMBERS = ['0', '-0', '007', '-7', '123456789012345', '1234567890123456', '-123456789012345'];
const SCORES = ['0', '-0', '1', '-1.5', 'inf', '3e-9'];

function lineOf(random: Random): string {
  const key = () => NAMES[random.below(NAMES.length)]!;
  const member = () => `m${random.below(6)}`;
  const scored = () => SCORES[random.below(SCORES.length)]!;
  const lines: (() => string)[] = [
    () => `SET ${key()} v${random.below(9)}`,
    () => `SET ${key()} v PX ${10 + random.below(200)}`,
    () => `SET ${key()} v KEEPTTL`,
    () => `SET ${key()} v NX`,
    () => `SET ${key()} v XX GET`,
    () => `SETNX ${key()} v`,
    () => `MSET ${key()} v ${key()} w ${key()} 5`,
    () => `MSETNX ${key()} v ${key()} w`,
    () => `DEL ${key()} ${key()}`,
    () => `UNLINK ${key()}`,
    () => `GETDEL ${key()}`,
    () => `APPEND ${key()} x`,
    () => `INCR ${key()}`,
    () => `INCRBY ${key()} ${random.below(1_000) - 500}`,
    () => `INCRBYFLOAT ${key()} 0.5`,
    () => `SET ${key()} ${NUMBERS[random.below(NUMBERS.length)]}`,
    () => `RPUSH ${key()} a b`,
    () => `HSET ${key()} ${member()} v ${member()} w`,
    () => `HSETNX ${key()} ${member()} v`,
    () => `HINCRBY ${key()} n 1`,
    () => `HPEXPIRE ${key()} ${1 + random.below(200)} FIELDS 1 ${member()}`,
    () => `HPERSIST ${key()} FIELDS 1 ${member()}`,
    () => `HDEL ${key()} ${member()} ${member()}`,
    () => `SADD ${key()} ${member()} ${member()}`,
    () => `SREM ${key()} ${member()}`,
    () => `SMOVE ${key()} ${key()} ${member()}`,
    () => `SUNIONSTORE ${key()} ${key()} ${key()}`,
    () => `ZADD ${key()} ${scored()} ${member()} ${scored()} ${member()}`,
    () => `ZADD ${key()} XX CH ${scored()} ${member()}`,
    () => `ZINCRBY ${key()} ${scored()} ${member()}`,
    () => `ZREM ${key()} ${member()}`,
    () => `ZPOPMIN ${key()}`,
    () => `PEXPIRE ${key()} ${random.below(100)}`,
    () => `PERSIST ${key()}`,
    () => `RENAME ${key()} ${key()}`,
    () => `COPY ${key()} ${key()} REPLACE`,
  ];
  return lines[random.below(lines.length)]!();
}

test.each([64, 1_024, 64 * KIB])(
  'what is not read makes no difference to what is stored, with %i bytes to remember it',
  async (bytes) => {
    const { engine, bare } = await setup(bytes);
    const random = seededRandom(bytes);
    for (let index = 1; index <= 600; index++) {
      const lines = Array.from({ length: 1 + random.below(6) }, () => lineOf(random));
      expect(await run(engine, index, lines)).toEqual(await run(bare, index, lines));
      if (index % 100 === 50) {
        await Promise.all([engine, bare].map((one) => one.clearRange(redisDataRange())));
      }
      if (index % 20 === 0) expect(await contentOf(engine)).toEqual(await contentOf(bare));
    }
    expect(await contentOf(engine)).toEqual(await contentOf(bare));
  },
);

describe('sessions', () => {
  const ids = ['session-1', 'session-2', 'session-3'].map((id) => Buffer.from(id));

  test('a batch that confirms the one before reads nothing of its session', async () => {
    const { engine, asked } = await setup();
    const once = async (sequence: number) => {
      const txn = new Txn(engine);
      const mark = { id: ids[0]!, sequence, low: sequence };
      expect(askOnce(txn, mark, 0)).toEqual({ kind: 'new' });
      keepOnce(txn, mark, Buffer.from(`reply ${sequence}`));
      await engine.write(txn.operations());
    };
    const txn = new Txn(engine);
    openSession(txn, ids[0]!, 0);
    await engine.write(txn.operations());
    await once(1);
    asked.length = 0;
    for (let sequence = 2; sequence < 9; sequence++) await once(sequence);
    expect(asked).toEqual([]);
  });

  test('are the same whether remembered or read', async () => {
    const { engine, bare } = await setup();
    const random = seededRandom(11);
    const next = ids.map(() => 1);
    for (let index = 1; index <= 800; index++) {
      const at = random.below(ids.length);
      const id = ids[at]!;
      const kind = random.below(12);
      const sequence = Math.max(1, next[at]! - random.below(3));
      const low = Math.max(1, sequence - random.below(4));
      const reply = Buffer.alloc(random.below(3) === 0 ? 700 : 3, 'r');
      next[at] = Math.max(next[at]!, sequence + 1);
      const results: unknown[] = [];
      for (const one of [engine, bare]) {
        const txn = new Txn(one);
        if (kind === 0) results.push(closeSession(txn, id, index));
        else if (kind < 3) results.push(openSession(txn, id, index));
        else {
          const standing = askOnce(txn, { id, sequence, low }, index);
          if (standing.kind === 'new') keepOnce(txn, { id, sequence, low }, reply);
          results.push(standing);
        }
        await one.write(txn.operations());
      }
      expect(results[0]).toEqual(results[1]);
      if (index % 100 === 50) {
        const range = { gte: Buffer.from([0]), lt: Buffer.from([0xff]) };
        await Promise.all([engine, bare].map((one) => one.clearRange(range)));
      }
      if (index % 50 === 0) expect(await contentOf(engine)).toEqual(await contentOf(bare));
    }
  });
});
