import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import { codeOf, type KvorumError } from '../../../src/common/errors.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { limits } from '../../../src/common/limits.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  EngineReader,
  KeyRange,
} from '../../../src/datanode/engine/engine.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { createMemoryHost, type MemoryHost } from '../../../src/datanode/engine/memory.ts';
import { withWriteBehind } from '../../../src/datanode/engine/write-behind.ts';
import { del, engineConformance, key, put, readAll } from '../../conformance/engine.ts';

describe('an engine written behind, over memory', () => {
  engineConformance(async () => {
    const host = createMemoryHost();
    const create = () => withWriteBehind(host, { clock: systemClock });
    return { host: create(), reopen: create, dispose: async () => {} };
  });
});

const small = {
  ...{ operationsMin: 1, bytesMax: 10, operationsMax: 1_000 },
  ...{ partBytes: 20_000, redoBytes: 10_000 },
};

describe.each([
  { name: 'an engine written behind, over LevelDB' },
  { name: 'an engine written behind, over LevelDB, all writes in parts', largeWrites: small },
])('$name', ({ largeWrites }) => {
  engineConformance(async () => {
    const dir = await mkdtemp(join(tmpdir(), 'kvorum-behind-'));
    const options = { dir, disk: fsDisk, logger: silentLogger, cacheBytes: 32 * 1024 * 1024 };
    const create = () => {
      const level = createLevelHost({ ...options, ...(largeWrites && { largeWrites }) });
      return withWriteBehind(level, { clock: systemClock });
    };
    const dispose = () => rm(dir, { recursive: true, force: true });
    return { host: create(), reopen: create, dispose };
  });
});

const NAME = '7-1';

/** A clock whose timers go when they are told to. */
class Timers implements Pick<Clock, 'setTimer'> {
  readonly #waiting = new Set<() => void>();

