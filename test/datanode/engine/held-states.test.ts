/** States of a LevelDB, held while it is written to in every way, beside a model of what they are. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { type Random, seededRandom } from '../../../src/common/random.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  EngineReader,
  EngineSnapshot,
  KeyRange,
} from '../../../src/datanode/engine/engine.ts';
import { HeldStates } from '../../../src/datanode/engine/held-states.ts';
import { givenBackOnce, type LevelReading } from '../../../src/datanode/engine/level-handles.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { LostStateError } from '../../../src/datanode/engine/lost-state.ts';
import { withWriteBehind } from '../../../src/datanode/engine/write-behind.ts';
import { turnsOf } from '../../../src/datanode/engine/write-steps.ts';

const KEYS = 200;
const STATES_MAX = 6;

let dir: string;
let engine: Engine;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kvorum-held-'));
});

/** `stateBytesMax`: what a state may remember; by default all that happens here. */
function createHost(stateBytesMax?: number): EngineHost {
  const largeWrites = {
    operationsMin: 40,
    bytesMax: 4_000,
    operationsMax: 120,
    partBytes: 1_000,
    redoBytes: 1_000,
  };
  const options = { dir, disk: fsDisk, logger: silentLogger, cacheBytes: 1 << 24, largeWrites };
  const sizes = { writeBufferBytes: 65_536, fileBytes: 1 << 20 };
  return createLevelHost({
    ...options,
    ...sizes,
    ...(stateBytesMax !== undefined && { stateBytesMax }),
  });
}

afterEach(async () => {
  await engine.close();
  await rm(dir, { recursive: true });
});

type Model = ReadonlyMap<string, string>;

const nameOf = (at: number) => `k${String(at).padStart(4, '0')}`;
const keyOf = (at: number) => Buffer.from(nameOf(at));

function drawRange(random: Random): KeyRange {
  const [one, other] = [random.below(KEYS + 1), random.below(KEYS + 1)];
  const limit = random.below(3) === 0 ? { limit: 1 + random.below(50) } : {};
  const ends = { gte: keyOf(Math.min(one, other)), lt: keyOf(Math.max(one, other)) };
  return { ...ends, ...limit, reverse: random.below(2) === 0, keysOnly: random.below(3) === 0 };
}

function wantedOf(model: Model, { gte, lt, limit, reverse, keysOnly }: KeyRange): string[] {
  const names = [...model.keys()].sort().filter((name) => name >= `${gte}` && name < `${lt}`);
  if (reverse) names.reverse();
  return names.slice(0, limit).map((name) => `${name}=${keysOnly ? '' : model.get(name)}`);
}

async function readRange(reader: EngineReader, range: KeyRange, step: number): Promise<string[]> {
  const iterator = reader.iterate(range);
  const read: string[] = [];
  for (;;) {
    const pairs = await iterator.next(step);
    if (pairs.length === 0) break;
    for (const [key, value] of pairs) read.push(`${key}=${value.toString('latin1', 0, 12)}`);
  }
  await iterator.close();
  return read;
}

function drawWrite(random: Random, round: number, model: Map<string, string>): BatchOperation[] {
  const count = [1, 8, 30, 90, 160][random.below(5)]!;
  return Array.from({ length: count }, (_, of): BatchOperation => {
    const at = random.below(KEYS);
    if (random.below(4) === 0) {
      model.delete(nameOf(at));
      return { type: 'del', key: keyOf(at) };
    }
    const value = `${round}-${of}`.padEnd(12, '.');
    model.set(nameOf(at), value);
    return {
      type: 'put',
      key: keyOf(at),
      value: Buffer.from(value + 'x'.repeat(random.below(900))),
    };
  });
}

/** A write that makes elements which nobody can come upon before `header` is there. */
function drawParted(random: Random, round: number, model: Map<string, string>): BatchOperations {
  const header = keyOf(random.below(KEYS));
  const prefix = Buffer.from(`${header}/${round}/`);
  const value = Buffer.from(`${round}-new`.padEnd(12, '.'));
  const others: BatchOperation[] = drawWrite(random, round, model);
  others.push({ type: 'put', key: header, value });
  model.set(`${header}`, `${value}`);
  const unreached = Array.from({ length: 1 + random.below(150) }, (_, at): BatchOperation => {
    const key = Buffer.concat([prefix, Buffer.from(`${at}`)]);
    model.set(`${key}`, `${value}`);
    return { type: 'put', key, value: Buffer.concat([value, Buffer.alloc(100, 'y')]) };
  });
  const parted = { prefixes: [prefix], unreached, others };
  return Object.assign([...unreached, ...others], { parted });
}

