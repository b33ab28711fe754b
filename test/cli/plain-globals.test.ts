import { expect, test } from 'vitest';
import { plainGlobals } from '../../src/cli/plain-globals.ts';

test('what Node.js has as getters are the same values afterwards, which V8 can see through', () => {
  const names = ['Buffer', 'process', 'performance'] as const;
  const before = names.map((name) => globalThis[name]);
  plainGlobals();
  for (const [at, name] of names.entries()) {
    const told = Object.getOwnPropertyDescriptor(globalThis, name);
    expect(told).toMatchObject({ writable: true, configurable: true });
    expect(told?.value).toBe(before[at]);
  }
  expect(Object.keys(globalThis)).not.toContain('Buffer');
});
