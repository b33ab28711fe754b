import { expect, test } from 'vitest';
import { LazyAbort } from '../../src/common/lazy-abort.ts';

test('tells who asks before and behind it, for the reason it was given', () => {
  const [before, behind] = [new LazyAbort(), new LazyAbort()];
  const { signal } = before;
  before.abort('gone');
  behind.abort('gone');
  for (const one of [signal, before.signal, behind.signal]) expect(one.reason).toBe('gone');
  expect([before.isGone, behind.isGone]).toEqual([true, true]);
});

test('thousands who go at once make no reason each', () => {
  const gone = [new LazyAbort(), new LazyAbort()].map((abort) => {
    const { signal } = abort;
    abort.abort();
    return signal.reason;
  });
  expect(gone[0]).toBeInstanceOf(Error);
  expect(gone[0]).toBe(gone[1]);
});
