import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Meter } from '../../../../src/datanode/lua/values/function.ts';
import { LuaTable } from '../../../../src/datanode/lua/values/table.ts';
import type { LuaValue } from '../../../../src/datanode/lua/values/value.ts';

function pairsOf(table: LuaTable): [LuaValue, LuaValue][] {
  const found: [LuaValue, LuaValue][] = [];
  for (let pair = table.next(undefined); pair !== undefined; pair = table.next(pair[0])) {
    found.push([pair[0], pair[1]]);
  }
  return found;
}

/** How much a table keeps, whatever for. */
function sizeOf(table: LuaTable): number {
  const { items, pairs } = table as unknown as {
    items: LuaValue[];
    pairs?: { keys: LuaValue[]; slots?: Map<LuaValue, number> };
  };
  return items.length + (pairs?.keys.length ?? 0) + (pairs?.slots?.size ?? 0);
}

describe('keys', () => {
  test('a number, its text, a float and a boolean are four keys', () => {
    const t = new LuaTable();
    for (const [n, key] of [1, '1', 1.5, true].entries()) t.set(key, n);
    expect([t.get(1), t.get('1'), t.get(1.5), t.get(true)]).toEqual([0, 1, 2, 3]);
  });

  test('0 and -0 are one key', () => {
    const t = new LuaTable();
    t.set(-0, 'x');
    expect(t.get(0)).toBe('x');
    t.set(0, 'y');
    expect(pairsOf(t)).toHaveLength(1);
  });

  test('nil and NaN are no keys', () => {
    const t = new LuaTable();
    expect(() => t.set(undefined, 1)).toThrow('table index is nil');
    expect(() => t.set(Number.NaN, 1)).toThrow('table index is NaN');
    expect(t.get(undefined)).toBeUndefined();
    expect(t.get(Number.NaN)).toBeUndefined();
  });

  test('a table that is read only refuses all keys, known ones as well', () => {
    const t = new LuaTable();
    t.set('x', 1);
    t.isReadonly = true;
    for (const key of ['x', 'y', 1, undefined]) {
      expect(() => t.set(key, 2)).toThrow('Attempt to modify a readonly table');
    }
  });
});

describe('length', () => {
  test('counts from 1 to the last, in whatever order they came', () => {
    const t = new LuaTable();
    for (const key of [3, 2, 5, 1, 4]) t.set(key, key);
    expect(t.length).toBe(5);
    expect(pairsOf(t).map(([key]) => key)).toEqual([1, 2, 3, 4, 5]);
  });

  test('is less when the last ones go', () => {
    const t = new LuaTable();
    for (let n = 1; n <= 5; n++) t.set(n, n);
    t.set(4, undefined);
    expect(t.length).toBe(5);
    t.set(5, undefined);
    expect(t.length).toBe(3);
  });

  test('a hole in a constructor does not end the list', () => {
    const t = new LuaTable();
    t.setItems(0, [undefined, undefined, 3]);
    expect(t.length).toBe(3);
    t.setItems(3, [4, undefined]);
    expect(t.length).toBe(4);
    t.setItems(5, [6]);
    expect([t.get(5), t.get(6), t.length]).toEqual([undefined, 6, 6]);
  });
});

describe('a walk', () => {
  test('gives 1, 2, 3, … and then the others as they came', () => {
    const t = new LuaTable();
    for (const key of ['z', 2, 'a', 1, 3, -1]) t.set(key, true);
    expect(pairsOf(t).map(([key]) => key)).toEqual([1, 2, 3, 'z', 'a', -1]);
  });

  test('may set to nil all that it meets', () => {
    const t = new LuaTable();
    for (let n = 1; n <= 40; n++) {
      t.set(n, n);
      t.set(`k${n}`, n);
    }
    let count = 0;
    for (let pair = t.next(undefined); pair !== undefined; pair = t.next(pair[0])) {
      t.set(pair[0], undefined);
      count += 1;
    }
    expect(count).toBe(80);
    expect(t.next(undefined)).toBeUndefined();
  });

  test('goes on from an item that is gone with all behind it', () => {
    const t = new LuaTable();
    t.set(2, 'b');
    t.set('x', 1);
    t.set(1, 'a');
    expect(t.next(1)).toEqual([2, 'b']);
    t.set(2, undefined);
    expect(t.next(2)).toEqual(['x', 1]);
  });

  test('refuses a key that never was', () => {
    const t = new LuaTable();
    t.set(1, 1);
    for (const key of ['x', 2, 0.5, new LuaTable()]) {
      expect(() => t.next(key)).toThrow("invalid key to 'next'");
    }
  });
});

