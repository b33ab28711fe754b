import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { COUNTS_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { RecordOpener } from '../../../../src/datanode/encoding/txn/large-records.ts';
import { createView, readRange, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type {
  BatchOperation,
  Engine,
  KeyRange,
  KeyValue,
} from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

async function openEngine(): Promise<Engine> {
  return (await createMemoryHost().open('1-0')).engine;
}

const key = (text: string) => Buffer.from(`\x10${text}`, 'latin1');
const value = (text: string) => Buffer.from(text);
const all: KeyRange = { gte: Buffer.from([1]), lt: Buffer.from([0xff]) };

async function walk(
  range: KeyRange,
  read: (range: KeyRange) => readonly KeyValue[] | Promise<readonly KeyValue[]>,
): Promise<string[]> {
  const found: string[] = [];
  let rest = range;
  for (;;) {
    const slice = await read(rest);
    if (slice.length === 0) return found;
    for (const [k, v] of slice) found.push(`${k.toString('latin1')}=${v.toString()}`);
    const last = slice.at(-1)![0];
    rest = range.reverse
      ? { ...rest, lt: last }
      : { ...rest, gte: Buffer.concat([last, Buffer.from([0])]) };
  }
}

describe('a Txn', () => {
  test('sees its own changes, and the engine sees them after its batch', async () => {
    const engine = await openEngine();
    const txn = new Txn(engine);
    txn.put(key('a'), value('1'));
    expect(txn.get(key('a'))).toEqual(value('1'));
    expect(createView(engine).get(key('a'))).toBeUndefined();
    await engine.write(txn.operations());
    expect(createView(engine).get(key('a'))).toEqual(value('1'));
    const second = new Txn(engine);
    second.del(key('a'));
    expect(second.get(key('a'))).toBeUndefined();
    await engine.write(second.operations());
    expect(createView(engine).get(key('a'))).toBeUndefined();
  });

  test('gives each collection of an entry a version of its own', async () => {
    const txn = new Txn(await openEngine());
    txn.beginEntry(7);
    expect([txn.newVersion(), txn.newVersion()]).toEqual([
      { index: 7, ordinal: 0 },
      { index: 7, ordinal: 1 },
    ]);
    txn.beginEntry(8);
    expect(txn.newVersion()).toEqual({ index: 8, ordinal: 0 });
  });

  test('counts what commands put, not what joins when others read: that differs by batches', async () => {
    const txn = new Txn(await openEngine());
    const ranks = { flush: () => txn.put(key('node'), Buffer.alloc(100)) };
    Object.assign(txn, { ranks });
    txn.beginEntry(1);
    txn.put(key('a'), Buffer.alloc(10));
    txn.beginEntry(2);
    txn.put(key('b'), Buffer.alloc(5));
    txn.addCounts(1, 0);
    txn.get(COUNTS_KEY);
    await txn.range(all);
    expect(txn.get(key('node'))).toHaveLength(100);
    expect([txn.putBytes, txn.entryPutBytes]).toEqual([15, 5]);
  });

  test('shows its write set to observers, whose puts join the batch', async () => {
    const engine = await openEngine();
    await engine.write(seeded([['a', 'old']]));
    const txn = new Txn(engine, [
      (changes, target, before) => {
        for (const change of changes) {
          const old = before.get(change.key)?.toString() ?? 'none';
          target.put(key(`index ${old}`), change.after ?? value('gone'));
        }
      },
    ]);
    txn.del(key('a'));
    txn.put(key('b'), value('2'));
    await engine.write(txn.operations());
    expect(await walk(all, (range) => readRange(engine, range))).toEqual([
      '\x10b=2',
      '\x10index none=2',
      '\x10index old=gone',
    ]);
  });

  test('reads ranges as if its changes were in the engine already', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\xff'), minLength: 1, maxLength: 3 });
    const pairs = fc.array(fc.tuple(text, fc.string({ maxLength: 3 })), { maxLength: 30 });
    const steps = fc.array(
      fc.oneof(
        fc.record({ put: text, value: fc.string({ maxLength: 3 }) }),
        fc.record({ del: text }),
        fc.record({
          gte: text,
          lt: text,
          reverse: fc.boolean(),
          limit: fc.integer({ min: 1, max: 5 }),
        }),
      ),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(pairs, steps, async (seed, todo) => {
        const engine = await openEngine();
        await engine.write(seeded(seed));
        const model = new Map(seed.map(([k, v]) => [`\x10${k}`, v]));
        const txn = new Txn(engine);
        for (const step of todo) {
          if ('put' in step) {
            txn.put(key(step.put), value(step.value));
            model.set(`\x10${step.put}`, step.value);
          } else if ('del' in step) {
            txn.del(key(step.del));
            model.delete(`\x10${step.del}`);
          } else {
            const range = { ...step, gte: key(step.gte), lt: key(step.lt) };
            const expected = [...model]
              .filter(([k]) => k >= `\x10${step.gte}` && k < `\x10${step.lt}`)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([k, v]) => `${k}=${Buffer.from(v).toString()}`);
            if (step.reverse) expected.reverse();
            expect(await txn.range(range)).toHaveLength(Math.min(step.limit, expected.length));
            expect(await walk(range, (rest) => txn.range(rest))).toEqual(expected);
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test('reads ranges over several collections, and over thousands of changes, in order', async () => {
    const collection = (tag: number, version: number) => {
      const prefix = Buffer.alloc(15, tag);
      prefix.fill(0, 1, 11).writeUInt32BE(version, 11);
      return prefix;
    };
    const at = (prefix: Buffer, number: number) =>
      Buffer.concat([prefix, Buffer.from([number >> 16, number >> 8, number])]);
    const engine = await openEngine();
    const places = [collection(0x14, 1), collection(0x14, 0xff), collection(0x16, 1), key('')];
    const written = new Txn(engine);
    for (const place of places) {
      for (let i = 0; i < 3_000; i += 3) written.put(at(place, i), value('old'));
    }
    await engine.write(written.operations());
    const txn = new Txn(engine);
    for (const round of [0, 1]) {
      for (const place of places) {
        for (let i = round; i < 6_000; i += 2) {
          const number = (i * 7_919) % 6_000;
          if (number % 5 === 0) txn.del(at(place, number));
          else txn.put(at(place, number), value('new'));
        }
        const reader = { gte: place, lt: at(place, 0xff_ffff) };
        for (const reverse of [false, true]) {
          const range = { ...reader, reverse };
          const expected = Array.from({ length: 6_000 }, (_, i) => i)
            .filter((i) => (i % 2 === 0 || round === 1 ? i % 5 !== 0 : i < 3_000 && i % 3 === 0))
            .map(
              (i) =>
                `${at(place, i).toString('latin1')}=${i % 2 === 0 || round === 1 ? 'new' : 'old'}`,
            );
          if (reverse) expected.reverse();
          expect(await walk(range, (rest) => txn.range(rest))).toEqual(expected);
        }
      }
    }
    const everything = await walk(all, (rest) => txn.range(rest));
    expect(everything).toHaveLength(places.length * 4_800);
    expect(everything).toEqual([...everything].sort());
  });

  test('reads large values in slices of bounded bytes', async () => {
    const engine = await openEngine();
    const txn = new Txn(engine);
    for (let i = 0; i < 8; i++) txn.put(key(`${i}`), Buffer.alloc(600_000, i));
    await engine.write(txn.operations());
    const slice = await readRange(engine, all);
    expect(slice.length).toBeGreaterThan(0);
    expect(slice.length).toBeLessThan(8);
  });
});

describe('a damaged record', () => {
  test('is refused by point and range reads, naming its key and the remedy', async () => {
    const engine = await openEngine();
    const [put] = seeded([['a', 'value']]);
    if (put?.type !== 'put') throw new Error('a put');
    for (let bit = 0; bit < put.value.length * 8; bit++) {
      const damaged = Buffer.from(put.value);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      await engine.write([{ ...put, value: damaged }]);
      const refusal = { code: 'CORRUPT', message: expect.stringMatching(/record 1061: .*rebuilt/) };
      expect(() => createView(engine).get(key('a'))).toThrow(expect.objectContaining(refusal));
      await expect(readRange(engine, all)).rejects.toMatchObject(refusal);
    }
    await engine.write([{ ...put, key: key('b') }]);
    expect(() => createView(engine).get(key('b'))).toThrow('record 1062');
  });
});

describe('records of megabytes', () => {
  const large = Buffer.alloc(3 * 1_048_576 + 17, 'large');
  /** Due after each step: as many pauses as there can be. */
  function pacing() {
    const pace = { pauses: 0, isDue: () => true, pause: async () => void pace.pauses++ };
    return pace;
  }

  test('are sealed in steps, to the same bytes', async () => {
    const engine = await openEngine();
    const [small, whole] = [new Txn(engine), new Txn(engine)];
    for (const txn of [small, whole]) {
      txn.put(key('a'), value('1'));
      txn.put(key('large'), large);
      txn.del(key('b'));
    }
    const pace = pacing();
    expect(whole.isLarge).toBe(true);
    const sealed = [...(await whole.batchInSteps(pace))];
    const atOnce = small.operations();
    expect(sealed.map(({ type, key }) => [type, key])).toEqual(
      atOnce.map(({ type, key }) => [type, key]),
    );
    const bytes = (operation: BatchOperation) =>
      operation.type === 'put' ? operation.value : Buffer.alloc(0);
    expect(Buffer.concat(sealed.map(bytes)).equals(Buffer.concat(atOnce.map(bytes)))).toBe(true);
    expect(pace.pauses).toBeGreaterThan(6);
  });

  test('are given out before they are checked, and checked before anything is written', async () => {
    const engine = await openEngine();
    const filled = new Txn(engine);
    filled.put(key('large'), large);
    const [put] = filled.operations();
    if (put?.type !== 'put') throw new Error('a put');
    for (const at of [0, large.length - 1, large.length + 2]) {
      const damaged = Buffer.from(put.value);
      damaged[at]! ^= 1;
      await engine.write([{ ...put, value: damaged }]);
      const refusal = { code: 'CORRUPT', message: expect.stringContaining('checksum') };
      for (const check of [
        async (txn: Txn) => txn.operations(),
        async (txn: Txn) => txn.checkReads(),
        (txn: Txn) => txn.batchInSteps(pacing()),
      ]) {
        const txn = new Txn(engine);
        expect(txn.get(key('large'))).toHaveLength(large.length);
        expect(txn.isLarge).toBe(true);
        await expect(check(txn)).rejects.toMatchObject(refusal);
      }
      expect(() => createView(engine).get(key('large'))).toThrow(expect.objectContaining(refusal));
    }
    await engine.write([put]);
    const txn = new Txn(engine);
    expect(txn.get(key('large'))?.equals(large)).toBe(true);
    expect((await txn.batchInSteps(pacing())).length).toBe(0);
  });

  test('that wait for their check are bounded: beyond, they are checked at once', () => {
    const opener = new RecordOpener();
    const record = sealRecord(key('large'), large);
    const damaged = Buffer.from(record);
    damaged[5]! ^= 1;
    for (let at = 0; at < 10; at++) {
      expect(opener.open(key('large'), record).equals(large)).toBe(true);
    }
    expect(() => opener.open(key('large'), damaged)).toThrow('checksum');
    opener.check();
    expect(opener.isDone).toBe(true);
    expect(opener.open(key('large'), damaged)).toHaveLength(large.length);
    expect(() => opener.check()).toThrow('checksum');
  });
});

describe('deletions', () => {
  const unhurried = { isDue: () => false, pause: async () => {} };

  async function deleted(count: number) {
    const txn = new Txn(await openEngine());
    for (let at = 0; at < count; at++) txn.del(key(String(at)));
    txn.put(key('last'), value('stays'));
    return [...(await txn.batchInSteps(unhurried))];
  }

  test('of many hold no keys beside those of the changes, and are what few are', async () => {
    const many = await deleted(20_000);
    expect(many.slice(0, -1).map(({ type, key }) => [type, key.toString('latin1')])).toEqual(
      Array.from({ length: 20_000 }, (_, at) => ['del', `\x10${at}`]),
    );
    expect(many.at(-1)).toMatchObject({ type: 'put', key: key('last') });
    expect(many.filter((operation) => Object.hasOwn(operation, 'key')).length).toBeLessThan(2_000);
    const few = await deleted(1_000);
    expect(few.every((operation) => Object.hasOwn(operation, 'key'))).toBe(true);
  });

  test('of many are written to an engine', async () => {
    const engine = await openEngine();
    const filling = new Txn(engine);
    for (let at = 0; at < 20_000; at++) filling.put(key(String(at)), value('x'));
    await engine.write(await filling.batchInSteps(unhurried));
    const txn = new Txn(engine);
    for (let at = 1; at < 20_000; at++) txn.del(key(String(at)));
    await engine.write(await txn.batchInSteps(unhurried));
    expect(await walk(all, (range) => readRange(engine, range))).toEqual(['\x100=x']);
  });
});

function seeded(pairs: readonly (readonly [string, string])[]) {
  const never = { getSync: () => undefined, iterate: neverIterated };
  const txn = new Txn(never);
  for (const [k, v] of pairs) txn.put(key(k), value(v));
  return txn.operations();
}

function neverIterated(): never {
  throw new Error('not read');
}
