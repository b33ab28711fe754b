import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import { codeOf } from '../../../../src/common/errors.ts';
import { fsDisk } from '../../../../src/common/fs-disk.ts';
import { limits } from '../../../../src/common/limits.ts';
import { silentLogger } from '../../../../src/common/log.ts';
import { type Random, seededRandom } from '../../../../src/common/random.ts';
import {
  encodeListKey,
  encodeMemberKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import {
  encodeKey,
  recordRange,
  redisDataRange,
} from '../../../../src/datanode/encoding/records/key.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  KeyRange,
} from '../../../../src/datanode/engine/engine.ts';
import { createLevelHost } from '../../../../src/datanode/engine/leveldb.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  knownWorld,
  type ReadEngine,
  withHotRanges,
} from '../../../../src/datanode/partition/remembering/hot-engines.ts';
import { FilterMemory } from '../../../../src/datanode/partition/remembering/key-filter.ts';
import {
  type KnownKeysWorld,
  knownKeysWorld,
} from '../../../../src/datanode/partition/remembering/known-keys.ts';

const keyOf = (name: string | number) => encodeKey(Buffer.from(`key ${name}`));
const put = (name: string | number, value = 'v'): BatchOperation => ({
  type: 'put',
  key: keyOf(name),
  value: Buffer.from(value),
});
const del = (name: string | number): BatchOperation => ({ type: 'del', key: keyOf(name) });
const element = (at: number): BatchOperation => ({
  type: 'put',
  key: encodeListKey(
    { slot: 7, version: { index: 3, ordinal: 1 } },
    { whole: at, fraction: Buffer.alloc(0) },
  ),
  value: Buffer.from('v'),
});
const puts = (count: number, from = 0) => Array.from({ length: count }, (_, at) => put(from + at));
const MISSES = 10;

const hostOf = (host: EngineHost): Omit<EngineHost, 'open'> => ({
  remove: (name) => host.remove(name),
  list: () => host.list(),
  verifyTables: (name, pace) => host.verifyTables(name, pace),
});

/** The engines of one node over its life, and how often the ones below were asked for a key. */
class Node {
  asked = 0;
  readonly world: KnownKeysWorld;
  readonly #host: EngineHost;

  constructor(changes: Partial<KnownKeysWorld> = {}, host: EngineHost = createMemoryHost()) {
    this.world = { ...knownKeysWorld(systemClock, MISSES), ...changes };
    const open: EngineHost['open'] = async (name) => {
      const { engine, report } = await host.open(name);
      const read = engine.getSync.bind(engine);
      Object.assign(engine, {
        getSync: (key: Buffer) => {
          this.asked++;
          return read(key);
        },
      });
      return { engine, report };
    };
    this.#host = withHotRanges(
      { ...hostOf(host), open },
      {
        ...knownWorld(
          systemClock,
          { keyFilterMisses: MISSES, knownRecordsBytes: 98_304, hotValuesBytes: 65_536 },
          seededRandom(1),
        ),
        absentRecords: this.world,
      },
    );
  }

  async open(): Promise<ReadEngine> {
    return (await this.#host.open('1-0')).engine;
  }

  async reopen(engine: Engine): Promise<ReadEngine> {
    await engine.close();
    return this.open();
  }

  remove(): Promise<void> {
    return this.#host.remove('1-0');
  }

  /** How often the engine below is asked while `count` absent keys are read. */
  asksFor(engine: Engine, count = 1, name = 'absent'): number {
    const before = this.asked;
    for (let at = 0; at < count; at++)
      expect(engine.getSync(keyOf(`${name} ${at}`))).toBe(undefined);
    return this.asked - before;
  }

  /** Absent keys need no engine any more. */
  async complete(engine: Engine): Promise<void> {
    await vi.waitFor(() => expect(this.asksFor(engine)).toBe(0), { timeout: 5_000, interval: 2 });
  }
}

