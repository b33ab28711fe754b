import { expect, test } from 'vitest';
import { eitherSignal } from '../../src/common/either-signal.ts';

test('aborts with the first of them, for its reason', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const { signal } = eitherSignal(one.signal, other.signal);
  expect(signal.aborted).toBe(false);
  other.abort('the other');
  one.abort('the one');
  expect(signal.reason).toBe('the other');
  expect(eitherSignal(new AbortController().signal, one.signal).signal.reason).toBe('the one');
});

test('once released it hears of nothing', () => {
  const one = new AbortController();
  const { signal, release } = eitherSignal(one.signal);
  release();
  one.abort();
  expect(signal.aborted).toBe(false);
});
