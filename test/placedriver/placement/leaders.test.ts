/** Who should lead, when it is settled who holds what. */
import { describe, expect, test } from 'vitest';
import { type LeadersView, orderLeaders } from '../../../src/placedriver/placement/leaders.ts';

/** `able`: per partition the letters of who can lead it; `current`: of who should so far, `-` nobody. */
function ordered(
  able: readonly string[],
  current: string,
  more: Partial<LeadersView> = {},
): string {
  const view = {
    able: able.map((names) => [...names]),
    current: [...current].map((name) => (name === '-' ? undefined : name)),
    ledElsewhere: () => 0,
    level: true,
    ...more,
  };
  return orderLeaders(view)
    .map((name) => name ?? '-')
    .join('');
}

const elsewhere = (led: Readonly<Record<string, number>>) => ({
  ledElsewhere: (node: string) => led[node] ?? 0,
});

test('within 1 stays as it is; what nobody can lead is nobody’s', () => {
  expect(ordered(['ab', 'ab', 'ab'], 'aab')).toBe('aab');
  expect(ordered(['ab', '', 'ab'], 'aab')).toBe('a-b');
});

test('who led and cannot any more does so no longer, and what nobody leads goes to who leads least', () => {
  expect(ordered(['bc', 'b', 'bc'], 'abb')).toBe('cbb');
  expect(ordered(['ab', 'ab', 'ab'], 'a--', { level: false })).toBe('aba');
});

test('without levelling everybody goes on', () => {
  expect(ordered(['ab', 'ab', 'ab'], 'aaa', { level: false })).toBe('aaa');
  expect(ordered(['ab', 'ab', 'ab'], 'aaa')).not.toBe('aaa');
});

describe('levelling', () => {
  test('one that can pass nothing on keeps no other from doing so', () => {
    expect(ordered(['a', 'a', 'a', 'a', 'bc', 'bc', 'bc'], 'aaaabbb')).toMatch(/^aaaa/);
    const rest = ordered(['a', 'a', 'a', 'a', 'bc', 'bc', 'bc'], 'aaaabbb').slice(4);
    expect(rest).toContain('c');
  });

  test('goes over a third node where there is no direct way', () => {
    const led = ordered(['ab', 'ab', 'ab', 'bc'], 'aaab');
    expect([...led].sort().join('')).toBe('abbc');
    expect(led[3]).toBe('c');
  });
});

describe('of other namespaces', () => {
  test('among equals who leads less of those', () => {
    const dealtOut = (led: Readonly<Record<string, number>>) =>
      ordered(['ab'], '-', { ...elsewhere(led), level: false });
    expect(dealtOut({ a: 5 })).toBe('b');
    expect(dealtOut({ b: 5 })).toBe('a');
  });

  test('who leads one more of this one leads little of the others', () => {
    expect(ordered(['ab', 'ab', 'ab'], 'aab', elsewhere({ a: 5 }))).toMatch(/b.*b/);
    expect(ordered(['ab', 'ab', 'ab'], 'aab', elsewhere({ b: 1 })), 'no gain').toBe('aab');
  });
});
