import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineSnapshot,
} from '../../../src/datanode/engine/engine.ts';
import { endLargeWrite, LargeWrites } from '../../../src/datanode/engine/large-write.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import {
  decodeMark,
  decodeRedo,
  decodeUndo,
  encodeMark,
  encodeRedo,
  encodeUndo,
  REDO_MARK,
  redoKey,
  UNDO,
} from '../../../src/datanode/engine/redo.ts';
import { del, key, put, readAll } from '../../conformance/engine.ts';
import { preparing } from './prepare-part.ts';

const sizes = { operationsMin: 3, bytesMax: 40, operationsMax: 10, partBytes: 6, redoBytes: 6 };

type Batch = readonly BatchOperation[];

async function engineOf(batches: readonly Batch[]): Promise<Engine> {
  const { engine } = await createMemoryHost().open('1-0');
  for (const batch of batches) await engine.write(batch);
  return engine;
}

const textOf = async (engine: Engine) =>
  (await readAll(engine)).map(([name, value]) => `${name}=${value}`).join(' ');

const beneath = (engine: Engine) => ({
  stored: engine,
  hold: () => engine.snapshot(),
  remember: async () => {},
});

/** The batches that `operations` become on a store that holds `stored`. */
async function batchesOf(
  stored: Batch,
  operations: BatchOperations,
  partBytes = sizes.partBytes,
): Promise<Batch[]> {
  const engine = await engineOf([stored]);
  const batches: Batch[] = [];
  const batch = async (part: Iterable<BatchOperation>) => {
    batches.push([...part]);
    await engine.write(batches.at(-1)!);
  };
  const large = new LargeWrites(
    {
      batch,
      prepare: preparing(batch),
      ...beneath(engine),
    },
    { ...sizes, partBytes },
  );
  expect(large.isLarge(operations)).toBe(true);
  await large.write(operations);
  return batches;
}

const stored = [put('a', 'old'), put('b', 'old'), put('c', 'old'), put('z', 'old')];
/** The last word on a key counts. */
const operations = [
  put('a', 'first'),
  del('b'),
  put('d', 'x'.repeat(50)),
  put('a', 'second'),
  put('e', 'new'),
  del('z'),
  put('f', 'new'),
];

