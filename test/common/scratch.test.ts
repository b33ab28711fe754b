import { expect, test } from 'vitest';
import { Scratch } from '../../src/common/scratch.ts';

test('memory that was given back is lent again, and never to two at once', () => {
  const scratch = new Scratch(64);
  const first = scratch.borrow();
  const second = scratch.borrow();
  expect([first.length, second.length]).toEqual([64, 64]);
  expect(second.buffer).not.toBe(first.buffer);
  scratch.giveBack(first);
  expect(scratch.borrow()).toBe(first);
  expect(scratch.borrow()).not.toBe(first);
});