describe('an engine that was opened empty', () => {
  test('is not asked for keys that are not there, and for those that are', async () => {
    const node = new Node();
    const engine = await node.open();
    expect(node.asksFor(engine, 5)).toBe(0);
    await engine.write([...puts(100), element(1)]);
    expect(engine.getSync(keyOf(7))?.toString()).toBe('v');
    expect(node.asked).toBe(1);
    expect(node.asksFor(engine, 100)).toBeLessThan(5);
    expect(engine.getSync(element(1).key)?.toString()).toBe('v');
    expect(engine.getSync(element(2).key)).toBeUndefined();
    await engine.write([del(7)]);
    expect(engine.getSync(keyOf(7))).toBeUndefined();
    await engine.write([put(7, 'again')]);
    expect(engine.getSync(keyOf(7))?.toString()).toBe('again');
  });

  test('is asked for a key that a batch on its way puts', async () => {
    const node = new Node();
    const engine = await node.open();
    const written = engine.write([put(1)]);
    expect(engine.getSync(keyOf(1))).toBeUndefined();
    expect(node.asked).toBe(1);
    await written;
    expect(engine.getSync(keyOf(1))).toBeDefined();
  });
});

describe('an engine that was opened with data', () => {
  test('is not walked to be opened, whatever was deleted from it', async () => {
    const host = createMemoryHost();
    const walked = vi.fn();
    const open: EngineHost['open'] = async (name) => {
      const { engine, report } = await host.open(name);
      const iterate = engine.iterate.bind(engine);
      Object.assign(engine, {
        iterate: (range: KeyRange) => {
          walked();
          return iterate(range);
        },
      });
      return { engine, report };
    };
    const node = new Node({}, { ...hostOf(host), open });
    const engine = await node.open();
    await engine.write(puts(10));
    await engine.clearRange(redisDataRange());
    const again = await node.reopen(engine);
    expect(walked).not.toHaveBeenCalled();
    expect(node.asksFor(again, 5)).toBe(5);
  });

  const opened = async (node: Node, count = 600) => {
    const engine = await node.open();
    await engine.write(puts(count));
    return node.reopen(engine);
  };

  test('is asked until its keys were looked through, after some reads that found nothing', async () => {
    const node = new Node();
    const engine = await opened(node);
    expect(node.asksFor(engine, MISSES - 1)).toBe(MISSES - 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(node.asksFor(engine)).toBe(1);
    await node.complete(engine);
    for (let at = 0; at < 600; at++) expect(engine.getSync(keyOf(at))).toBeDefined();
  });

  test('is looked through by iterators that last for a slice', async () => {
    const host = createMemoryHost();
    let held = 0;
    const open: EngineHost['open'] = async (name) => {
      const { engine, report } = await host.open(name);
      const iterate = engine.iterate.bind(engine);
      const counted = (range: KeyRange) => {
        const iterator = iterate(range);
        held++;
        return {
          next: (count: number) => iterator.next(count),
          close: () => {
            held--;
            return iterator.close();
          },
        };
      };
      Object.assign(engine, { iterate: counted });
      return { engine, report };
    };
    const heldAtPauses: number[] = [];
    const setTimer: Clock['setTimer'] = (delayMs, run) => {
      heldAtPauses.push(held);
      return systemClock.setTimer(delayMs, run);
    };
    const node = new Node({ clock: { ...systemClock, setTimer } }, { ...hostOf(host), open });
    const engine = await opened(node);
    node.asksFor(engine, MISSES);
    await node.complete(engine);
    expect(heldAtPauses).toEqual([0, 0, 0]);
  });

  test('is looked through with pauses, and what is put meanwhile is known', async () => {
    const waits: number[] = [];
    let runs: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      setTimer: (delayMs, run) => {
        waits.push(delayMs);
        runs.push(run);
        return { cancel: () => {} };
      },
    };
    const node = new Node({ clock });
    const engine = await opened(node);
    node.asksFor(engine, MISSES);
    for (let step = 0; step < 3; step++) {
      await vi.waitFor(() => expect(runs).toHaveLength(1), { interval: 1 });
      await engine.write([put(`new ${step}`)]);
      expect(node.asksFor(engine)).toBe(1);
      for (const run of runs.splice(0)) run();
    }
    runs = [];
    await node.complete(engine);
    expect(waits).toHaveLength(3);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1);
    for (let step = 0; step < 3; step++) expect(engine.getSync(keyOf(`new ${step}`))).toBeDefined();
  });

  test('is looked through once what was on its way to it is there', async () => {
    const latencyMs = (operation: string) => (operation === 'write' ? 40 : 0);
    const node = new Node({}, createMemoryHost({ clock: systemClock, latencyMs }));
    const engine = await opened(node);
    const written = [engine.write([put('on its way')]), engine.write([put('behind it')])];
    node.asksFor(engine, MISSES);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(node.asksFor(engine)).toBe(1);
    await Promise.all(written);
    await node.complete(engine);
    expect(engine.getSync(keyOf('on its way'))).toBeDefined();
    expect(engine.getSync(keyOf('behind it'))).toBeDefined();
  });

  test('is looked through when no other engine of the node is', async () => {
    let waiting: (() => void)[] = [];
    const setTimer: Clock['setTimer'] = (_delayMs, run) => {
      waiting.push(run);
      return { cancel: () => {} };
    };
    const clock = { ...systemClock, setTimer };
    const shared = { ...knownKeysWorld(clock, MISSES) };
    const [one, other] = [new Node(shared), new Node(shared)];
    const [first, second] = [await opened(one, 100), await opened(other, 100)];
    one.asksFor(first, MISSES);
    other.asksFor(second, MISSES);
    await vi.waitFor(() => expect(waiting).toHaveLength(1), { interval: 1 });
    other.asksFor(second, 5);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(waiting).toHaveLength(1);
    for (const run of waiting.splice(0)) run();
    await one.complete(first);
    other.asksFor(second, 1);
    await vi.waitFor(() => expect(waiting).toHaveLength(1), { interval: 1 });
    for (const run of waiting.splice(0)) run();
    await other.complete(second);
    waiting = [];
  });

  test('may be closed while it is looked through', async () => {
    const node = new Node({ clock: { ...systemClock, setTimer: () => ({ cancel: () => {} }) } });
    const engine = await opened(node);
    node.asksFor(engine, MISSES);
    await vi.waitFor(() => expect(node.world.memory.bytes).toBeGreaterThan(0));
    await engine.close();
    expect(node.world.memory.bytes).toBe(0);
    expect(() => engine.getSync(keyOf('absent'))).toThrow('closed');
  });
});

