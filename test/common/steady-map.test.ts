import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SteadyMap } from '../../src/common/steady-map.ts';

test('holds what a Map holds', () => {
  const key = fc.integer({ min: 0, max: 400 }).map((at) => `${'x'.repeat(at % 40)}${at}`);
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.integer())), (pairs) => {
      const map = new SteadyMap<number>();
      const model = new Map<string, number>();
      for (const [name, value] of pairs) {
        expect(map.get(name)).toBe(model.get(name));
        if (value % 2 === 0) {
          map.set(name, value);
          model.set(name, value);
        } else {
          const there = model.get(name) ?? value;
          expect(map.getOrSet(name, value)).toBe(there);
          model.set(name, there);
        }
      }
      expect(map.size).toBe(model.size);
      expect([...map.values()].sort()).toEqual([...model.values()].sort());
    }),
  );
});

test('finds all of many thousand keys, whatever they have in common', () => {
  for (const nameOf of [
    (at: number) => `key ${at}`,
    (at: number) => `${at} with an end that is longer than what is looked at`,
    (at: number) => String.fromCharCode(at >> 8, at & 0xff, 0, 0, 0, 0),
  ]) {
    const map = new SteadyMap<number>();
    for (let at = 0; at < 40_000; at++) map.set(nameOf(at), at);
    for (let at = 0; at < 40_000; at += 2) map.set(nameOf(at), -at);
    expect(map.size).toBe(40_000);
    for (let at = 0; at < 40_000; at++) {
      if (map.get(nameOf(at)) !== (at % 2 === 0 ? -at : at)) expect.fail(nameOf(at));
    }
    expect([...map.values()]).toHaveLength(40_000);
  }
});
