import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addElement,
  emptySketch,
  estimate,
  isDense,
  isSketch,
  mergeInto,
  REGISTERS,
  raiseRegister,
  toDense,
} from '../../../../src/datanode/encoding/sketches/hyperloglog.ts';
import { bending } from '../../../fuzz/bytes.ts';

function sketchOf(from: number, to: number): Buffer {
  let sketch = emptySketch();
  for (let at = from; at < to; at++) sketch = added(sketch, `element ${at}`);
  return sketch;
}

function added(sketch: Buffer, element: string): Buffer {
  const result = addElement(sketch, Buffer.from(element));
  if (result === 'corrupt') throw new Error('corrupt');
  return result.sketch;
}

function registersOf(...sketches: readonly Buffer[]): Uint8Array {
  const registers = new Uint8Array(REGISTERS);
  for (const sketch of sketches) expect(mergeInto(registers, sketch)).toBe(true);
  return registers;
}

describe('estimates', () => {
  test.each([1, 10, 100, 1_000, 10_000, 100_000])('of %i elements are within 3 %%', (count) => {
    const sketch = sketchOf(0, count);
    const error = Math.abs(estimate(registersOf(sketch)) - count) / count;
    expect(error).toBeLessThan(0.03);
    expect(isSketch(sketch)).toBe(true);
  });

  test('of a union count what is in both once', () => {
    const count = estimate(registersOf(sketchOf(0, 6_000), sketchOf(3_000, 9_000)));
    expect(Math.abs(count - 9_000) / 9_000).toBeLessThan(0.03);
  });
});

describe('the sparse form', () => {
  test('holds the same registers as the dense one', () => {
    const change = fc.tuple(
      fc.oneof(fc.nat(40), fc.nat(REGISTERS - 1)),
      fc.integer({ min: 1, max: 33 }),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        const expected = new Uint8Array(REGISTERS);
        let sketch = emptySketch();
        for (const [index, value] of changes) {
          const raised = raiseRegister(sketch, index, value);
          if (raised === 'corrupt') throw new Error('corrupt');
          expect(raised.changed).toBe(expected[index]! < value);
          expected[index] = Math.max(expected[index]!, value);
          sketch = raised.sketch;
        }
        expect(Buffer.compare(registersOf(sketch), expected)).toBe(0);
        const dense = toDense(sketch);
        expect(dense !== 'corrupt' && Buffer.compare(registersOf(dense), expected)).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  test('gives way to the dense one beyond 3000 bytes, and for values beyond 32', () => {
    let sketch = emptySketch();
    let before = sketch;
    for (let at = 0; !isDense(sketch); at++) {
      before = sketch;
      sketch = added(sketch, String(at));
    }
    expect(before.length).toBeGreaterThan(2_995);
    expect(before.length).toBeLessThanOrEqual(3_000);
    const high = raiseRegister(emptySketch(), 0, 33);
    expect(high !== 'corrupt' && isDense(high.sketch)).toBe(true);
  });

  test('that is bent is corrupt or a sketch, never a crash', () => {
    const good = sketchOf(0, 50);
    fc.assert(
      fc.property(bending, fc.nat(REGISTERS - 1), (bend, index) => {
        const bytes = bend(good);
        if (!isSketch(bytes)) return;
        mergeInto(new Uint8Array(REGISTERS), bytes);
        const raised = raiseRegister(bytes, index, 7);
        expect(raised === 'corrupt' || isSketch(raised.sketch)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
