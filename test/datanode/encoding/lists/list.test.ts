import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeShape,
  encodeShape,
  encodingOfList,
  growEncoding,
  type ListEnd,
  newShape,
  type OpenList,
  openList,
  pushElement,
  readList,
  saveList,
} from '../../../../src/datanode/encoding/lists/list.ts';
import {
  insertBeside,
  removeEqual,
  trimList,
} from '../../../../src/datanode/encoding/lists/list-edit.ts';
import {
  dropElements,
  elementsBetween,
  keyOfIndex,
} from '../../../../src/datanode/encoding/lists/list-walk.ts';
import { listpackEntryBytes } from '../../../../src/datanode/encoding/lists/listpack-size.ts';
import { LIST_ORIGIN } from '../../../../src/datanode/encoding/records/element-key.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';
import { createView, readRange, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine, KeyRange, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const NOW = 1_000;
/** Pairs of a range that come at a time. */
const SLICE = 7;
const KEY = Buffer.from('l');
const bytes = (text: string) => Buffer.from(text);

async function inSlices<T>(
  run: Slices<T>,
  readSlice: (range: KeyRange) => Promise<KeyValue[]>,
): Promise<T> {
  let step = run.next();
  while (!step.done) {
    const limit = Math.min(step.value.limit ?? SLICE, SLICE);
    step = run.next(await readSlice({ ...step.value, limit }));
  }
  return step.value;
}

/** One list in an engine, and the array that it must equal. */
class Bench {
  readonly engine: Engine;
  model: string[] = [];
  #index = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  static async open(): Promise<Bench> {
    return new Bench((await createMemoryHost().open('1-0')).engine);
  }

  async change<T>(run: (txn: Txn, list: OpenList) => Slices<T>): Promise<T> {
    const txn = new Txn(this.engine);
    txn.beginEntry(++this.#index);
    const list = openList(txn, KEY, NOW) as OpenList;
    const result = await inSlices(run(txn, list), async (range) => [...(await txn.range(range))]);
    await this.engine.write(txn.operations());
    return result;
  }

  read<T>(run: (list: OpenList) => Slices<T>): Promise<T> {
    const list = readList(createView(this.engine), KEY, NOW) as OpenList;
    return inSlices(run(list), (range) => readRange(this.engine, range));
  }

  get list(): OpenList | undefined {
    return readList(createView(this.engine), KEY, NOW) as OpenList | undefined;
  }

  push(end: ListEnd, ...elements: string[]): Promise<void> {
    for (const element of elements) {
      if (end === 'left') this.model.unshift(element);
      else this.model.push(element);
    }
    const txn = new Txn(this.engine);
    txn.beginEntry(++this.#index);
    const list = openList(txn, KEY, NOW) as OpenList;
    growEncoding(list, elements.map(bytes));
    for (const element of elements) pushElement(txn, list, end, bytes(element));
    saveList(txn, list);
    return this.engine.write(txn.operations());
  }

  async check(): Promise<void> {
    const { list, model } = this;
    expect(list?.size ?? 0).toBe(model.length);
    if (list === undefined) return;
    const view = createView(this.engine);
    const found = await this.read((at) => elementsBetween(view, at, [0, at.size - 1], String));
    expect(found).toEqual(model);
    const sizes = model.map((element) => listpackEntryBytes(bytes(element)));
    expect(list.shape.listpackBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
  }
}

type Operation = (bench: Bench) => Promise<void>;

const end = fc.constantFrom<ListEnd>('left', 'right');
const element = fc.integer({ min: 0, max: 12 }).map((value) => `e${value}`);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(end, fc.array(element, { minLength: 1, maxLength: 5 })).map(
    ([side, elements]): Operation =>
      (bench) =>
        bench.push(side, ...elements),
  ),
  fc.tuple(end, fc.integer({ min: 1, max: 60 })).map(([side, count]): Operation => {
    return async (bench) => {
      const taken = Math.min(count, bench.model.length);
      const wanted =
        side === 'left'
          ? bench.model.splice(0, taken)
          : bench.model.splice(bench.model.length - taken).reverse();
      const got = await bench.change(function* (txn, list) {
        const elements: string[] = [];
        yield* dropElements(txn, list, side, taken, (each) => elements.push(String(each)));
        saveList(txn, list);
        return elements;
      });
      expect(got).toEqual(wanted);
    };
  }),
  fc.tuple(fc.constantFrom('before', 'after'), fc.nat(), element).map(
    ([side, at, value]): Operation =>
      async (bench) => {
        const { model } = bench;
        if (model.length === 0) return;
        const pivot = model[at % model.length]!;
        const found = model.indexOf(pivot);
        model.splice(side === 'before' ? found : found + 1, 0, value);
        const size = await bench.change((txn, list) =>
          insertBeside(txn, list, { side, pivot: bytes(pivot) } as never, bytes(value)),
        );
        expect(size).toBe(model.length);
      },
  ),
  fc.tuple(end, fc.constantFrom(1, 2, 5, 1_000), element).map(
    ([from, count, value]): Operation =>
      async (bench) => {
        if (bench.model.length === 0) return;
        const ordered = from === 'left' ? bench.model : bench.model.toReversed();
        let left = count;
        const rest = ordered.filter((each) => each !== value || left-- <= 0);
        const removed = bench.model.length - rest.length;
        bench.model = from === 'left' ? rest : rest.reverse();
        const got = await bench.change((txn, list) =>
          removeEqual(txn, list, { from, count }, bytes(value)),
        );
        expect(got).toBe(removed);
      },
  ),
  fc.tuple(fc.nat(), fc.nat(), fc.boolean()).map(([a, b, few]): Operation => {
    return async (bench) => {
      const size = bench.model.length;
      if (size === 0) return;
      const first = few ? Math.min(a % 3, size - 1) : a % size;
      const last = few ? Math.max(first, size - 1 - (b % 3)) : first + (b % (size - first));
      bench.model = bench.model.slice(first, last + 1);
      await bench.change((txn, list) => trimList(txn, list, first, last));
    };
  }),
  fc.nat().map((at): Operation => {
    return async (bench) => {
      if (bench.model.length === 0) return;
      const view = createView(bench.engine);
      const index = at % bench.model.length;
      const key = await bench.read((list) => keyOfIndex(view, list, index));
      expect(view.get(key)!.subarray(1).toString()).toBe(bench.model[index]);
    };
  }),
);

describe('a list', () => {
  test('does what an array does, dense and sparse', async () => {
    let sparse = 0;
    const lengths = fc.constantFrom(0, 30, 200, 400);
    const histories = fc.tuple(lengths, fc.array(operation, { maxLength: 25, size: 'max' }));
    await fc.assert(
      fc.asyncProperty(histories, async ([length, operations]) => {
        const bench = await Bench.open();
        const names = Array.from({ length }, (_, at) => `${at % 11 === 5 ? 'e' : 'n'}${at % 200}`);
        if (length > 0) await bench.push('right', ...names);
        for (const operate of operations) {
          await operate(bench);
          await bench.check();
          if (bench.list?.shape.sparse) sparse++;
        }
      }),
      { numRuns: 250, seed: 1 },
    );
    expect(sparse).toBeGreaterThan(200);
  });

  test('stays dense when something changes near its ends, and not far from them', async () => {
    const bench = await Bench.open();
    await bench.push('right', ...Array.from({ length: 300 }, (_, at) => `${at}`));
    const insert = (pivot: string) =>
      bench.change((txn, list) =>
        insertBeside(txn, list, { side: 'after', pivot: bytes(pivot) }, bytes('new')),
      );
    const remove = (value: string) =>
      bench.change((txn, list) => removeEqual(txn, list, { from: 'left', count: 1 }, bytes(value)));
    await insert('40');
    await insert('250');
    await remove('60');
    await remove('260');
    expect(bench.list!.shape.sparse).toBe(false);
    await remove('150');
    expect(bench.list!.shape.sparse).toBe(true);
  });

  test('is laid out anew when insertions at one spot would make keys long', async () => {
    const bench = await Bench.open();
    await bench.push('right', ...Array.from({ length: 300 }, (_, at) => `${at}`));
    for (let turn = 0; turn < 700; turn++) {
      bench.model.splice(bench.model.indexOf('150'), 0, `i${turn}`);
      await bench.change((txn, list) =>
        insertBeside(txn, list, { side: 'before', pivot: bytes('150') }, bytes(`i${turn}`)),
      );
    }
    await bench.check();
    const keys = await bench.read(function* (list) {
      const found: Buffer[] = [];
      for (let at = 0; at < list.size; at += 37) {
        found.push(yield* keyOfIndex(createView(bench.engine), list, at));
      }
      return found;
    });
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThanOrEqual(23 + 64);
  });

  test('is dense again when little is left of it', async () => {
    const bench = await Bench.open();
    const names = Array.from({ length: 2_000 }, (_, at) => (at % 50 === 7 ? `${at}` : 'same'));
    await bench.push('right', ...names);
    bench.model = names.filter((name) => name !== 'same');
    const removed = await bench.change((txn, list) =>
      removeEqual(txn, list, { from: 'right', count: 5_000 }, bytes('same')),
    );
    expect(removed).toBe(1_960);
    await bench.check();
    expect(bench.list!.shape).toMatchObject({ sparse: false, head: LIST_ORIGIN });
  });

  test('keeps its deadline when a trim copies what is left', async () => {
    const bench = await Bench.open();
    await bench.push('right', ...Array.from({ length: 300 }, (_, at) => `${at}`));
    await bench.change(function* (txn, list) {
      list.deadlineMs = NOW + 5;
      yield* dropElements(txn, list, 'left', 1, () => {});
      saveList(txn, list);
    });
    bench.model = ['10', '11'];
    await bench.change((txn, list) => trimList(txn, list, 9, 10));
    await bench.check();
    expect(bench.list!.found.live!.deadlineMs).toBe(NOW + 5);
  });
});

describe('the header of a list', () => {
  const place = bytes('its key');
  const shape = { ...newShape(), quicklist: true, listpackBytes: 9 };
  shape.tail += 3;

  test('comes back', () => {
    expect(decodeShape(place, encodeShape(shape), 3)).toEqual(shape);
    const sparse = { ...shape, sparse: true, quicklist: false };
    expect(decodeShape(place, encodeShape(sparse), 2)).toEqual(sparse);
    expect(encodingOfList({ extra: encodeShape(shape) })).toBe('quicklist');
    expect(encodingOfList({ extra: encodeShape(sparse) })).toBe('listpack');
  });

  test('is refused when it is cut, of another build, or does not fit the size', () => {
    const unknown = encodeShape(shape);
    unknown[0] = 4;
    expect(() => decodeShape(place, unknown, 3)).toThrow('list flags 4 unknown');
    expect(() => decodeShape(place, unknown.subarray(1), 3)).toThrow('its list header is cut');
    expect(() => decodeShape(place, encodeShape(shape), 4)).toThrow('4 elements are said to fill');
  });
});

test('an element takes in a listpack what Redis says', () => {
  const sizes: readonly (readonly [string, number])[] = [
    ['0', 2],
    ['127', 2],
    ['128', 3],
    ['-1', 3],
    ['4095', 3],
    ['-4096', 3],
    ['4096', 4],
    ['32767', 4],
    ['32768', 5],
    ['8388608', 6],
    ['2147483648', 10],
    ['9223372036854775807', 10],
    ['9223372036854775808', 21],
    ['01', 4],
    ['', 2],
    ['x'.repeat(63), 65],
    ['x'.repeat(64), 67],
    ['x'.repeat(125), 128],
    ['x'.repeat(126), 130],
    ['x'.repeat(4_096), 4_103],
    ['x'.repeat(20_000), 20_008],
  ];
  expect(sizes.map(([text]) => [text, listpackEntryBytes(bytes(text))])).toEqual(sizes);
});
