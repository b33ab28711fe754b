import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import { type Random, seededRandom } from '../../../src/common/random.ts';
import { encodeKey, recordRange } from '../../../src/datanode/encoding/key.ts';
import { Txn } from '../../../src/datanode/encoding/txn.ts';
import type { Engine, KeyValue } from '../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import { applyLines } from '../../../src/datanode/partition/apply-lines.ts';
import { withHotRanges } from '../../../src/datanode/partition/hot-engines.ts';
import { knownKeysWorld } from '../../../src/datanode/partition/known-keys.ts';
import { EngineStrings, KnownStrings } from '../../../src/datanode/partition/known-strings.ts';
import { Pace } from '../../../src/datanode/partition/pace.ts';
import type { ReplicaState } from '../../../src/datanode/partition/state.ts';

const KIB = 1_024;
const keyOf = (name: string | number) => encodeKey(Buffer.from(`${name}`));
const known = (bytes = 64 * KIB) => new KnownStrings(seededRandom(7), bytes);
const STRING = Buffer.from([1, 0, 0x76]);
const EXPIRING = Buffer.concat([Buffer.from([1, 1]), Buffer.alloc(8), Buffer.from('v')]);
const LIST = Buffer.from([3, 0]);
const put = (name: string, value = STRING) => ({ type: 'put' as const, key: keyOf(name), value });
const del = (name: string) => ({ type: 'del' as const, key: keyOf(name) });

describe('known strings', () => {
  test('are those that were put last as strings without a deadline', () => {
    const strings = new EngineStrings(known());
    expect(strings.has(keyOf('a'))).toBe(false);
    strings.changing([put('a'), put('b', EXPIRING), put('c', LIST), put('d')]);
    const which = () => ['a', 'b', 'c', 'd'].filter((name) => strings.has(keyOf(name)));
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
    const [one, other] = [new EngineStrings(all), new EngineStrings(all)];
    one.changing([put('a')]);
    expect([one.has(keyOf('a')), other.has(keyOf('a'))]).toEqual([true, false]);
    other.changing([del('a')]);
    expect(one.has(keyOf('a'))).toBe(true);
  });

  test('are all remembered until there is hardly room left', () => {
    const strings = new EngineStrings(known(64 * KIB));
    const names = Array.from({ length: 0.9 * 8_192 }, (_, at) => `key ${at}`);
    for (const name of names) strings.changing([put(name)]);
    const lost = names.filter((name) => !strings.has(keyOf(name)));
    expect(lost.length).toBeLessThan(100);
    strings.changing(names.map(del));
    expect(names.filter((name) => strings.has(keyOf(name)))).toEqual([]);
  });

  test('are forgotten one by one where there are more than have room', () => {
    const strings = new EngineStrings(known(8 * KIB));
    const names = Array.from({ length: 4_000 }, (_, at) => `key ${at}`);
    for (const name of names) strings.changing([put(name)]);
    const left = names.filter((name) => strings.has(keyOf(name)));
    expect(left.length).toBeGreaterThan(900);
    expect(left.length).toBeLessThanOrEqual(1_024);
    expect(left.at(-1)).toBe(names.at(-1));
  });

  test('are forgotten with a batch that is too large to look through', () => {
    const strings = new EngineStrings(known());
    strings.changing([put('a')]);
    strings.changing(
      Array.from({ length: limits.keyFilterChangesMax + 1 }, (_, at) => put(`other ${at}`)),
    );
    expect(strings.has(keyOf('a'))).toBe(false);
  });

  test('have no very long keys', () => {
    const strings = new EngineStrings(known());
    const long = 'x'.repeat(2_000);
    strings.changing([put(long), put('a')]);
    expect([strings.has(keyOf(long)), strings.has(keyOf('a'))]).toEqual([false, true]);
    strings.changing([del(long)]);
  });
});

/** An engine that counts what is read of it, and the same behind what a node remembers. */
async function setup(bytes: number) {
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
  const keys = knownKeysWorld(systemClock, 1_000_000);
  const counted = {
    open,
    remove: (name: string) => host.remove(name),
    list: () => host.list(),
    verifyTables: () => Promise.resolve(),
  };
  const strings = new KnownStrings(seededRandom(3), bytes);
  const { engine } = await withHotRanges(counted, keys, strings).open('1-0');
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
    const { engine, asked } = await setup(64 * KIB);
    await run(engine, ++entry, ['SET k v']);
    asked.length = 0;
    await run(engine, ++entry, [line]);
    expect(asked.filter((key) => key.equals(keyOf('k')))).toEqual([]);
  });

  test.each(['SET k w GET', 'GETSET k w', 'GETDEL k', 'APPEND k w', 'INCR n'])(
    '%s does',
    async (line) => {
      const { engine, asked } = await setup(64 * KIB);
      await run(engine, ++entry, ['SET k v', 'SET n 1']);
      asked.length = 0;
      await run(engine, ++entry, [line]);
      const [, name] = line.split(' ');
      expect(asked.some((key) => key.equals(keyOf(name!)))).toBe(true);
    },
  );
});

const NAMES = Array.from({ length: 40 }, (_, at) => `key${at}`);

function lineOf(random: Random): string {
  const key = () => NAMES[random.below(NAMES.length)]!;
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
    () => `RPUSH ${key()} a b`,
    () => `HSET ${key()} f v`,
    () => `SADD ${key()} m`,
    () => `ZADD ${key()} 1 m`,
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
    for (let index = 1; index <= 400; index++) {
      const lines = Array.from({ length: 1 + random.below(6) }, () => lineOf(random));
      expect(await run(engine, index, lines)).toEqual(await run(bare, index, lines));
      if (index % 100 === 50) {
        await Promise.all([engine, bare].map((one) => one.clearRange(recordRange())));
      }
      if (index % 20 === 0) expect(await contentOf(engine)).toEqual(await contentOf(bare));
    }
    expect(await contentOf(engine)).toEqual(await contentOf(bare));
  },
);