  setTimer(_delayMs: number, run: () => void): { cancel(): void } {
    this.#waiting.add(run);
    return { cancel: () => this.#waiting.delete(run) };
  }

  get count(): number {
    return this.#waiting.size;
  }

  fire(): void {
    for (const run of [...this.#waiting]) {
      this.#waiting.delete(run);
      run();
    }
  }
}

/** What comes beneath, and when it ends there. */
class Beneath {
  readonly memory: MemoryHost = createMemoryHost();
  /** In the order in which they came. */
  readonly calls: string[] = [];
  readonly failures: KvorumError[] = [];
  readonly timers = new Timers();
  #held: (() => void)[] | undefined;

  /** Batches do not end until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const goOn of held) goOn();
  }

  async open(): Promise<{ engine: Engine; beneath: Engine }> {
    let beneath: Engine | undefined;
    const open: EngineHost['open'] = async (name) => {
      const { engine, report } = await this.memory.open(name);
      beneath = engine;
      return { engine: this.#watched(engine), report };
    };
    const { memory } = this;
    const host: EngineHost = {
      ...{ open, remove: (name) => memory.remove(name), list: () => memory.list() },
      verifyTables: (name, pace) => memory.verifyTables(name, pace),
    };
    const onFailure = (_name: string, error: KvorumError) => this.failures.push(error);
    const behind = withWriteBehind(host, { clock: this.timers, onFailure });
    const { engine } = await behind.open(NAME);
    return { engine, beneath: beneath! };
  }

  #watched(engine: Engine): Engine {
    const held = async () => {
      if (this.#held) await new Promise<void>((goOn) => this.#held!.push(goOn));
    };
    const write = async (operations: BatchOperations) => {
      this.calls.push(`write ${[...operations].map(textOf).join(' ')}`);
      await held();
      await engine.write(operations);
    };
    const sync = () => {
      this.calls.push('sync');
      return engine.sync();
    };
    const clearRange = (range: KeyRange) => {
      this.calls.push('clear');
      return engine.clearRange(range);
    };
    return new Proxy(engine, {
      get(target, name) {
        if (name === 'write') return write;
        if (name === 'sync') return sync;
        if (name === 'clearRange') return clearRange;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

const textOf = (operation: BatchOperation) =>
  operation.type === 'put' ? `${operation.key}=${operation.value}` : `-${operation.key}`;

/** Many turns of microtasks: what can go on without a timer has gone on. */
const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

const ALL: KeyRange = { gte: key('\u0001'), lt: key('~') };

const pairsOf = async (reader: EngineReader, range: KeyRange = ALL) =>
  (await readAll(reader, range)).map(([k, v]) => `${k}=${v}`).join(' ');

async function ended(work: Promise<unknown>): Promise<boolean> {
  const late = Symbol('late');
  return (await Promise.race([work, settled().then(() => late)])) !== late;
}

describe('what is written behind', () => {
  test('is done, and read, before anything is beneath; each key goes there once', async () => {
    const world = new Beneath();
    const { engine, beneath } = await world.open();
    await engine.write([put('state', '1'), put('a', '1')]);
    await engine.write([put('state', '2'), del('a'), put('b', '2')]);
    await engine.write([put('state', '3')]);
    expect(engine.getSync(key('state'))).toEqual(key('3'));
    expect(engine.getSync(key('a'))).toBeUndefined();
    await settled();
    expect(world.calls).toEqual([]);
    expect(beneath.getSync(key('state'))).toBeUndefined();
    expect(world.timers.count).toBe(1);
    world.timers.fire();
    await settled();
    expect(world.calls).toEqual(['write state=3 -a b=2']);
    expect(world.timers.count).toBe(0);
    expect(await pairsOf(engine)).toBe('b=2 state=3');
    expect(await pairsOf(beneath)).toBe('b=2 state=3');
  });

  test('is read while it is on its way, and newer writes over it', async () => {
    const world = new Beneath();
    const { engine, beneath } = await world.open();
    await engine.write([put('a', '1'), put('b', '1')]);
    world.hold();
    world.timers.fire();
    await engine.write([put('b', '2'), put('c', '2')]);
    expect(await pairsOf(engine)).toBe('a=1 b=2 c=2');
    expect(['c', 'a', 'x', 'b'].map((k) => engine.getSync(key(k)))).toEqual(
      ['2', '1', undefined, '2'].map((value) => (value === undefined ? value : key(value))),
    );
    world.timers.fire();
    await settled();
    expect(world.calls).toEqual(['write a=1 b=1']);
    world.release();
    await settled();
    expect(world.calls).toEqual(['write a=1 b=1', 'write b=2 c=2']);
    expect(await pairsOf(beneath)).toBe('a=1 b=2 c=2');
  });

  test('goes beneath before a large batch and a clear, and what comes later after them', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    const large = put('large', 'x'.repeat(limits.engineBehindBatchBytesMax));
    await engine.write([put('a', '1')]);
    world.hold();
    const largeWritten = engine.write([large]);
    const later = engine.write([put('large', 'small'), put('b', '1')]);
    const cleared = engine.clearRange({ gte: key('b'), lt: key('c') });
    const last = engine.write([put('c', '1')]);
    expect(await ended(later)).toBe(false);
    expect(await pairsOf(engine)).toBe('a=1');
    world.release();
    await Promise.all([largeWritten, later, cleared, last]);
    expect(world.calls.map((call) => call.slice(0, 18))).toEqual([
      'write a=1',
      'write large=xxxxxx',
      'write large=small ',
      'clear',
    ]);
    expect(await pairsOf(engine)).toBe('a=1 c=1 large=small');
  });

  test('is beneath before a sync syncs there, also what waits for room', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    world.hold();
    const written = fill(engine, 2 * limits.engineBehindOperations, 'k');
    const late = engine.write([put('late', '1')]);
    const synced = engine.sync();
    const after = engine.write([put('after', '1')]);
    expect(await ended(late)).toBe(false);
    expect(world.calls.filter((call) => call === 'sync')).toEqual([]);
    world.release();
    await Promise.all([...written, late, synced, after]);
    const [, second = '', third = '', sync] = world.calls;
    expect(second.startsWith('write k')).toBe(true);
    expect(third).toContain('late=1');
    expect(sync).toBe('sync');
    world.memory.crash(seededRandom(1));
    const { engine: again } = await world.open();
    expect(again.getSync(key('late'))).toEqual(key('1'));
  });

  test('an empty sync asks for no batch', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    await engine.sync();
    expect(world.calls).toEqual(['sync']);
  });

  test('is bounded: beyond, a write waits until there is room, in its place', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    world.hold();
    const written = fill(engine, 2 * limits.engineBehindOperations, 'k');
    await Promise.all(written);
    const [one, other] = [engine.write([put('z', '1')]), engine.write([put('z', '2')])];
    expect(await ended(one)).toBe(false);
    expect(engine.getSync(key('z'))).toBeUndefined();
    expect(world.calls).toHaveLength(1);
    world.release();
    await Promise.all([one, other]);
    expect(engine.getSync(key('z'))).toEqual(key('2'));
  });

  test('by its bytes as well', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    world.hold();
    const value = 'x'.repeat(50_000);
    let done = 0;
    for (let at = 0; at < 20; at++) void engine.write([put(`k${at}`, value)]).then(() => done++);
    await settled();
    const fullAt = Math.ceil(limits.engineBehindBytes / 50_002);
    expect(done).toBe(2 * fullAt);
    world.release();
    await engine.sync();
    expect(done).toBe(20);
  });
});

