import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { anyAborted, eitherSignal } from '../../src/common/either-signal.ts';

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

test('who waits for one of them leaves no listener with those that live on', async () => {
  const stop = new AbortController();
  for (let lease = 0; lease < 3; lease++) {
    const lost = new AbortController();
    const waiting = anyAborted(lost.signal, stop.signal);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    lost.abort();
    await waiting;
  }
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  stop.abort();
  await anyAborted(new AbortController().signal, stop.signal);
});