describe('a large write', () => {
  test('is there as a whole or not at all, wherever a crash cuts it and its recovery', async () => {
    const batches = await batchesOf(stored, operations);
    const markAt = batches.findIndex((batch) => batch[0]!.key.equals(REDO_MARK));
    expect(markAt).toBeGreaterThan(2);
    expect(batches.length - markAt).toBeGreaterThan(4);
    const before = await textOf(await engineOf([stored]));
    const after = await textOf(await engineOf([stored, operations]));
    await expectWholeOrNothing(batches, markAt, { before, after });
  });

  test('is seen by nobody before its mark, and as a whole from then on, while it is carried out', async () => {
    const engine = await engineOf([stored]);
    const [before, after] = await Promise.all(
      [[stored], [stored, operations]].map(async (batches) => textOf(await engineOf(batches))),
    );
    let isMarked = false;
    const seen: string[] = [];
    const states: { state: EngineSnapshot; isAfter: boolean }[] = [];
    const late: Promise<string>[] = [];
    const batch = async (part: BatchOperations) => {
      await engine.write(part);
      isMarked ||= [...part].some((one) => one.key.equals(REDO_MARK) && one.type === 'put');
      const { shown } = large;
      // the mark's own batch has not ended yet
      const isAfter = shown !== undefined;
      if (!isMarked) expect(isAfter).toBe(false);
      const reader = shown ?? engine;
      seen.push(`${isAfter} ${reader.getSync(key('a'))} ${reader.getSync(key('b'))}`);
      if (shown) late.push(textOf({ iterate: (range) => shown.iterate(range) } as Engine));
      states.push({ state: large.snapshot() ?? engine.snapshot(), isAfter });
    };
    const large: LargeWrites = new LargeWrites(
      { batch, prepare: preparing(batch), ...beneath(engine) },
      sizes,
    );
    const textsOf = (isAfter: boolean) =>
      states.filter((one) => one.isAfter === isAfter).map(({ state }) => textOf(state as Engine));
    const writing = large.write(operations);
    await writing;
    expect([...new Set(seen)]).toEqual(['false old old', 'true second undefined']);
    expect([large.shown, large.ranges, large.snapshot()]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await engine.write([put('a', 'later'), put('e', 'later')]);
    expect(new Set(await Promise.all(late))).toEqual(new Set([after]));
    expect(new Set(await Promise.all(textsOf(true)))).toEqual(new Set([after]));
    expect(new Set(await Promise.all(textsOf(false)))).toEqual(new Set([before]));
    for (const { state } of states) {
      if (states.find((one) => one.state === state)!.isAfter)
        expect(state.getSync(key('a'))?.toString()).toBe('second');
      await state.close();
    }
  });

  test('has states that are held remember what it changes once it has happened', async () => {
    const engine = await engineOf([]);
    const told: string[] = [];
    const batch = async (part: BatchOperations) => void told.push(`batch of ${part.length}`);
    const remember = async ({ length }: BatchOperations) => void told.push(`remember ${length}`);
    const target = { batch, prepare: preparing(batch), ...beneath(engine), remember };
    const operations = Array.from({ length: 11 }, (_, at) => del(`k${at}`));
    await new LargeWrites(target, sizes).write(operations);
    const markAt = told.indexOf('remember 11') - 1;
    expect(markAt).toBe(Math.ceil((11 * 2) / sizes.redoBytes));
  });

  test('whose part fails leaves readers with what it is, and who waits for ranges is told', async () => {
    const engine = await engineOf([stored]);
    const batch = async (part: Iterable<BatchOperation>) => {
      if ([...part].some((one) => one.key.equals(key('f')))) throw new Error('the disk is full');
      await engine.write([...part]);
    };
    const target = { batch, prepare: preparing(batch), ...beneath(engine) };
    const large = new LargeWrites(target, sizes);
    await expect(large.write(operations)).rejects.toThrow('the disk is full');
    expect(large.shown!.getSync(key('a'))?.toString()).toBe('second');
    expect(engine.getSync(key('f'))).toBe(undefined);
    expect(large.shown!.getSync(key('f'))?.toString()).toBe('new');
    await expect(textOf(large.snapshot() as Engine)).rejects.toThrow('the disk is full');
  });

  test('is one of many operations and many bytes', () => {
    const batch = async () => {};
    const target = {
      batch,
      prepare: preparing(batch),
      stored: { getSync: () => undefined },
      hold: () => expect.fail('nothing is written'),
      remember: async () => {},
    };
    const large = new LargeWrites(target, sizes);
    expect(large.isLarge([put('a', 'x'.repeat(100)), put('b', ''), put('c', '')])).toBe(false);
    expect(large.isLarge([put('a', ''), put('b', ''), put('c', ''), put('d', '')])).toBe(false);
    expect(large.isLarge([put('a', 'x'.repeat(37)), del('b'), del('c'), del('d')])).toBe(true);
    const many = Array.from({ length: 11 }, (_, at) => del(`${at}`));
    expect(large.isLarge(many.slice(1))).toBe(false);
    expect(large.isLarge(many)).toBe(true);
  });
});

describe('a large write that tells what nobody can come upon before the rest', () => {
  const long = 'new'.repeat(8);
  const unreached = [
    ...[put('n1', long), put('n2', long), put('n3', long)],
    put(Buffer.from([0x6f, 0xff, 0x31]), long),
  ];
  const prefixes = [key('n'), Buffer.from([0x6f, 0xff])];
  const withOthers = (others: Batch): BatchOperations =>
    Object.assign([...unreached, ...others], { parted: { prefixes, unreached, others } });

  test.each([
    ['a few others', withOthers([put('a', 'new'), del('z')])],
    ['others that are large', withOthers(operations)],
    ['others that are large, an operation at a time', withOthers(operations), 1],
    ['no others', withOthers([])],
  ])('is there as a whole or not at all with %s, wherever a crash cuts it', async (...row) => {
    const [, parted, partBytes] = row;
    const batches = await batchesOf(stored, parted, partBytes);
    const early = batches.findIndex((batch) =>
      batch.some((operation) => operation.key.equals(key('n1'))),
    );
    expect(batches[0]!.map((operation) => operation.key)).toEqual([UNDO]);
    expect(early).toBe(1);
    const markAt = batches.findIndex(
      (batch) => batch[0]?.key.equals(REDO_MARK) && batch[0].type === 'put',
    );
    const lastAt = markAt < 0 ? batches.length - 1 : markAt;
    expect(lastAt).toBeGreaterThan(3);
    const before = await textOf(await engineOf([stored]));
    const after = await textOf(await engineOf([stored, [...parted]]));
    await expectWholeOrNothing(batches, lastAt, { before, after });
  });

  test('ends with the first part that fails, and nothing of it is seen', async () => {
    const engine = await engineOf([stored]);
    let left = 2;
    const batch = async (part: Iterable<BatchOperation>) => {
      if (--left < 0) throw new Error('the disk is full');
      await engine.write([...part]);
    };
    const target = { batch, prepare: preparing(batch), ...beneath(engine) };
    const large = new LargeWrites(target, sizes);
    await expect(large.write(withOthers([]))).rejects.toThrow('the disk is full');
    expect(engine.getSync(key('n1'))?.toString()).toBe(long);
    expect(await textOf(large.snapshot() as Engine)).toBe(await textOf(await engineOf([stored])));
  });

  test('has an undo record of these bytes; a damaged one stops the recovery', async () => {
    expect(UNDO.toString('hex')).toBe('0003');
    const undo = encodeUndo(prefixes);
    expect(hexOf(undo)).toBe('01' + '000000016e' + '000000026fff' + 'CRC');
    expect(undo.type === 'put' && decodeUndo(undo.value)).toEqual(prefixes);
    for (const value of [flipped(undo), Buffer.alloc(2)]) {
      const engine = await engineOf([stored, unreached, [put(UNDO, value)]]);
      const error = await endLargeWrite(engine, (batch) => engine.write(batch)).catch((e) => e);
      expect(codeOf(error)).toBe('CORRUPT');
      expect(engine.getSync(key('n1'))?.toString()).toBe(long);
    }
  });
});

describe('redo records', () => {
  test('have these bytes', () => {
    expect(redoKey(5).toString('hex')).toBe('000100000005');
    const redo = encodeRedo(5, [put('k', 'v'), del('gone')]);
    expect(redo).toMatchObject({ type: 'put', key: redoKey(5) });
    expect(hexOf(redo)).toBe('01000000016b000000017600000000' + '04676f6e65' + 'CRC');
    expect(REDO_MARK.toString('hex')).toBe('0002');
    expect(hexOf(encodeMark(7))).toBe('0100000007' + 'CRC');
  });

  test('give back what was written', () => {
    const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array));
    const operation = fc.oneof(
      fc.tuple(bytes, bytes).map(([name, value]) => put(name, value)),
      bytes.map((name) => del(name)),
    );
    fc.assert(
      fc.property(fc.array(operation), fc.nat(), (given, number) => {
        const redo = encodeRedo(number, given);
        expect(decodeRedo(number, redo.type === 'put' ? redo.value : undefined)).toEqual(given);
      }),
    );
  });

  test('that are damaged or missing stop the recovery before it has changed anything', async () => {
    const batches = await batchesOf(stored, operations);
    const markAt = batches.findIndex((batch) => batch[0]!.key.equals(REDO_MARK));
    const damages: Batch[] = [
      [del(redoKey(2))],
      [put(redoKey(1), flipped(batches[1]![0]!))],
      [put(redoKey(1), Buffer.alloc(2))],
      [put(REDO_MARK, flipped(batches[markAt]![0]!))],
    ];
    for (const damage of damages) {
      const engine = await engineOf([stored, ...batches.slice(0, markAt + 1), damage]);
      const before = await textOf(engine);
      const error = await endLargeWrite(engine, (batch) => engine.write(batch)).catch((e) => e);
      expect(codeOf(error)).toBe('CORRUPT');
      expect(String(error)).toMatch(/redo record 000[12]/);
      expect(await textOf(engine)).toBe(before);
    }
    expect(() => decodeMark(Buffer.alloc(3))).toThrow('it has 3 bytes');
  });
});

