import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { encodeKey } from '../../../../src/datanode/encoding/records/key.ts';
import type { BatchOperation, Engine, EngineHost } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  knownWorld,
  withHotRanges,
} from '../../../../src/datanode/partition/remembering/hot-engines.ts';
import { HotValues } from '../../../../src/datanode/partition/remembering/hot-values.ts';
import { ValueRing } from '../../../../src/datanode/partition/remembering/value-ring.ts';

const KIB = 1_024;
const keyOf = (name: string | number) => encodeKey(Buffer.from(`${name}`));
const ringOf = (bytes: number) => new ValueRing(seededRandom(11), bytes);

describe('a ring of values', () => {
  test('gives back what was kept last of a key, in memory of its own', () => {
    const ring = ringOf(64 * KIB);
    const engine = ring.newEngine();
    expect(ring.get(engine, keyOf('a'))).toBeUndefined();
    const value = Buffer.from('first');
    ring.keep(engine, keyOf('a'), value);
    value.fill(0);
    const read = ring.get(engine, keyOf('a'));
    ring.keep(engine, keyOf('a'), Buffer.from('second, and longer'));
    expect([read?.toString(), ring.get(engine, keyOf('a'))?.toString()]).toEqual([
      'first',
      'second, and longer',
    ]);
    expect(Buffer.isBuffer(read)).toBe(true);
    ring.remove(engine, keyOf('a'));
    expect(ring.get(engine, keyOf('a'))).toBeUndefined();
  });

  test('takes no key of one engine for that of another', () => {
    const ring = ringOf(64 * KIB);
    const [one, other] = [ring.newEngine(), ring.newEngine()];
    ring.keep(one, keyOf('a'), Buffer.from('v'));
    expect(ring.get(other, keyOf('a'))).toBeUndefined();
    ring.remove(other, keyOf('a'));
    expect(ring.get(one, keyOf('a'))?.toString()).toBe('v');
  });

  test('keeps what came last, as much of it as has room', () => {
    const ring = ringOf(64 * KIB);
    const engine = ring.newEngine();
    // three words before a value of 27: an entry has 120 bytes
    const bytesOf = (at: number) => Buffer.alloc(108, at);
    for (let at = 0; at < 3_000; at++) ring.keep(engine, keyOf(at), bytesOf(at));
    const room = Math.floor((64 * KIB) / 120);
    const kept = Array.from({ length: 3_000 }, (_, at) => at).filter((at) => {
      const value = ring.get(engine, keyOf(at));
      if (value !== undefined) expect(value).toEqual(bytesOf(at));
      return value !== undefined;
    });
    expect(kept[0]).toBeGreaterThanOrEqual(3_000 - room);
    expect(kept.at(-1)).toBe(2_999);
    // sets of the index are not all filled alike
    expect(kept.length).toBeGreaterThan(room * 0.9);
  });

  test('never gives what was replaced, removed or overwritten', () => {
    const step = fc.record({
      what: fc.constantFrom('keep', 'keep', 'keep', 'get', 'remove'),
      engine: fc.integer({ min: 1, max: 2 }),
      key: fc.integer({ min: 0, max: 12 }),
      length: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 250 })),
    });
    let [found, lost] = [0, 0];
    const run = (steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]) => {
      const ring = ringOf(KIB);
      const newest = new Map<string, Buffer>();
      steps.forEach(({ what, engine, key, length }, at) => {
        const name = `${engine} ${key}`;
        if (what === 'keep') {
          const value = Buffer.alloc(length, at + 1);
          // what is too long for the ring is not kept, and who keeps it has removed what was
          if (length + 12 > KIB / 4) return;
          ring.keep(engine, keyOf(key), value);
          newest.set(name, value);
        } else if (what === 'remove') {
          ring.remove(engine, keyOf(key));
          newest.delete(name);
        } else {
          const value = ring.get(engine, keyOf(key));
          if (value !== undefined) expect(value).toEqual(newest.get(name));
          if (newest.has(name)) value === undefined ? lost++ : found++;
        }
      });
    };
    fc.assert(fc.property(fc.array(step, { minLength: 40, maxLength: 120 }), run), {
      numRuns: 1_000,
    });
    expect(found).toBeGreaterThan(1_000);
    expect(lost).toBeGreaterThan(100);
  });

  test('keeps nothing that takes more than a quarter of it', () => {
    const ring = ringOf(KIB);
    ring.keep(1, keyOf('a'), Buffer.alloc(KIB / 4 - 11));
    expect(ring.get(1, keyOf('a'))).toBeUndefined();
    ring.keep(1, keyOf('a'), Buffer.alloc(KIB / 4 - 12, 7));
    expect(ring.get(1, keyOf('a'))).toEqual(Buffer.alloc(KIB / 4 - 12, 7));
  });

  test('has room for three quarters of it at all times', () => {
    const ring = ringOf(4 * KIB);
    const random = seededRandom(3);
    const lengths: number[] = [];
    let words = 0;
    for (let at = 0; at < 5_000; at++) {
      const length = random.below(2) === 0 ? 200 + random.below(200) : random.below(KIB - 11);
      ring.keep(1, keyOf(at), Buffer.alloc(length, 0x11));
      lengths.push(length);
      words = 0;
      for (let age = 0; age <= at; age++) {
        words += 3 + Math.ceil(lengths[at - age]! / 4);
        if (words * 4 > 3 * KIB) break;
        expect(ring.get(1, keyOf(at - age))?.length, `${at} - ${age}`).toBe(lengths[at - age]);
      }
    }
  });
});