/** Single writes of different keys. */
function fill(engine: Engine, count: number, prefix: string): Promise<void>[] {
  return Array.from({ length: count }, (_, at) => engine.write([put(`${prefix}${at}`, 'x')]));
}

describe('a failure beneath', () => {
  test('is told though nobody writes, refuses what comes, and readers see what they saw', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    await engine.write([put('a', '1')]);
    world.memory.failDisk(NAME);
    world.timers.fire();
    await engine.write([put('b', '1')]);
    await settled();
    expect(world.failures.map((failure) => failure.code)).toEqual(['DISK_FAILED']);
    expect(await pairsOf(engine)).toBe('a=1 b=1');
    const refused = await engine.write([put('c', '1')]).catch((error) => error);
    expect(refused).toBe(world.failures[0]);
    for (const work of [engine.sync(), engine.clearRange(ALL), engine.write([])]) {
      expect(await work.catch((error) => error)).toBe(refused);
    }
    await engine.close();
    expect(world.failures).toHaveLength(1);
    expect(() => engine.getSync(key('a'))).toThrow(/closed/);
  });

  test('of a sync, or a large batch, counts as well', async () => {
    for (const work of ['sync', 'large'] as const) {
      const world = new Beneath();
      const { engine } = await world.open();
      world.memory.failDisk(NAME);
      const large = [put('a', 'x'.repeat(limits.engineBehindBatchBytesMax))];
      const failed = work === 'sync' ? engine.sync() : engine.write(large);
      const waiting = engine.write([put('b', '1')]);
      expect(await failed.catch(codeOf)).toBe('DISK_FAILED');
      await waiting.catch(() => {});
      expect(await engine.write([put('c', '1')]).catch(codeOf)).toBe('DISK_FAILED');
      expect(world.failures).toHaveLength(1);
      await engine.close();
    }
  });

  test('ends those that wait for room', async () => {
    const world = new Beneath();
    const { engine } = await world.open();
    world.hold();
    await Promise.all(fill(engine, 2 * limits.engineBehindOperations, 'k'));
    const waiting = [engine.write([put('z', '1')]), engine.sync(), engine.clearRange(ALL)];
    world.memory.failDisk(NAME);
    world.release();
    const codes = waiting.map((work) => work.catch(codeOf));
    expect(await Promise.all(codes)).toEqual(['DISK_FAILED', 'DISK_FAILED', 'DISK_FAILED']);
  });
});

test('closing writes what is pending; removing takes it away with the engine', async () => {
  const host = createMemoryHost();
  const timers = new Timers();
  const behind = withWriteBehind(host, { clock: timers });
  const { engine } = await behind.open(NAME);
  await engine.write([put('a', '1')]);
  const snapshot = engine.snapshot();
  const iterator = engine.iterate(ALL);
  await engine.close();
  expect(timers.count).toBe(0);
  expect(() => snapshot.getSync(key('a'))).toThrow(/closed/);
  expect(await iterator.next(1).catch(codeOf)).toBe('STOPPING');
  expect(await engine.sync().catch(codeOf)).toBe('STOPPING');
  const { engine: again } = await behind.open(NAME);
  expect(again.getSync(key('a'))).toEqual(key('1'));
  await again.write([put('b', '1')]);
  await behind.remove(NAME);
  expect(timers.count).toBe(0);
  expect(await behind.list()).toEqual([]);
});

test('what a crash leaves is a prefix of the batches, synced ones always', async () => {
  const lasts = new Set<number>();
  for (let seed = 0; seed < 60; seed++) {
    const random = seededRandom(seed);
    const world = new Beneath();
    const { engine } = await world.open();
    let [written, synced] = [0, 0];
    const heldFrom = 40 + random.below(40);
    for (let step = 0; step < 60; step++) {
      if (step === heldFrom) world.hold();
      const bytes = random.below(10) === 0 ? limits.engineBehindBatchBytesMax : 1;
      const marks = [put('last', `${written}`), put('mark', 'x'.repeat(bytes))];
      const batch = engine.write([put(`k${written}`, 'x'), ...marks]);
      written++;
      if (random.below(4) === 0) world.timers.fire();
      if (step >= heldFrom) continue;
      if (random.below(3) === 0) await batch;
      if (random.below(20) === 0) {
        const until = written;
        await engine.sync();
        synced = until;
      }
    }
    await settled();
    world.memory.crash(random, random.below(2) === 0 ? 'power' : 'process');
    const { engine: after } = await world.open();
    const last = Number(after.getSync(key('last')) ?? -1);
    expect(last).toBeGreaterThanOrEqual(synced - 1);
    for (let at = 0; at < written; at++) {
      expect(after.getSync(key(`k${at}`)) !== undefined, `seed ${seed}: k${at}`).toBe(at <= last);
    }
    lasts.add(written - 1 - last);
  }
  expect(lasts.size).toBeGreaterThan(5);
});

