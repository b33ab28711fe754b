/** HGETDEL, HGETEX and HSETEX as a model of fields has them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

interface Field {
  readonly value: string;
  /** Infinite: none. */
  readonly untilMs: number;
}

/** What the commands come to, at a time. */
class Model {
  readonly fields = new Map<string, Field>();
  nowMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  live(name: string): Field | undefined {
    const field = this.fields.get(name);
    return field && field.untilMs > this.nowMs ? field : undefined;
  }

  getDelete(names: readonly string[]): (string | null)[] {
    return names.map((name) => {
      const field = this.live(name);
      this.fields.delete(name);
      return field?.value ?? null;
    });
  }

  getExpire(names: readonly string[], fate: string | undefined, ms: number): (string | null)[] {
    return names.map((name) => {
      const field = this.live(name);
      if (field === undefined) return null;
      if (fate === 'PERSIST') this.fields.set(name, { ...field, untilMs: Infinity });
      else if (fate !== undefined) this.fields.set(name, { ...field, untilMs: this.nowMs + ms });
      return field.value;
    });
  }

  set(pairs: readonly (readonly [string, string])[], condition: string, fate: string, ms: number) {
    const there = pairs.filter(([name]) => this.live(name) !== undefined).length;
    if (condition === 'FNX' && there > 0) return 0;
    if (condition === 'FXX' && there < pairs.length) return 0;
    for (const [name, value] of pairs) {
      const kept = this.live(name)?.untilMs ?? Infinity;
      const untilMs = fate === 'KEEPTTL' ? kept : fate === 'PX' ? this.nowMs + ms : Infinity;
      this.fields.set(name, { value, untilMs });
    }
    return 1;
  }
}

const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 4 });
const ms = fc.constantFrom(0, 5, 10, 1_000);
const step = fc.record({
  laterMs: fc.nat(6),
  what: fc.constantFrom('HGETDEL', 'HGETEX', 'HSETEX', 'HSETEX'),
  names,
  fate: fc.constantFrom(undefined, 'PX', 'PX', 'PERSIST', 'KEEPTTL'),
  condition: fc.constantFrom('', 'FNX', 'FXX'),
  ms,
});

test('whatever comes before, at whatever time', async () => {
  const seen = new Set<string>();
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
    const partition = await LonePartition.open();
    const model = new Model(partition.nowMs);
    for (const [at, { what, laterMs, fate, condition, ...rest }] of steps.entries()) {
      model.nowMs = partition.nowMs += laterMs;
      const count = String(rest.names.length);
      const words = fate === 'PX' ? ['PX', String(rest.ms)] : fate ? [fate] : [];
      const told = async (...line: string[]) => replyText(await partition.call(...line));
      const asText = (values: (string | null)[]) =>
        values.map((one) => `-\n  ${one === null ? '(nil)' : `"${one}"`}`).join('\n');
      if (what === 'HGETDEL') {
        const given = await told('HGETDEL', 'h', 'FIELDS', count, ...rest.names);
        expect(given).toBe(asText(model.getDelete(rest.names)));
      } else if (what === 'HGETEX') {
        if (fate === 'KEEPTTL') continue;
        const given = await told('HGETEX', 'h', ...words, 'FIELDS', count, ...rest.names);
        expect(given).toBe(asText(model.getExpire(rest.names, fate, rest.ms)));
      } else {
        if (fate === 'PERSIST') continue;
        const pairs = rest.names.map((name, nth) => [name, `${at}.${nth}`] as const);
        const when = condition === '' ? [] : [condition];
        const line = ['h', ...when, ...words, 'FIELDS', count, ...pairs.flat()];
        const given = await told('HSETEX', ...line);
        const expected = model.set(pairs, condition, fate ?? '', rest.ms);
        seen.add(`${condition} ${expected}`);
        expect(given).toBe(`(integer) ${expected}`);
      }
      const left = ['a', 'b', 'c', 'd'].map((name) => model.live(name)?.untilMs);
      const ttls = left.map((untilMs) => {
        if (untilMs === undefined) return -2;
        return untilMs === Infinity ? -1 : untilMs - model.nowMs;
      });
      const shown = ttls.map((ttl) => `-\n  (integer) ${ttl}`).join('\n');
      expect(await told('HPTTL', 'h', 'FIELDS', '4', 'a', 'b', 'c', 'd')).toBe(shown);
      const isThere = left.some((untilMs) => untilMs !== undefined);
      expect(await told('EXISTS', 'h')).toBe(`(integer) ${isThere ? 1 : 0}`);
    }
  });
  await fc.assert(property, { numRuns: 200 });
  expect([...seen].sort()).toEqual([' 1', 'FNX 0', 'FNX 1', 'FXX 0', 'FXX 1']);
});
