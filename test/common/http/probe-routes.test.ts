import { expect, test } from 'vitest';
import { boundedReasons } from '../../../src/common/http/probe-routes.ts';

test('tells at most sixteen reasons, the last a number of those left out', () => {
  const reasons = Array.from({ length: 16 }, (_, at) => `reason ${at}`);
  expect(boundedReasons(reasons)).toEqual(reasons);
  const bounded = boundedReasons([...reasons, 'one too many', 'two too many']);
  expect(bounded).toHaveLength(16);
  expect(bounded.at(-1)).toBe('and 3 more');
});
