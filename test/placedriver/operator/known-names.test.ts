import { expect, test } from 'vitest';
import { thereAre } from '../../../src/placedriver/operator/known-names.ts';

const named = (count: number) => Array.from({ length: count }, (_, at) => `n${at + 1}`).reverse();

test.each([
  [0, 'there is none'],
  [1, 'there is n1'],
  [3, 'there are n1, n2 and n3'],
  [8, 'there are n1, n2, n3, n4, n5, n6, n7 and n8'],
  [9, 'there are n1, n2, n3, n4, n5, n6, n7, n8 and 1 more'],
])('%i names: %s', (count, text) => {
  expect(thereAre(named(count))).toBe(text);
});
