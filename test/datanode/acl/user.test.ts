import fc from 'fast-check';
import { expect, test } from 'vitest';
import { denialOf } from '../../../src/datanode/acl/permissions.ts';
import {
  changeUser,
  describeUser,
  hashPassword,
  newUser,
  openUser,
  parseUser,
  type User,
} from '../../../src/datanode/acl/user.ts';
import { commandTable, resolveCommand } from '../../../src/datanode/commands/table/table.ts';

function user(...rules: string[]): User {
  const made = changeUser(newUser('alice'), rules);
  if (typeof made === 'string') throw new Error(made);
  return made;
}

/** What keeps the user from a request of words: `reason object`, or nothing. */
function denied(who: User, line: string): string {
  const args = line.split(' ').map((word) => Buffer.from(word));
  const denial = denialOf(who, resolveCommand(args)!, args);
  return denial === undefined ? '' : `${denial.reason} ${denial.object}`;
}

test('a new user may nothing, the open one everything', () => {
  expect(describeUser(newUser('alice'))).toBe('off resetchannels -@all');
  expect(describeUser(openUser)).toBe('on nopass ~* &* +@all');
  expect(denied(newUser('alice'), 'get a')).toBe('command get');
  expect(denied(newUser('alice'), 'auth a b')).toBe('');
  expect(denied(openUser, 'flushall')).toBe('');
});

test('rules are shown as Redis shows them, and passwords only as hashes', () => {
  const hash = hashPassword(Buffer.from('p1'));
  const alice = user(
    'on',
    '>p1',
    '~a*',
    '%R~b*',
    '&c*',
    '+@read',
    '-get',
    '+config|get',
    '(~x +set)',
  );
  expect(describeUser(alice)).toBe(
    `on #${hash} ~a* %R~b* resetchannels &c* -@all +@read -get +config|get ` +
      '(~x resetchannels -@all +set)',
  );
  expect(describeUser(user('on', `#${hash}`, '<p1'))).toBe('on resetchannels -@all');
  expect(describeUser(user('nopass', '>p1', 'nopass'))).toBe('off nopass resetchannels -@all');
  expect(describeUser(user('+@all', '-get', '+get', 'allkeys', 'allchannels'))).toBe(
    'off ~* &* +@all +get',
  );
  expect(describeUser(user('+config|get', '-config', '%R~k', '%W~k', 'reset', 'on'))).toBe(
    'on resetchannels -@all',
  );
});

test('first arguments are equal in any case of ASCII letters, and otherwise byte for byte', () => {
  const alice = user('on', 'allkeys', '+select|Ab\xc3\xa9');
  expect(describeUser(alice)).toMatch(/ \+select\|ab\xc3\xa9$/);
  const select = (name: string) => {
    const args = [Buffer.from('SELECT'), Buffer.from(name, 'latin1')];
    return denialOf(alice, resolveCommand(args)!, args)?.reason;
  };
  expect(select('aB\xc3\xa9')).toBe(undefined);
  expect(select('ab\xe3\xa9')).toBe('command');
});

test('what is wrong is told, and changes nothing', () => {
  const problem = (...rules: string[]) => changeUser(newUser('alice'), rules);
  expect(problem('on', 'foo')).toBe("ERR Error in ACL SETUSER modifier 'foo': Syntax error");
  expect(problem('+nosuch')).toMatch(/Unknown command or category name in ACL$/);
  expect(problem('-@nosuch')).toMatch(/Unknown command or category name in ACL$/);
  expect(problem('+config|nosuch')).toMatch(/Unknown command or category/);
  expect(problem('+config|get|x')).toMatch(/Allowing first-arg of a subcommand/);
  expect(problem('allkeys', '~b')).toMatch(/Adding a pattern after the \* pattern/);
  expect(problem('&*', '&b')).toMatch(/'allchannels' flag/);
  expect(problem('<nope')).toMatch(/password you are trying to remove/);
  expect(problem('#12')).toMatch(/exactly 64 characters/);
  expect(problem('(~a', '+get')).toBe(
    "ERR Unmatched parenthesis in acl selector starting at '(~a'.",
  );
  expect(problem('%X~a')).toMatch(/Syntax error/);
});

test('the last rule that fits a command decides', () => {
  expect(denied(user('+@all', '-@dangerous', 'allkeys'), 'flushall')).toBe('command flushall');
  expect(denied(user('+@all', '-@dangerous', '+flushall'), 'flushall')).toBe('');
  expect(denied(user('-@all', '+@string', 'allkeys'), 'get a')).toBe('');
  expect(denied(user('+config'), 'config get x')).toBe('');
  expect(denied(user('+config', '-config|set'), 'config set x y')).toBe('command config|set');
  expect(denied(user('+config|get'), 'config set x y')).toBe('command config|set');
  expect(denied(user('+select|0'), 'select 0')).toBe('');
  expect(denied(user('+select|0'), 'select 1')).toBe('command select');
});

test('keys are allowed by pattern and by what is done to them', () => {
  const reader = user('+@all', '%R~r:*', '%W~w:*', '~b:*');
  expect(denied(reader, 'get r:1')).toBe('');
  expect(denied(reader, 'set r:1 x')).toBe('key r:1');
  expect(denied(reader, 'set w:1 x')).toBe('');
  expect(denied(reader, 'set w:1 x get')).toBe('key w:1');
  expect(denied(reader, 'get w:1')).toBe('key w:1');
  expect(denied(reader, 'incr b:1')).toBe('');
  expect(denied(reader, 'mget r:1 other')).toBe('key other');
  expect(denied(reader, 'rename b:1 w:2')).toBe('');
  expect(denied(reader, 'memory usage other')).toBe('key other');
  expect(denied(reader, 'ping')).toBe('');
});