function hexOf(operation: BatchOperation): string {
  if (operation.type === 'del') return '';
  return `${operation.value.subarray(0, -4).toString('hex')}CRC`;
}

function flipped(operation: BatchOperation): Buffer {
  const value = Buffer.from(operation.type === 'put' ? operation.value : '');
  value[3]! ^= 0x10;
  return value;
}

/** Cuts these batches everywhere, and their recovery as well: only with `lastAt` in all is there. */
async function expectWholeOrNothing(
  batches: readonly Batch[],
  lastAt: number,
  { before, after }: { before: string; after: string },
): Promise<void> {
  for (let cut = 0; cut <= batches.length; cut++) {
    const wanted = cut > lastAt ? after : before;
    const left = [stored, ...batches.slice(0, cut)];
    const recovery: Batch[] = [];
    const whole = await engineOf(left);
    await endLargeWrite(whole, async (batch) => {
      recovery.push([...batch]);
      await whole.write(recovery.at(-1)!);
    });
    expect(await textOf(whole), `cut at ${cut}`).toBe(wanted);
    for (let again = 0; again < recovery.length; again++) {
      const engine = await engineOf([...left, ...recovery.slice(0, again)]);
      await endLargeWrite(engine, (batch) => engine.write(batch));
      expect(await textOf(engine), `cut at ${cut}, then at ${again}`).toBe(wanted);
      expect(await endLargeWrite(engine, (batch) => engine.write(batch))).toBe('nothing');
    }
  }
}