describe('members of collections', () => {
  const place = { slot: 7, version: { index: 3, ordinal: 1 } };
  const member = (name: string | number, tag: 0x12 | 0x14 | 0x15 = 0x14): BatchOperation => ({
    type: 'put',
    key: encodeMemberKey(tag, place, Buffer.from(`${name}`)),
    value: Buffer.from([0]),
  });
  const opened = async () => {
    const node = new Node();
    const engine = await node.open();
    const asksFor = (operations: readonly BatchOperation[]) => {
      const before = node.asked;
      for (const { key } of operations) engine.getSync(key);
      return node.asked - before;
    };
    return { node, engine, asksFor };
  };
  const members = (count: number, from = 0) =>
    Array.from({ length: count }, (_, at) => member(from + at));

  test('are looked for where they may be', async () => {
    const { engine, asksFor } = await opened();
    await engine.write([...members(100), element(1), put(1)]);
    expect(asksFor(members(100))).toBe(100);
    expect(asksFor(members(100, 100))).toBeLessThan(5);
    for (const tag of [0x12, 0x15] as const) expect(asksFor([member(500, tag)])).toBe(0);
    expect(asksFor([element(1), element(2)])).toBe(2);
  });

  test('are known of a small batch that makes their collection', async () => {
    const { engine, asksFor } = await opened();
    const made = members(3);
    const prefixes = [made[0]!.key.subarray(0, 15)];
    await engine.write(batchOf([...made, put(1)], { prefixes, unreached: made, others: [put(1)] }));
    expect(asksFor(made)).toBe(3);
    expect(asksFor(members(50, 10))).toBeLessThan(3);
  });

  test('are looked for anywhere after a large batch, and records where they may be', async () => {
    const { node, engine, asksFor } = await opened();
    const made = members(20_000);
    const prefixes = [made[0]!.key.subarray(0, 15)];
    await engine.write(batchOf([...made, put(1)], { prefixes, unreached: made, others: [put(1)] }));
    expect(asksFor(members(50, 100_000))).toBe(50);
    expect(asksFor([made[19_999]!])).toBe(1);
    expect(node.asksFor(engine, 20)).toBe(0);
  });
});

