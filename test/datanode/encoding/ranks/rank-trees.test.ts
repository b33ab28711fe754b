import { expect, test } from 'vitest';
import { RankTrees } from '../../../../src/datanode/encoding/ranks/rank-trees.ts';
import type { CollectionPlace } from '../../../../src/datanode/encoding/records/element-key.ts';
import type { View } from '../../../../src/datanode/encoding/txn/view.ts';

const place = (slot: number, index: number, ordinal: number): CollectionPlace => ({
  slot,
  version: { index, ordinal },
});
const places = () => [place(1, 5, 0), place(1, 5, 1), place(2, 5, 0), place(1, 6, 0)];
const EMPTY: View = { get: () => undefined };

test('each set has its own tree, asked for in a row or in turns, until it is dropped', () => {
  const trees = new RankTrees();
  const made = places().map((of) => trees.of(EMPTY, of));
  expect(new Set(made).size).toBe(4);
  for (const [at, of] of places().entries()) {
    for (let again = 0; again < 2; again++) expect(trees.of(EMPTY, of), `${at}`).toBe(made[at]);
  }
  trees.drop(places()[3]!);
  expect(trees.of(EMPTY, places()[3]!)).not.toBe(made[3]);
  const before = trees.of(EMPTY, places()[0]!);
  trees.clear();
  expect(trees.of(EMPTY, places()[0]!)).not.toBe(before);
});

test('the tree of a batch reads through the view of that batch', () => {
  const trees = new RankTrees();
  const tree = trees.of(EMPTY, places()[0]!);
  trees.written();
  const asked: Buffer[] = [];
  const next: View = {
    get(key) {
      asked.push(key);
      return undefined;
    },
  };
  expect(trees.of(next, places()[0]!)).toBe(tree);
  expect(() => tree.blockOf(Buffer.alloc(8))).toThrow('its shape is absent');
  expect(asked).toHaveLength(2);
});