test('what a command takes for a key is asked for, also where its specification sees another', () => {
  const alice = user('+@all', '~ok', '%R~r', '%W~w');
  const radius = 'georadius ok 0 0 1 km';
  const member = 'georadiusbymember ok m 1 km';
  for (const begin of [radius, member, `kv.once session1 1 1 ${radius}`]) {
    expect(denied(alice, `${begin} STORE ok`)).toBe('');
    expect(denied(alice, `${begin} STORE w`)).toBe('');
    expect(denied(alice, `${begin} STORE ok STORE forbidden`)).toBe('key forbidden');
    expect(denied(alice, `${begin} STOREDIST ok COUNT 1 storedist forbidden`)).toBe(
      'key forbidden',
    );
    expect(denied(alice, `${begin} STORE forbidden STORE ok`)).toBe('key forbidden');
  }
  // it may read that key: the first place says nothing of the last
  expect(denied(alice, 'georadius r 0 0 1 km STORE ok STORE r')).toBe('key r');
  expect(denied(alice, 'georadius r 0 0 1 km STORE w')).toBe('');
  expect(denied(alice, 'georadiusbymember ok STORE 1 km STORE w')).toBe('');
});

test('a value of SET that is called as an option is no option', () => {
  const writer = user('+@all', '%W~*');
  expect(denied(writer, 'set k get')).toBe('');
  expect(denied(writer, 'set k GET NX')).toBe('');
  expect(denied(writer, 'set k get get')).toBe('key k');
  expect(denied(writer, 'set k 1 nx GET')).toBe('key k');
});

test('each selector allows requests of its own, and none lends to another', () => {
  const alice = user('+get', '~a', '(+set ~b)');
  expect(denied(alice, 'get a')).toBe('');
  expect(denied(alice, 'set b 1')).toBe('');
  expect(denied(alice, 'set a 1')).toBe('key a');
  expect(denied(alice, 'get b')).toBe('key b');
  expect(denied(alice, 'del a')).toBe('command del');
});

test('channels are allowed by pattern', () => {
  const row = { ...commandTable.get('echo')!, name: 'publish', arity: 3 };
  const reason = (who: User, name: string, ...words: string[]) =>
    denialOf(
      who,
      { ...row, name },
      [name, ...words].map((word) => Buffer.from(word)),
    );
  const alice = user('+@all', '&news.*');
  expect(reason(alice, 'publish', 'news.a', 'x')).toBeUndefined();
  expect(reason(alice, 'publish', 'other', 'x')).toEqual({
    reason: 'channel',
    object: 'other',
    at: 1,
  });
  expect(reason(alice, 'subscribe', 'news.a', 'other')?.object).toBe('other');
  expect(reason(alice, 'psubscribe', 'news.*')).toBeUndefined();
  expect(reason(alice, 'psubscribe', 'news.a*')?.reason).toBe('channel');
});

test('a user is what its stored rules say, commands of another build included', () => {
  expect(parseUser('alice', 'on ~* +get +getnothing -@nocategory')).toMatchObject({
    enabled: true,
  });
  expect(parseUser('alice', 'on frobnicate')).toBeUndefined();
  const rule = fc.constantFrom(
    'on',
    'off',
    'nopass',
    '>p',
    '>q',
    '<p',
    'resetpass',
    '~a*',
    '~*',
    '%R~b',
    '%W~b',
    '%R~*',
    '%W~*',
    'resetkeys',
    '&c',
    '&*',
    'resetchannels',
    '+@all',
    '-@all',
    '+get',
    '-get',
    '+@read',
    '-@write',
    '+config',
    '-config|set',
    '+select|1',
    '(~z +get -@all +set)',
    'clearselectors',
    'namespace=shop',
    'NAMESPACE=db3',
    'allnamespaces',
    'reset',
    'nonsense',
  );
  expect(describeUser(user('~a', '%R~*', '%W~*'))).toBe('off ~* resetchannels -@all');
  expect(changeUser(newUser('alice'), ['%R~*', '%W~*', '~foo'])).toMatch(/after the \* pattern/);
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 12 }), (rules) => {
      const made = changeUser(newUser('alice'), rules);
      if (typeof made === 'string') return;
      expect(parseUser('alice', describeUser(made))).toEqual(made);
    }),
    { seed: 7, numRuns: 500 },
  );
});

test('a namespace is bound by the last rule that names one, and by no selector', () => {
  expect(user('namespace=a', 'on', 'namespace=b').namespace).toBe('b');
  expect(user('namespace=a', 'allnamespaces').namespace).toBeUndefined();
  expect(user('namespace=a', 'reset').namespace).toBeUndefined();
  for (const rule of ['namespace=', 'namespace=a b', `namespace=${'n'.repeat(200)}`]) {
    expect(changeUser(newUser('alice'), [rule])).toMatch(/A namespace has a name without spaces/);
  }
  expect(changeUser(newUser('alice'), ['(namespace=a)'])).toMatch(/Syntax error/);
});
