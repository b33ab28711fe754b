import { expect, test } from 'vitest';
import { asleepOf } from '../../bench/idle.ts';

test('the groups that sleep are read from INFO', () => {
  expect(asleepOf('# Kvorum\r\nnode:n1\r\ngroups_asleep:97\r\nheld_requests:0\r\n')).toBe(97);
  expect(asleepOf('# Kvorum\r\nnode:n1\r\n')).toBe(0);
});
