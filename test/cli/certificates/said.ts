/** What a verb writes to standard output. */
import { afterEach, beforeEach, type MockInstance, vi } from 'vitest';

/** Keeps what is written during each test of a suite; returns how to read it. */
export function listens(): () => string {
  let spy: MockInstance<typeof process.stdout.write>;
  beforeEach(() => {
    spy = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  });
  afterEach(() => spy.mockRestore());
  return () => spy.mock.calls.map(([text]) => String(text)).join('');
}