const anyKey = fc.integer({ min: 0, max: 12 }).map((at) => `k${String.fromCharCode(97 + at)}`);
const anyOperation = fc.oneof(
  { weight: 2, arbitrary: fc.record({ key: anyKey, value: fc.string({ maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ key: anyKey, value: fc.constant(undefined) }) },
);
const anyBatch = fc.array(anyOperation, { maxLength: 6 });
const anyStep = fc.oneof(
  { weight: 4, arbitrary: anyBatch },
  { weight: 1, arbitrary: fc.constantFrom('fire', 'hold', 'release') },
);
const anyRange = fc.record({
  ...{ from: anyKey, to: anyKey, reverse: fc.boolean(), keysOnly: fc.boolean() },
  limit: fc.option(fc.integer({ min: 0, max: 15 }), { nil: undefined }),
  step: fc.integer({ min: 1, max: 15 }),
});

type Batch = { readonly key: string; readonly value: string | undefined }[];

function expected(
  model: ReadonlyMap<string, string>,
  { from, to, reverse, keysOnly, limit }: { [name: string]: unknown },
): string[] {
  const keys = [...model.keys()].filter((k) => k >= String(from) && k < String(to)).sort();
  if (reverse) keys.reverse();
  const some = limit === undefined ? keys : keys.slice(0, Number(limit));
  return some.map((k) => `${k}=${keysOnly ? '' : model.get(k)}`);
}

test('iterators and snapshots are of their moment, whatever is pending and lands', async () => {
  const plan = fc.tuple(fc.array(anyStep, { maxLength: 12 }), fc.array(anyStep), anyRange);
  await fc.assert(
    fc.asyncProperty(plan, async ([before, meanwhile, wanted]) => {
      const world = new Beneath();
      const { engine } = await world.open();
      const model = new Map<string, string>();
      const play = (step: string | Batch) => {
        if (step === 'fire') return world.timers.fire();
        if (step === 'hold') return world.hold();
        if (step === 'release') return world.release();
        const batch = (step as Batch).map(({ key: k, value }) => {
          if (value === undefined) model.delete(k);
          else model.set(k, value);
          return value === undefined ? del(k) : put(k, value);
        });
        return void engine.write(batch);
      };
      for (const [at, step] of before.entries()) {
        play(step);
        if (at % 3 === 0) await settledSoon();
      }
      const { from, to, reverse, keysOnly, limit, step: count } = wanted;
      const range = {
        ...{ gte: key(from), lt: key(to), reverse, keysOnly },
        ...(limit === undefined ? {} : { limit }),
      };
      const kept = new Map(model);
      const snapshot = engine.snapshot();
      const iterator = engine.iterate(range);
      const many = [...'abcdefghijklm'].map((letter) => engine.getSync(key(`k${letter}`)));
      const read: string[] = [];
      let left = [...meanwhile];
      for (;;) {
        for (const step of left.splice(0, 3)) play(step);
        const pairs = await iterator.next(count);
        read.push(...pairs.map(([k, v]) => `${k}=${v}`));
        if (pairs.length === 0) break;
        expect(pairs.length).toBeLessThanOrEqual(count);
      }
      for (const step of left) play(step);
      left = [];
      expect(read).toEqual(expected(kept, wanted));
      const again = await readAll(snapshot, range, count);
      expect(again.map(([k, v]) => `${k}=${v}`)).toEqual(expected(kept, wanted));
      const values = many.map((value) => value?.toString());
      expect(values).toEqual([...'abcdefghijklm'].map((letter) => kept.get(`k${letter}`)));
      for (const letter of 'abcdefghijklm') {
        const name = `k${letter}`;
        expect(snapshot.getSync(key(name))?.toString()).toBe(kept.get(name));
        expect(engine.getSync(key(name))?.toString()).toBe(model.get(name));
      }
      await iterator.close();
      await snapshot.close();
      world.release();
      await engine.close();
    }),
    { numRuns: 300 },
  );
});

/** A few microtasks: some of what is on its way arrives. */
async function settledSoon(): Promise<void> {
  for (let at = 0; at < 4; at++) await undefined;
}
