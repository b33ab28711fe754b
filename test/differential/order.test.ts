/** What passes between two servers' answers makes no difference; what a server does wrong does. */
import { expect, test } from 'vitest';
import { comparable } from './order.ts';

function isAlike(ours: string, theirs: string): boolean {
  const [one, other] = [ours, theirs].map((text) => Buffer.from(`${text}\r\n`));
  return comparable(one!, 'seconds', other) === comparable(other!, 'seconds', one);
}

test('the second may turn between two answers, whichever it is', () => {
  for (let left = 950; left <= 1_050; left++) {
    expect(isAlike(`:${left}`, `:${left + 1}`), `${left}`).toBe(true);
    expect(isAlike(`:${left + 1}`, `:${left}`), `${left}`).toBe(true);
  }
  expect(isAlike(':0', ':0')).toBe(true);
});

test.each([
  [':1000', ':1'],
  [':1000', ':1100'],
  [':0', ':-1'],
  [':-1', ':-2'],
  [':5', '-ERR no'],
  [':5', '_'],
])('%s is not %s', (ours, theirs) => {
  expect(isAlike(ours, theirs)).toBe(false);
  expect(isAlike(theirs, ours)).toBe(false);
});