describe('a filter is dropped', () => {
  test('by a batch of too many records, until four times as many were not found', async () => {
    const node = new Node();
    const engine = await node.open();
    await engine.write(puts(limits.keyFilterChangesMax));
    expect(node.asksFor(engine, 20)).toBeLessThan(5);
    await engine.write(puts(limits.keyFilterChangesMax + 1, 100_000));
    expect(node.world.memory.bytes).toBe(0);
    expect(node.asksFor(engine, 4 * MISSES - 1)).toBe(4 * MISSES - 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(node.asksFor(engine)).toBe(1);
    await node.complete(engine);
    for (const { key } of puts(9_000, 99_000).slice(1_000))
      expect(engine.getSync(key)).toBeDefined();
  });

  test('not by one of many elements', async () => {
    const node = new Node();
    const engine = await node.open();
    const many = Array.from({ length: 12_000 }, (_, at) => element(at));
    await engine.write([...many, put(1)]);
    expect(node.asksFor(engine, 20)).toBe(0);
    const large = Array.from({ length: 20_000 }, (_, at) => element(at));
    const others = [put(2), put(3)];
    const prefixes = [large[0]!.key.subarray(0, 15)];
    const parted = { prefixes, unreached: large, others };
    await engine.write(batchOf([...large, ...others], parted));
    expect(node.asksFor(engine, 20)).toBe(0);
    expect(engine.getSync(keyOf(3))).toBeDefined();
    await engine.write(large);
    expect(node.asksFor(engine, 5)).toBe(5);
  });

  test('by one whose parts may hold records', async () => {
    const node = new Node();
    const engine = await node.open();
    const records = puts(17_000);
    await engine.write(
      batchOf(records, { prefixes: [Buffer.from([0x10])], unreached: records, others: [] }),
    );
    expect(node.asksFor(engine, 5)).toBe(5);
    expect(engine.getSync(keyOf(16_999))).toBeDefined();
  });

  test('when there is no memory; others keep theirs, and it may come again', async () => {
    const memory = new FilterMemory(30_000);
    const [one, other] = [new Node({ memory }), new Node({ memory })];
    const [first, second] = [await one.open(), await other.open()];
    await first.write(puts(100));
    await second.write(puts(8_000));
    await second.write(puts(8_000, 8_000));
    expect(memory.bytes).toBe(4_096);
    expect(other.asksFor(second, 5)).toBe(5);
    expect(one.asksFor(first, 20)).toBeLessThan(5);
    await second.write(Array.from({ length: 15_000 }, (_, at) => del(at)));
    other.asksFor(second, 4 * MISSES);
    await other.complete(second);
    await first.close();
    await other.remove();
    expect(memory.bytes).toBe(0);
  });
});

function batchOf(
  operations: readonly BatchOperation[],
  parted: BatchOperations['parted'],
): BatchOperations {
  return {
    length: operations.length,
    [Symbol.iterator]: () => operations[Symbol.iterator](),
    parted,
  };
}

describe('a clear', () => {
  test('of all records makes a filter that is complete and small', async () => {
    const node = new Node();
    const engine = await node.open();
    await engine.write(puts(8_000));
    const late = put('late');
    const written = [engine.write([put('before')])];
    written.push(engine.clearRange(redisDataRange()), engine.write([late]));
    expect(engine.getSync(keyOf(5))).toBeDefined();
    await Promise.all(written);
    expect(node.world.memory.bytes).toBe(4_096);
    expect(engine.getSync(late.key)).toBeDefined();
    expect(node.asksFor(engine, 20)).toBe(0);
    node.asked = 0;
    for (let at = 0; at < 100; at++) expect(engine.getSync(keyOf(at))).toBeUndefined();
    expect(node.asked).toBe(0);
  });

  test('of all records makes one where there was none, or a scan was under way', async () => {
    const node = new Node();
    let engine = await node.open();
    await engine.write(puts(600));
    engine = await node.reopen(engine);
    node.asksFor(engine, MISSES);
    await engine.clearRange(recordRange());
    expect(node.asksFor(engine, 20)).toBe(0);
  });

  test('of some records leaves it as it was', async () => {
    const node = new Node();
    const engine = await node.open();
    await engine.write(puts(600));
    const { gte, lt } = recordRange();
    const middle = Buffer.from([0x10, 0x20]);
    await engine.clearRange({ gte, lt: middle });
    await engine.clearRange({ gte: middle, lt, limit: 5 });
    await engine.clearRange({ gte: Buffer.from([0x11]), lt: Buffer.from([0x40]) });
    const left = puts(600).filter(({ key }) => engine.getSync(key) !== undefined);
    expect(left.length).toBeGreaterThan(200);
    expect(node.world.memory.bytes).toBe(4_096);
  });

  test('that fails, and two at once, leave nothing wrong', async () => {
    const host = createMemoryHost();
    const node = new Node({}, host);
    const engine = await node.open();
    await engine.write(puts(10));
    await Promise.all([
      engine.clearRange(redisDataRange()),
      engine.write([put('between')]),
      engine.clearRange(redisDataRange()),
      engine.write([put('behind')]),
    ]);
    expect(engine.getSync(keyOf('between'))).toBeUndefined();
    expect(engine.getSync(keyOf('behind'))).toBeDefined();
    host.failDisk('1-0');
    const failed = await engine.clearRange(redisDataRange()).catch(codeOf);
    expect(failed).toBe('DISK_FAILED');
    expect(engine.getSync(keyOf('behind'))).toBeDefined();
  });

  test('that is refused stands in the way of no scan', async () => {
    const host = createMemoryHost({ clock: systemClock, latencyMs: () => 5 });
    const node = new Node({}, host);
    let engine = await node.open();
    await engine.write(puts(10));
    engine = await node.reopen(engine);
    const waiting = Array.from({ length: limits.engineWritesWaitingMax + 1 }, () =>
      engine.write([element(1)]),
    );
    expect(await engine.clearRange(redisDataRange()).catch(codeOf)).toBe('BUSY');
    await Promise.all(waiting);
    node.asksFor(engine, MISSES);
    await node.complete(engine);
    expect(engine.getSync(keyOf(3))).toBeDefined();
  });
});

describe('whatever is written, cleared, read and opened again at once, nothing is called absent that is there, nor shown as it was', () => {
  const dirs: string[] = [];
  afterEach(async () => {
    for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
  });
  const inMemory = async (random: Random) =>
    createMemoryHost({ clock: systemClock, latencyMs: () => random.below(3) });
  const inLevel = async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kvorum-known-keys-'));
    dirs.push(dir);
    const sizes = { operationsMin: 4, bytesMax: 300, operationsMax: 1_000 };
    const largeWrites = { ...sizes, partBytes: 120, redoBytes: 90 };
    const options = { logger: silentLogger, cacheBytes: 8 * 1_048_576, disk: fsDisk };
    return createLevelHost({ ...options, dir, largeWrites });
  };

  test.each([
    { name: 'memory', create: inMemory, seeds: 12 },
    { name: 'LevelDB with large writes', create: inLevel, seeds: 6 },
  ])('$name', async ({ create, seeds }) => {
    const spared = [0, 0];
    for (let seed = 1; seed <= seeds; seed++) {
      const random = seededRandom(`known keys ${seed}`);
      const [absent, again] = await play(random, await create(random));
      spared[0]! += absent;
      spared[1]! += again;
    }
    expect(spared[0]).toBeGreaterThan(1_000);
    expect(spared[1]).toBeGreaterThan(200);
  });
});