async function expectState(
  state: EngineReader,
  model: Model,
  random: Random,
  isKept = false,
): Promise<void> {
  for (let look = 0; look < 5 && !isKept; look++) {
    const at = random.below(KEYS);
    const found = unlessLost(() => state.getSync(keyOf(at))?.toString('latin1', 0, 12));
    if (found !== LOST) expect(found).toBe(model.get(nameOf(at)));
  }
  const ranges = [drawRange(random), drawRange(random)];
  const read = await Promise.all(
    ranges.map((range) => readRange(state, range, 1 + random.below(40))),
  );
  expect(read).toEqual(ranges.map((range) => wantedOf(model, range)));
}

interface Held {
  readonly state: EngineSnapshot;
  readonly model: Model;
  /** It is only iterated. */
  readonly isKept: boolean;
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const LOST = Symbol('lost');

function unlessLost<Value>(read: () => Value): Value | typeof LOST {
  try {
    return read();
  } catch (failure) {
    if (failure instanceof LostStateError) return LOST;
    throw failure;
  }
}

test.each([
  [false, undefined],
  [true, undefined],
  [false, 20_000],
] as const)(
  'a state stays as it was (write-behind: %s; remembers %s)',
  async (isBehind, bytes) => {
    const host = createHost(bytes);
    const engines = isBehind ? withWriteBehind(host, { clock: systemClock }) : host;
    ({ engine } = await engines.open('1-0'));
    const random = seededRandom(`held ${isBehind}`);
    const model = new Map<string, string>();
    const held: Held[] = [];
    for (let round = 0; round < 100; round++) {
      const before = new Map(model);
      const isClearing = random.below(25) === 0;
      const range = drawRange(random);
      if (isClearing)
        for (const name of [...model.keys()]) if (inside(name, range)) model.delete(name);
      const writing = isClearing
        ? engine.clearRange({ gte: range.gte, lt: range.lt })
        : engine.write((random.below(3) === 0 ? drawParted : drawWrite)(random, round, model));
      // some begin while it is written, and have all of it or nothing
      if (!isClearing && random.below(2) === 0 && held.length < STATES_MAX) {
        for (let turns = random.below(30); turns > 0; turns--) await nextTurn();
        const state = engine.snapshot();
        const range = drawRange(random);
        const reading = readRange(engine, range, 1 + random.below(40));
        const changed = [...new Set([...before.keys(), ...model.keys()])].filter(
          (name) => !name.includes('/') && before.get(name) !== model.get(name),
        );
        const has = (name: string) =>
          unlessLost(() => state.getSync(Buffer.from(name))?.toString('latin1', 0, 12));
        const isAfter = changed.length > 0 && has(changed[0]!) === model.get(changed[0]!);
        const isKept = random.below(3) === 0;
        if (isKept) state.keep?.();
        if (changed.length > 0 && !isKept && has(changed[0]!) === LOST) await state.close();
        else held.push({ state, model: isAfter ? new Map(model) : before, isKept });
        expect([wantedOf(before, range), wantedOf(model, range)]).toContainEqual(await reading);
      }
      if (isClearing && held.length < STATES_MAX) {
        for (let turns = random.below(10); turns > 0; turns--) await nextTurn();
        const state = engine.snapshot();
        held.push({ state, model: await modelOf(state), isKept: false });
      }
      await writing;
      if (random.below(3) === 0 && held.length < STATES_MAX) {
        held.push({ state: engine.snapshot(), model: new Map(model), isKept: false });
      }
      for (const one of held) await expectState(one.state, one.model, random, one.isKept);
      if (held.length > 0 && random.below(3) === 0) {
        await held.splice(random.below(held.length), 1)[0]!.state.close();
      }
      await expectState(engine, model, random);
    }
    for (const { state } of held) await state.close();
    for (const [name, value] of model) {
      expect(engine.getSync(Buffer.from(name))?.toString('latin1', 0, 12)).toBe(value);
    }
  },
  120_000,
);

/** Of one that may have a part of what is being cleared. */
async function modelOf(state: EngineReader): Promise<Model> {
  const read = await readRange(state, { gte: keyOf(0), lt: keyOf(KEYS) }, 50);
  return new Map(read.map((pair) => pair.split('=') as [string, string]));
}

test('no snapshot of LevelDB is open while it is written, however much there is to remember', async () => {
  let open = 0;
  const level: LevelReading = {
    getSync: (_, snapshot) => Buffer.alloc(1_000, snapshot === undefined ? 'new' : 'old'),
    iterate: () => ({ seek: () => undefined, nextv: async () => [], close: async () => undefined }),
    snapshot: () => {
      open++;
      const _close = async () => void open--;
      return givenBackOnce({ _close, close: async () => undefined });
    },
  };
  const states = new HeldStates('1-0', level, turnsOf(systemClock), 20_000);
  const operations = (count: number): BatchOperation[] =>
    Array.from({ length: count }, (_, at) => ({ type: 'del', key: keyOf(at) }));
  const openWhile = async (count: number, during?: () => unknown) => {
    let seen = -1;
    const writing = states.write(operations(count), async () => {
      seen = open;
    });
    during?.();
    await writing;
    return seen;
  };
  const held = [states.hold(), states.hold()];
  // one that begins meanwhile is open until the next write
  expect([open, await openWhile(3), await openWhile(3, () => held.push(states.hold()))]).toEqual([
    2, 0, 1,
  ]);
  expect(await openWhile(2)).toBe(0);
  held.push(states.hold());
  await states.remember(operations(4));
  expect(open).toBe(0);
  for (const state of held) expect(state.getSync(keyOf(1))).toHaveLength(1_000);
  expect(await openWhile(20, () => held.push(states.hold()))).toBe(1);
  for (const state of held.slice(0, -1)) {
    expect(() => state.getSync(keyOf(1))).toThrow(LostStateError);
    expect(await state.iterate({ gte: keyOf(0), lt: keyOf(9) }).next(1)).toEqual([]);
  }
  // it does not have the write during which it began, and of that there is too much to remember
  expect(await openWhile(1)).toBe(0);
  expect(() => held.at(-1)!.getSync(keyOf(1))).toThrow(LostStateError);
  for (const state of held) await state.close();
  expect(open).toBe(0);
});

test('what is written is remembered once for all states, and no longer than they need it', async () => {
  ({ engine } = await createHost(1_200_000).open('1-0'));
  const write = (value: string, count = KEYS) =>
    engine.write(
      Array.from({ length: count }, (_, at) => ({
        type: 'put',
        key: keyOf(at),
        value: Buffer.from(value.padEnd(1_000)),
      })),
    );
  await write('0');
  const first = engine.snapshot();
  // each pass takes a fifth of what may be remembered, and is of states of its own
  for (let pass = 1; pass <= 20; pass++) {
    const states = Array.from({ length: 50 }, () => engine.snapshot());
    await write(`${pass}`);
    for (const state of states) expect(`${state.getSync(keyOf(7))}`.trim()).toBe(`${pass - 1}`);
    for (const state of states) await state.close();
  }
  expect(`${first.getSync(keyOf(7))}`.trim()).toBe('0');
  const states: EngineSnapshot[] = [];
  for (let pass = 21; pass <= 25; pass++) {
    states.push(engine.snapshot());
    await write(`${pass}`);
  }
  // of too much the oldest go
  const found = [first, ...states].map((state) =>
    unlessLost(() => `${state.getSync(keyOf(7))}`.trim()),
  );
  expect(found).toEqual([LOST, LOST, '21', '22', '23', '24']);
  for (const state of [first, ...states]) await state.close();
});

test('a damaged record that is to be remembered is told as damage', async () => {
  const damage = Object.assign(new Error('block checksum mismatch'), { code: 'LEVEL_CORRUPTION' });
  const level: LevelReading = {
    getSync: () => {
      throw damage;
    },
    iterate: () => ({ seek: () => undefined, nextv: async () => [], close: async () => undefined }),
    snapshot: () => ({ close: async () => undefined }),
  };
  const states = new HeldStates('1-0', level, turnsOf(systemClock));
  const state = states.hold();
  const writing = states.write([{ type: 'del', key: keyOf(1) }], () => expect.fail('not written'));
  await expect(writing).rejects.toMatchObject({ code: 'CORRUPT' });
  await state.close();
});

function inside(name: string, { gte, lt }: KeyRange): boolean {
  return name >= `${gte}` && name < `${lt}`;
}
