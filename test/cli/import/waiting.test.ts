import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Waiting } from '../../../src/cli/import/waiting.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('who waits is told why after three seconds, and every thirty until it ends', () => {
  const [client, told] = [new EventEmitter(), [] as string[]];
  const waiting = new Waiting(client, (line) => told.push(line));
  vi.advanceTimersByTime(2_900);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(told).toEqual(['waiting for the cluster: nothing answers']);
  client.emit('error', new Error('connect ECONNREFUSED'));
  vi.advanceTimersByTime(30_000);
  expect(told.slice(1)).toEqual(['waiting for the cluster: connect ECONNREFUSED']);
  waiting.end();
  vi.advanceTimersByTime(120_000);
  expect(told).toHaveLength(2);
  expect(client.listenerCount('error')).toBe(0);
});