const KEYS = 700;

/** Returns how many reads of absent keys, and of keys that were read before, needed no engine. */
async function play(random: Random, host: EngineHost): Promise<[absent: number, again: number]> {
  const node = new Node({ missesMin: 5, memory: new FilterMemory(40_000) }, host);
  let engine = await node.open();
  let pending: Promise<unknown>[] = [];
  let [absent, again] = [0, 0];
  for (let step = 0; step < 250; step++) {
    const drawn = random.below(100);
    if (drawn < 40) pending.push(engine.write(drawOperations(random)));
    else if (drawn < 41) pending.push(engine.clearRange(redisDataRange()));
    else if (drawn < 43) {
      await Promise.all(pending);
      pending = [];
      engine = await node.reopen(engine);
    } else if (drawn < 60) await new Promise((resolve) => setTimeout(resolve, random.below(3)));
    else if (drawn < 70) await Promise.all(pending);
    for (let read = 0; read < 20; read++) {
      const key = keyOf(random.below(KEYS));
      const before = node.asked;
      const found = engine.getSync(key);
      if (node.asked > before) continue;
      // what is known of it is true, and no batch that is being written changes it: those were told of
      expect(found).toEqual(engine.cold!.getSync(key));
      if (found === undefined) absent++;
      else again++;
    }
  }
  await Promise.all(pending);
  await engine.close();
  expect(node.world.memory.bytes).toBe(0);
  return [absent, again];
}

function drawOperations(random: Random): BatchOperation[] {
  const count = random.below(10) === 0 ? 40 : 1 + random.below(3);
  const from = random.below(KEYS);
  return Array.from({ length: count }, (_, at) => {
    const name = (from + at) % KEYS;
    return random.below(3) === 0 ? del(name) : put(name, `v${random.below(1_000)}`);
  });
}
