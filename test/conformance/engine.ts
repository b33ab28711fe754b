/** What every engine must do, whatever it stores its pairs in. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf } from '../../src/common/errors.ts';
import { seededRandom } from '../../src/common/random.ts';
import type {
  BatchOperation,
  Engine,
  EngineHost,
  EngineReader,
  KeyRange,
  KeyValue,
} from '../../src/datanode/engine/engine.ts';

export interface EngineFixture {
  readonly host: EngineHost;
  /** A host over the same engines, as after a restart; all engines are closed by then. */
  reopen(): EngineHost;
  dispose(): Promise<void>;
}

const NAME = '7-1';
const EVERYTHING: KeyRange = { gte: Buffer.from([0]), lt: Buffer.from([255, 255, 255, 255, 255]) };

export const key = (text: string): Buffer => Buffer.from(text);
export const put = (k: string | Buffer, v: string | Buffer): BatchOperation => ({
  type: 'put',
  key: Buffer.from(k),
  value: Buffer.from(v),
});
export const del = (k: string | Buffer): BatchOperation => ({ type: 'del', key: Buffer.from(k) });

/** All pairs of a range, `step` at a time. */
export async function readAll(
  reader: EngineReader,
  range: KeyRange = EVERYTHING,
  step = 100,
): Promise<KeyValue[]> {
  const iterator = reader.iterate(range);
  const pairs: KeyValue[] = [];
  for (;;) {
    const some = await iterator.next(step);
    if (some.length === 0) break;
    expect(some.length).toBeLessThanOrEqual(step);
    pairs.push(...some);
  }
  await iterator.close();
  return pairs;
}

const textOf = (pairs: readonly KeyValue[]) => pairs.map(([k, v]) => `${k}=${v}`).join(' ');