describe('the values of an engine', () => {
  test('are not looked for a round after the last was kept', () => {
    const ring = ringOf(KIB);
    const [one, other] = [new HotValues(ring), new HotValues(ring)];
    one.read(keyOf('a'), Buffer.alloc(100));
    let asked = 0;
    const get = ring.get.bind(ring);
    Object.assign(ring, {
      get: (engine: number, key: Buffer) => {
        asked++;
        return get(engine, key);
      },
    });
    expect(one.valueOf(keyOf('a'))).toEqual(Buffer.alloc(100));
    for (let at = 0; at < 20; at++) other.read(keyOf(at), Buffer.alloc(100));
    expect(one.valueOf(keyOf('a'))).toBeUndefined();
    expect(asked).toBe(1);
  });

  test('are short ones of short keys', () => {
    const values = new HotValues(ringOf(64 * KIB));
    values.read(keyOf('a'), Buffer.alloc(limits.hotValueBytes));
    values.read(keyOf('b'), Buffer.alloc(limits.hotValueBytes + 1));
    const long = keyOf('c'.repeat(600));
    values.read(long, Buffer.from('v'));
    const known = [keyOf('a'), keyOf('b'), long].map((key) => values.valueOf(key)?.length);
    expect(known).toEqual([limits.hotValueBytes, undefined, undefined]);
  });
});

/** An engine that counts what it is asked for, and whose writes end when they are told to. */
async function open() {
  const host = createMemoryHost();
  const asked: string[] = [];
  let gate: Promise<void> | undefined;
  const openSlow: EngineHost['open'] = async (name) => {
    const { engine, report } = await host.open(name);
    const [read, write] = [engine.getSync.bind(engine), engine.write.bind(engine)];
    Object.assign(engine, {
      getSync: (key: Buffer) => {
        asked.push(key.toString('latin1'));
        return read(key);
      },
      write: async (operations: readonly BatchOperation[]) => {
        await gate;
        await write(operations);
      },
    });
    return { engine, report };
  };
  const world = knownWorld(
    systemClock,
    { keyFilterMisses: 1_000, knownRecordsBytes: 98_304, hotValuesBytes: 64 * KIB },
    seededRandom(5),
  );
  const engines = withHotRanges(
    {
      open: openSlow,
      remove: (name) => host.remove(name),
      list: () => host.list(),
      verifyTables: () => Promise.resolve(),
    },
    world,
  );
  const { engine } = await engines.open('1-0');
  const hold = () => {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      gate = undefined;
      release();
    };
  };
  return { engine, asked, hold };
}

const put = (name: string, value: string): BatchOperation => ({
  type: 'put',
  key: keyOf(name),
  value: Buffer.from(value),
});
const shown = (engine: Engine, name: string) => engine.getSync(keyOf(name))?.toString();

describe('an engine that is read again', () => {
  test('is asked once for what does not change', async () => {
    const { engine, asked } = await open();
    await engine.write([put('a', 'v'), put('b', 'w')]);
    const read = () => ['a', 'b', 'a', 'b'].map((name) => shown(engine, name));
    expect([...read(), ...read()]).toEqual(['v', 'w', 'v', 'w', 'v', 'w', 'v', 'w']);
    expect(asked).toHaveLength(2);
  });

  test('shows every write and removal', async () => {
    const { engine } = await open();
    await engine.write([put('a', 'v'), put('b', 'w')]);
    expect([shown(engine, 'a'), shown(engine, 'b')]).toEqual(['v', 'w']);
    await engine.write([put('a', 'x'), { type: 'del', key: keyOf('b') }]);
    expect([shown(engine, 'a'), shown(engine, 'b')]).toEqual(['x', undefined]);
    await engine.write([put('b', 'y')]);
    expect(shown(engine, 'b')).toBe('y');
  });

  test('shows the state before a write until it is there, and the new one from then on', async () => {
    const { engine, hold } = await open();
    await engine.write([put('a', 'old'), put('b', 'same')]);
    expect([shown(engine, 'a'), shown(engine, 'b')]).toEqual(['old', 'same']);
    const release = hold();
    const written = engine.write([put('a', 'new')]);
    expect([shown(engine, 'a'), shown(engine, 'a')]).toEqual(['old', 'old']);
    release();
    await written;
    expect([shown(engine, 'a'), shown(engine, 'b')]).toEqual(['new', 'same']);
  });

  test.each([limits.hotChangesMax, limits.hotChangesMax + 1, limits.keyFilterChangesMax + 1])(
    'shows what a batch of %i changes',
    async (count) => {
      const { engine } = await open();
      await engine.write([put('k 7', 'old'), put('same', 'v')]);
      expect([shown(engine, 'k 7'), shown(engine, 'same')]).toEqual(['old', 'v']);
      await engine.write(Array.from({ length: count }, (_, at) => put(`k ${at}`, 'new')));
      expect([shown(engine, 'k 7'), shown(engine, 'same')]).toEqual(['new', 'v']);
    },
  );

  test('shows nothing of what was cleared', async () => {
    const { engine } = await open();
    await engine.write([put('a', 'v')]);
    expect(shown(engine, 'a')).toBe('v');
    await engine.clearRange({ gte: Buffer.from([0]), lt: Buffer.from([0xff]) });
    expect(shown(engine, 'a')).toBeUndefined();
    await engine.write([put('a', 'w')]);
    expect(shown(engine, 'a')).toBe('w');
  });
});
