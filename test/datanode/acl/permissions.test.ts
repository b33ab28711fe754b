import { beforeEach, expect, test, vi } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { denialOf } from '../../../src/datanode/acl/permissions.ts';
import { changeUser, newUser, type User } from '../../../src/datanode/acl/user.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import * as glob from '../../../src/datanode/commands/texts/glob.ts';

vi.mock('../../../src/datanode/commands/texts/glob.ts', { spy: true });

beforeEach(() => {
  vi.mocked(glob.parseGlob).mockClear();
});

const mayRun = (user: User, words: readonly string[]) => {
  const args = words.map((word) => Buffer.from(word));
  return denialOf(user, resolveCommand(args)!, args) === undefined;
};

test('a pattern is read once, for however many keys and channels it is asked', () => {
  const user = changeUser(newUser('alice'), ['+@all', '~a*', '~b*', '&c*', '&d*']) as User;
  const keys = Array.from({ length: 100 }, (_, at) => `b${at}`);
  for (let round = 0; round < 3; round++) {
    expect(mayRun(user, ['mget', ...keys])).toBe(true);
    expect(mayRun(user, ['mget', ...keys, 'c'])).toBe(false);
    expect(mayRun(user, ['subscribe', 'd1', 'd2', 'c1'])).toBe(true);
  }
  expect(glob.parseGlob).toHaveBeenCalledTimes(4);
});

test('no more patterns are kept than their bound says', () => {
  const long = 'x'.repeat(limits.aclRulesMax / 2);
  const user = (name: string) =>
    changeUser(newUser('alice'), ['+@all', `~${name}${long}*`]) as User;
  const users = Array.from({ length: 20 }, (_, at) => user(`${at}`));
  for (const one of [...users, users[19]!, users[0]!]) mayRun(one, ['get', 'a']);
  expect(glob.parseGlob).toHaveBeenCalledTimes(21);
});

test('of what no selector allows the one is told that the furthest of them came to', () => {
  const rules = ['+mget', '~key', '(+mget ~key ~other)', '+subscribe', '&a', '(+subscribe &a &b)'];
  const user = changeUser(newUser('alice'), rules) as User;
  const denied = (...words: string[]) => {
    const args = words.map((word) => Buffer.from(word));
    return denialOf(user, resolveCommand(args)!, args)?.object;
  };
  expect(denied('mget', 'other', 'third')).toBe('third');
  expect(denied('mget', 'key', 'other', 'third')).toBe('third');
  expect(denied('mget', 'third', 'other')).toBe('third');
  expect(denied('subscribe', 'b', 'c')).toBe('c');
});