describe('work', () => {
  /** Steps that are charged while `run` walks. */
  function stepsOf(run: (meter: Meter) => void): number {
    let sum = 0;
    run({ steps: (count) => (sum += count), bytes: () => {} });
    return sum;
  }

  test.each([
    ['items', (n: number) => n],
    ['pairs', (n: number) => `k${n}`],
  ])('taking %s from the front does not pass again what is gone', (_name, keyOf) => {
    const t = new LuaTable();
    for (let n = 1; n <= 5_000; n++) t.set(keyOf(n), n);
    const steps = stepsOf((meter) => {
      for (let pair = t.next(undefined, meter); pair; pair = t.next(undefined, meter)) {
        t.set(pair[0], undefined);
      }
    });
    expect(steps).toBeLessThan(1_000);
    t.set(keyOf(7), 'again');
    expect(t.next(undefined)).toEqual([keyOf(7), 'again']);
    expect(t.get(keyOf(8))).toBeUndefined();
  });

  test.each([
    ['items', (n: number) => n],
    ['pairs', (n: number) => `k${n}`],
  ])('a gap among %s is charged each time it is passed', (_name, keyOf) => {
    const t = new LuaTable();
    for (let n = 1; n <= 5_000; n++) t.set(keyOf(n), n);
    for (let n = 2; n < 5_000; n++) t.set(keyOf(n), undefined);
    const steps = stepsOf((meter) => {
      for (let n = 0; n < 10; n++) expect(t.next(keyOf(1), meter)?.[0]).toBe(keyOf(5_000));
    });
    expect(steps).toBeGreaterThan(2_500);
  });

  test('long keys of one length are not looked through one by one', () => {
    const text = (n: number) => 'x'.repeat(16_400 - 6) + String(n).padStart(6, '0');
    const t = new LuaTable();
    const before = process.cpuUsage().user;
    for (let n = 0; n < 1_000; n++) t.set(text(n), n);
    for (let n = 0; n < 1_000; n++) expect(t.get(text(n))).toBe(n);
    expect(t.get(text(1_000))).toBeUndefined();
    t.set(text(5), undefined);
    expect(pairsOf(t).map(([, value]) => value)).not.toContain(5);
    // by their length alone: 2 s and more
    expect(process.cpuUsage().user - before).toBeLessThan(700_000);
  });
});

describe('memory', () => {
  test('a queue does not grow for ever', () => {
    const t = new LuaTable();
    for (let n = 1; n <= 20_000; n++) {
      t.set(n, n);
      if (n > 10) t.set(n - 10, undefined);
    }
    expect(sizeOf(t)).toBeLessThan(100);
    expect(pairsOf(t).map(([key]) => key)).toHaveLength(10);
  });

  test('keys that come and go leave nothing', () => {
    const t = new LuaTable();
    for (let n = 1; n <= 20_000; n++) {
      t.set(`key ${n}`, n);
      t.set(`key ${n - 1}`, undefined);
    }
    expect(sizeOf(t)).toBeLessThan(100);
  });
});

test('is what a map would be, whatever is done to it', () => {
  const key = fc.oneof(fc.integer({ min: -2, max: 24 }), fc.constantFrom('a', 'b', '1', true, 1.5));
  const step = fc.record({ key, isRemoved: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const t = new LuaTable();
      const model = new Map<LuaValue, number>();
      for (const [n, { key, isRemoved }] of steps.entries()) {
        t.set(key, isRemoved ? undefined : n);
        if (isRemoved) model.delete(key);
        else model.set(key, n);
        expect(t.get(key)).toBe(model.get(key));
        const border = t.length;
        if (border > 0) expect(model.has(border)).toBe(true);
        expect(model.has(border + 1)).toBe(false);
      }
      expect(new Map(pairsOf(t))).toEqual(model);
    }),
    { numRuns: 300, seed: 1 },
  );
});

describe('holes that are forgotten', () => {
  test('leave the pairs and their order', () => {
    const t = new LuaTable();
    for (let at = 1; at <= 1_000; at++) t.set(at, at);
    for (let at = 0; at < 1_000; at++) t.set(`k${at}`, at);
    for (let at = 3; at < 1_000; at++) t.set(at, undefined);
    for (let at = 1; at < 999; at++) t.set(`k${at}`, undefined);
    const before = pairsOf(t);
    t.forgetHoles();
    expect(pairsOf(t)).toEqual(before);
    expect(before.map(([key]) => key)).toEqual([1, 2, 1_000, 'k0', 'k999']);
    expect(sizeOf(t)).toBe(5);
    for (const [key, value] of before) expect(t.get(key)).toBe(value);
  });

  test('are left alone where they are few', () => {
    const t = new LuaTable();
    for (let at = 0; at < 1_000; at++) t.set(`k${at}`, at);
    for (let at = 0; at < 900; at++) t.set(`k${at}`, undefined);
    const size = sizeOf(t);
    t.forgetHoles();
    expect(sizeOf(t)).toBe(size);
  });
});