/** Registers the suite; `create` makes an empty host. */
export function engineConformance(create: () => Promise<EngineFixture>): void {
  let fixture: EngineFixture;
  let engine: Engine;

  beforeEach(async () => {
    fixture = await create();
    engine = (await fixture.host.open(NAME)).engine;
  });
  afterEach(async () => {
    await engine.close();
    await fixture.dispose();
  });

  describe('reads and writes', () => {
    test('a batch of thousands of operations is seen as a whole or not at all', async () => {
      const count = 5_000;
      await engine.write([put('k00000', 'old')]);
      const many = Array.from({ length: count }, (_, at) =>
        put(`k${`${at}`.padStart(5, '0')}`, 'new'),
      );
      let written = false;
      const writing = engine.write(many).then(() => {
        written = true;
      });
      const after = engine.write([put('k00001', 'later')]);
      while (!written) {
        const snapshot = engine.snapshot();
        const pairs = await readAll(snapshot, EVERYTHING, 10_000);
        await snapshot.close();
        expect([1, count]).toContain(pairs.length);
        expect(pairs[0]![1].toString()).toBe(pairs.length === 1 ? 'old' : 'new');
      }
      await Promise.all([writing, after]);
      expect(await readAll(engine)).toHaveLength(count);
      expect(engine.getSync(key('k00001'))?.toString()).toBe('later');
      await engine.write(many.map((operation) => del(operation.key)));
      expect(await readAll(engine)).toEqual([]);
    });

    test('a written value is read by every kind of read', async () => {
      await engine.write([put('a', '1'), put('b', '')]);
      expect(engine.getSync(key('a'))).toEqual(key('1'));
      expect(engine.getSync(key('b'))).toEqual(Buffer.alloc(0));
      expect(engine.getSync(key('c'))).toBeUndefined();
      const many = [key('b'), key('c'), key('a')].map((k) => engine.getSync(k));
      expect(many).toEqual([Buffer.alloc(0), undefined, key('1')]);
      expect(textOf(await readAll(engine))).toBe('a=1 b=');
    });

    test('within one batch the last operation on a key wins', async () => {
      await engine.write([put('a', '1'), del('a'), put('a', '2'), put('b', '1'), del('b')]);
      expect(textOf(await readAll(engine))).toBe('a=2');
    });

    test('batches take effect in the order of the calls', async () => {
      const writes: Promise<void>[] = [];
      for (let i = 0; i < 500; i++) {
        writes.push(engine.write([put('last', String(i)), put(`k${i}`, 'x'), del(`k${i - 1}`)]));
      }
      await Promise.all(writes);
      expect(textOf(await readAll(engine))).toBe('k499=x last=499');
    });

    test('an empty batch is a write like any other', async () => {
      await engine.write([]);
      expect(await readAll(engine)).toEqual([]);
    });

    test('an empty batch ends behind all before it, however large they are', async () => {
      const many = Array.from({ length: 3_000 }, (_, at) => put(`k${at}`, 'x'.repeat(50)));
      const written = engine.write(many);
      await engine.write([]);
      expect(engine.getSync(key('k2999'))).toBeDefined();
      expect(await readAll(engine, EVERYTHING, 10_000)).toHaveLength(3_000);
      await written;
    });

    test('what was handed out does not change with the store', async () => {
      await engine.write([put('a', '1')]);
      const value = engine.getSync(key('a'));
      const [pair] = await readAll(engine);
      await engine.write([put('a', '2')]);
      expect(value).toEqual(key('1'));
      expect(pair?.[1]).toEqual(key('1'));
    });

    test('values of a megabyte and keys of all byte values come back unchanged', async () => {
      const random = seededRandom(1);
      const large = Buffer.alloc(1_200_000);
      for (let i = 0; i < large.length; i += 997) large[i] = random.below(256);
      const keys = Array.from({ length: 256 }, (_, i) => Buffer.from([1, i, 255 - i]));
      await engine.write([put('large', large), ...keys.map((k) => put(k, k))]);
      expect(engine.getSync(key('large'))?.equals(large)).toBe(true);
      for (const k of keys) expect(engine.getSync(k)).toEqual(k);
    });
  });

  describe('ranges', () => {
    const range = (gte: string, lt: string, more: Partial<KeyRange> = {}): KeyRange => ({
      gte: key(gte),
      lt: key(lt),
      ...more,
    });

    beforeEach(async () => {
      await engine.write(['b', 'd', 'f', 'h', 'j'].map((k) => put(k, k.toUpperCase())));
    });

    test('the lower bound belongs to a range, the upper does not', async () => {
      expect(textOf(await readAll(engine, range('b', 'h')))).toBe('b=B d=D f=F');
      expect(textOf(await readAll(engine, range('c', 'i')))).toBe('d=D f=F h=H');
      expect(textOf(await readAll(engine, range('a', 'z')))).toBe('b=B d=D f=F h=H j=J');
      expect(await readAll(engine, range('k', 'z'))).toEqual([]);
      expect(await readAll(engine, range('a', 'b'))).toEqual([]);
      expect(await readAll(engine, range('h', 'b'))).toEqual([]);
    });

    test('a reverse range runs from below its upper bound to its lower', async () => {
      const reverse = true;
      expect(textOf(await readAll(engine, range('b', 'h', { reverse })))).toBe('f=F d=D b=B');
      expect(textOf(await readAll(engine, range('c', 'i', { reverse })))).toBe('h=H f=F d=D');
      expect(textOf(await readAll(engine, range('i', 'z', { reverse }), 1))).toBe('j=J');
      expect(await readAll(engine, range('k', 'z', { reverse }))).toEqual([]);
      expect(await readAll(engine, range('a', 'b', { reverse }))).toEqual([]);
    });

    test('a limit bounds the pairs of the whole iteration', async () => {
      expect(textOf(await readAll(engine, range('a', 'z', { limit: 3 }), 2))).toBe('b=B d=D f=F');
      const last = range('a', 'z', { limit: 2, reverse: true });
      expect(textOf(await readAll(engine, last, 1))).toBe('j=J h=H');
      expect(await readAll(engine, range('a', 'z', { limit: 0 }))).toEqual([]);
    });

    test.each([2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 2, Number.MAX_SAFE_INTEGER, 2 ** 60])(
      'a limit of %d bounds nothing',
      async (limit) => {
        // some of it lies beneath for sure, and what was written last may be on its way there
        await engine.sync();
        await engine.write([put('c', 'C'), put('e', 'E'), put('g', 'G')]);
        const all = textOf(await readAll(engine, range('a', 'z')));
        expect(all).toContain('b=B c=C d=D e=E f=F');
        expect(textOf(await readAll(engine, range('a', 'z', { limit })))).toBe(all);
        const reverse = await readAll(engine, range('a', 'z', { limit, reverse: true }));
        expect(textOf(reverse.reverse())).toBe(all);
      },
    );

    test('of keys alone the values are empty', async () => {
      await engine.write([put('a', '1'), put('b', ''), put('c', '3'), put('d', '4')]);
      const keysOnly = { gte: key('a'), lt: key('d'), keysOnly: true };
      expect(textOf(await readAll(engine, keysOnly))).toBe('a= b= c=');
      expect(textOf(await readAll(engine, { ...keysOnly, reverse: true, limit: 2 }, 1))).toBe(
        'c= b=',
      );
      const snapshot = engine.snapshot();
      expect(textOf(await readAll(snapshot, keysOnly))).toBe('a= b= c=');
      await snapshot.close();
    });

    test('keys are ordered by their bytes, a prefix before what it begins', async () => {
      const keys = [[0x61], [0x61, 0], [0x61, 0xff], [0x62], [0x7f], [0x80], [0xc3, 0xa9], [0xff]];
      await engine.clearRange(EVERYTHING);
      await engine.write([...keys].reverse().map((k) => put(Buffer.from(k), '')));
      const read = await readAll(engine);
      expect(read.map(([k]) => [...k])).toEqual(keys);
      const back = await readAll(engine, { ...EVERYTHING, reverse: true }, 3);
      expect(back.map(([k]) => [...k])).toEqual([...keys].reverse());
    });

    test('one step hands out about a megabyte at most', async () => {
      const value = Buffer.alloc(100_000);
      const operations = Array.from({ length: 40 }, (_, i) => put(`v${100 + i}`, value));
      await engine.write(operations);
      const iterator = engine.iterate(range('v', 'w'));
      const first = await iterator.next(1_000);
      expect(first.length).toBeGreaterThanOrEqual(1);
      expect(first.length).toBeLessThanOrEqual(12);
      let count = first.length;
      for (let some = first; some.length > 0; count += some.length)
        some = await iterator.next(1_000);
      expect(count).toBe(40);
      await iterator.close();
    });

    test('an iterator sees the state at its creation', async () => {
      const iterator = engine.iterate(range('a', 'z'));
      await engine.write([put('c', 'C'), del('d'), put('f', 'changed')]);
      expect(textOf(await iterator.next(10))).toBe('b=B d=D f=F h=H j=J');
      await iterator.close();
    });

    test('clearing a range leaves its surroundings', async () => {
      await engine.clearRange(range('c', 'h'));
      expect(textOf(await readAll(engine))).toBe('b=B h=H j=J');
      await engine.clearRange(range('c', 'g'));
      await engine.clearRange(range('a', 'z', { limit: 1, reverse: true }));
      expect(textOf(await readAll(engine))).toBe('b=B h=H');
    });

    test('a clear keeps its place among the writes', async () => {
      const before = engine.write([put('c', '1')]);
      const clear = engine.clearRange(range('a', 'z'));
      const after = engine.write([put('e', '2')]);
      await Promise.all([before, clear, after]);
      expect(textOf(await readAll(engine))).toBe('e=2');
    });
  });

  describe('snapshots', () => {
    test('a snapshot keeps its state while the engine changes', async () => {
      await engine.write([put('a', '1'), put('b', '1')]);
      const snapshot = engine.snapshot();
      await engine.write([put('a', '2'), del('b'), put('c', '2')]);
      await engine.clearRange({ gte: key('c'), lt: key('d') });
      expect(snapshot.getSync(key('a'))).toEqual(key('1'));
      expect(snapshot.getSync(key('c'))).toBeUndefined();
      expect([key('b'), key('c')].map((k) => snapshot.getSync(k))).toEqual([key('1'), undefined]);
      expect(textOf(await readAll(snapshot))).toBe('a=1 b=1');
      expect(textOf(await readAll(snapshot, { ...EVERYTHING, reverse: true }))).toBe('b=1 a=1');
      await snapshot.close();
      expect(textOf(await readAll(engine))).toBe('a=2');
    });

    test('a batch in flight is in a snapshot as a whole or not at all', async () => {
      const keys = Array.from({ length: 50 }, (_, i) => `k${i}`);
      await engine.write(keys.map((k) => put(k, '-1')));
      const writes: Promise<void>[] = [];
      let seen = -1;
      for (let i = 0; i < 200; i++) {
        writes.push(engine.write(keys.map((k) => put(k, String(i)))));
        if (i % 3 === 0) await writes[i - 5];
        const snapshot = engine.snapshot();
        const values = new Set(keys.map((k) => String(snapshot.getSync(key(k)))));
        expect(values.size).toBe(1);
        const value = Number([...values][0]);
        expect(value).toBeGreaterThanOrEqual(seen);
        seen = value;
        await snapshot.close();
      }
      await Promise.all(writes);
      expect(seen).toBeGreaterThan(0);
    });

    test('an iterator goes on when the batch that was being written has ended', async () => {
      const count = 3_000;
      await engine.write([put('k0', 'old')]);
      const many = Array.from({ length: count }, (_, at) => put(`k${at}`, 'x'.repeat(50)));
      let written = false;
      const writing = engine.write(many).then(() => {
        written = true;
      });
      const iterators = [engine.iterate(EVERYTHING)];
      while (!written && iterators.length < 10) {
        await new Promise((resolve) => setImmediate(resolve));
        iterators.push(engine.iterate(EVERYTHING));
      }
      await writing;
      for (const iterator of iterators) {
        const pairs = await iterator.next(10_000);
        expect([1, count]).toContain(pairs.length);
        await iterator.close();
      }
    });

    test('closing the engine ends open snapshots and iterators', async () => {
      await engine.write([put('a', '1')]);
      const snapshot = engine.snapshot();
      const iterator = snapshot.iterate(EVERYTHING);
      await engine.close();
      await iterator.close();
      await snapshot.close();
      expect(() => engine.getSync(key('a'))).toThrow(/closed/);
      const failure = await engine.write([put('a', '2')]).catch(codeOf);
      expect(failure).toBe('STOPPING');
    });
  });

  describe('a host', () => {
    test('finds everything again after all was closed, synced or not', async () => {
      await engine.write([put('a', '1'), put('b', '1')]);
      await engine.sync();
      await engine.write([del('a'), put('c', '1')]);
      await engine.close();
      const opened = await fixture.reopen().open(NAME);
      engine = opened.engine;
      expect(opened.report).toEqual({ cutBytes: 0, cuts: [] });
      expect(textOf(await readAll(engine))).toBe('b=1 c=1');
    });

    test('closing waits for the writes asked for before', async () => {
      const writes = Array.from({ length: 20 }, (_, i) => engine.write([put(`k${i + 10}`, 'x')]));
      await engine.close();
      await Promise.all(writes);
      engine = (await fixture.reopen().open(NAME)).engine;
      expect(await readAll(engine)).toHaveLength(20);
    });

    test('sync under writes leaves nothing out', async () => {
      const work: Promise<void>[] = [];
      for (let i = 0; i < 100; i++) {
        work.push(engine.write([put(`k${i}`, String(i))]));
        if (i % 10 === 0) work.push(engine.sync());
      }
      await Promise.all(work);
      await Promise.all([engine.sync(), engine.sync()]);
      expect(await readAll(engine)).toHaveLength(100);
    });

    test('lists its engines, keeps them apart and removes them', async () => {
      const { host } = fixture;
      const second = (await host.open('7-2')).engine;
      const third = (await host.open('12-1')).engine;
      await engine.write([put('a', 'first')]);
      await second.write([put('a', 'second')]);
      expect((await host.list()).sort()).toEqual(['12-1', '7-1', '7-2']);
      expect(second.getSync(key('a'))).toEqual(key('second'));
      await third.close();
      await host.remove('12-1');
      await host.remove('7-2');
      await host.remove('99-1');
      expect(await host.list()).toEqual(['7-1']);
      expect(engine.getSync(key('a'))).toEqual(key('first'));
      const again = (await host.open('7-2')).engine;
      expect(again.getSync(key('a'))).toBeUndefined();
      await again.close();
    });

    test('opens an engine once at a time, and only under a proper name', async () => {
      await expect(fixture.host.open(NAME)).rejects.toThrow(/open already/);
      await expect(fixture.host.open('../x')).rejects.toThrow(/replica id/);
      await expect(fixture.host.remove('x')).rejects.toThrow(/replica id/);
    });
  });

  test('a long run of random operations ends as a sorted map would', async () => {
    const random = seededRandom('engine');
    const model = new Map<string, string>();
    for (let round = 0; round < 60; round++) {
      const operations = Array.from({ length: 1 + random.below(80) }, () => {
        const k = `key${random.below(1_500)}`;
        return random.below(3) === 0 ? del(k) : put(k, String(random.u32()));
      });
      const written = engine.write(operations);
      for (const operation of operations) {
        if (operation.type === 'put') model.set(String(operation.key), String(operation.value));
        else model.delete(String(operation.key));
      }
      await written;
      const from = `key${random.below(1_500)}`;
      const to = `key${random.below(1_500)}`;
      const reverse = random.below(2) === 1;
      const expected = [...model].filter(([k]) => k >= from && k < to).sort();
      expected.sort(([a], [b]) => (a < b ? -1 : 1));
      if (reverse) expected.reverse();
      const got = await readAll(engine, { gte: key(from), lt: key(to), reverse }, 37);
      expect(got.map(([k, v]) => [String(k), String(v)])).toEqual(expected);
      if (round % 20 === 19) {
        await engine.close();
        engine = (await fixture.reopen().open(NAME)).engine;
      }
    }
  });
}
