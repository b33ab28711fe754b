import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { interleave, interleaveNodes } from '../../../src/placedriver/placement/interleave.ts';

const node = (name: string) => ({ node: name, dc: name[0]! });

describe('the interleaved table', () => {
  test('is the design’s own: six nodes in two data centres', () => {
    const nodes = ['a1', 'a3', 'a2', 'b2', 'b3', 'b1'].map(node);
    expect(interleaveNodes(nodes)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
    expect(interleave(nodes, 6, 3)).toEqual([
      ['a1', 'b1', 'a2'],
      ['b1', 'a2', 'b2'],
      ['a2', 'b2', 'a3'],
      ['b2', 'a3', 'b3'],
      ['a3', 'b3', 'a1'],
      ['b3', 'a1', 'b1'],
    ]);
  });

  test('is the design’s own after b1 is gone', () => {
    const nodes = ['a1', 'a2', 'a3', 'b2', 'b3'].map(node);
    expect(interleave(nodes, 6, 3)).toEqual([
      ['a1', 'b2', 'a2'],
      ['b2', 'a2', 'b3'],
      ['a2', 'b3', 'a3'],
      ['b3', 'a3', 'a1'],
      ['a3', 'a1', 'b2'],
      ['a1', 'b2', 'a2'],
    ]);
  });

  test('never puts two replicas of a partition on one node', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(30)), {
          minLength: 3,
          maxLength: 12,
          selector: ([dc, rank]) => `${dc}${rank}`,
        }),
        fc.integer({ min: 1, max: 40 }),
        (drawn, partitions) => {
          const nodes = drawn.map(([dc, rank]) => ({ node: `${dc}${rank}`, dc }));
          for (const holders of interleave(nodes, partitions, 3)) {
            expect(new Set(holders).size).toBe(3);
          }
        },
      ),
    );
  });

  test('needs as many nodes as replicas', () => {
    expect(() => interleave([node('a1')], 1, 3)).toThrow(/3 replicas need/);
  });
});
