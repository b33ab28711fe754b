import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { Access, type UserStore } from '../../../src/datanode/acl/access.ts';
import { resolveCommand } from '../../../src/datanode/commands/table/table.ts';
import { FakeNode } from '../commands/fake-node.ts';
import { ask } from '../commands/node-text.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';
import { MemoryUsers } from './users.ts';

const args = (line: string) => line.split(' ').map((word) => Buffer.from(word));

function refusal(node: FakeNode, line: string, acl = node.acl): string {
  const words = args(line);
  const reply = acl.refusalOf(node.session, resolveCommand(words)!, words);
  return reply?.kind === 'error' ? reply.text : '';
}

test('without a copy of the users nobody is served', () => {
  const node = new FakeNode();
  const acl = new Access({
    clock: systemClock,
    random: seededRandom('users'),
    store: new MemoryUsers(),
    sessions: () => [node.session],
    logEntriesMax: () => 128,
  });
  for (const line of ['get a', 'ping', 'hello', 'auth default x', 'acl setuser default on']) {
    expect(refusal(node, line, acl)).toMatch(/^LOADING this node has no copy of the users/);
  }
  acl.setUsers([]);
  expect(refusal(node, 'get a', acl)).toBe('');
});

test('rules that cannot be read give no rights', () => {
  const node = new FakeNode();
  node.acl.setUsers([{ user: 'default', rules: 'on nopass frobnicate' }]);
  node.session.user = '';
  expect(node.acl.isOpen).toBe(false);
  expect(refusal(node, 'get a')).toBe('NOAUTH Authentication required.');
  expect(refusal(node, 'auth a b')).toBe('');
});

test('rules that would be read back as others are refused, and change nothing', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob on >pw ~b* +get');
  const before = await ask(node, 'ACL LIST');
  expect(await node.call('acl', 'setuser', 'bob', '(~foo) +get)')).toMatchObject({
    text: expect.stringMatching(/^ERR the rules would be read back as others than they are: a/),
  });
  expect(await ask(node, 'ACL LIST')).toBe(before);
  expect(await ask(node, 'ACL SETUSER default resetkeys %R~* %W~*')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL SETUSER default ~foo')).toMatch(/after the \* pattern/);
  expect(node.acl.isOpen).toBe(true);
});

test('a password for the default user is asked of new connections', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'CONFIG SET requirepass secret')).toBe('+OK\r\n');
  expect(refusal(node, 'get a')).toBe('');
  node.acl.forget(node.session);
  expect(refusal(node, 'get a')).toBe('NOAUTH Authentication required.');
  expect(await ask(node, 'HELLO 3')).toMatch(/^-NOAUTH HELLO must be called with the client/);
  expect(await ask(node, 'AUTH wrong')).toMatch(/^-WRONGPASS invalid username-password pair/);
  expect(await ask(node, 'HELLO 3 AUTH default wrong')).toMatch(/^-WRONGPASS/);
  expect(node.session.protocol).toBe(2);
  expect(await ask(node, 'AUTH secret')).toBe('+OK\r\n');
  expect(refusal(node, 'get a')).toBe('');
  expect(await ask(node, 'ACL LIST')).not.toContain('secret');
  expect(await ask(node, 'CONFIG GET requirepass')).toBe('*2\r\n$11\r\nrequirepass\r\n$0\r\n\r\n');
  expect(await ask(node, "CONFIG SET requirepass ''")).toBe('+OK\r\n');
  node.acl.forget(node.session);
  expect(refusal(node, 'get a')).toBe('');
});

test('what a user is refused is told and noted', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob on >pw ~b* +get +hello');
  expect(await ask(node, 'AUTH bob pw')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL WHOAMI')).toBe('$3\r\nbob\r\n');
  expect(refusal(node, 'get b1')).toBe('');
  expect(refusal(node, 'del b1')).toBe(
    "NOPERM this user has no permissions to run the 'del' command",
  );
  expect(refusal(node, 'get a')).toBe(
    'NOPERM this user has no permissions to access one of the keys used as arguments',
  );
  refusal(node, 'get a');
  const log = await ask(node, 'ACL LOG');
  expect(log).toMatch(/^\*2\r\n\*20\r\n\$5\r\ncount\r\n:2\r\n\$6\r\nreason\r\n\$3\r\nkey\r\n/);
  expect(log).toContain('username\r\n$3\r\nbob\r\n');
  for (const command of ['del', 'get']) expect(log).toContain(` cmd=${command} `);
  expect(await ask(node, 'ACL LOG 0')).toBe('*0\r\n');
  expect(await ask(node, 'ACL LOG x')).toMatch(/^-ERR value is not an integer/);
  expect(await ask(node, 'ACL LOG RESET')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL LOG')).toBe('*0\r\n');
});

test('a user that is off does not log in, with its password or any', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob off >pw ~* +@all');
  await ask(node, 'ACL SETUSER guest off nopass ~* +@all');
  for (const line of ['AUTH bob pw', 'AUTH guest x', 'HELLO 3 AUTH bob pw']) {
    expect(await ask(node, line)).toMatch(/^-WRONGPASS/);
  }
  expect(await ask(node, 'ACL WHOAMI')).toBe('$7\r\ndefault\r\n');
  await ask(node, 'ACL SETUSER bob on');
  expect(await ask(node, 'AUTH bob pw')).toBe('+OK\r\n');
});

test('who was a user that is there no more may do nothing but say who it is', () => {
  const node = new FakeNode();
  node.acl.setUsers([{ user: 'bob', rules: 'on nopass ~* +@all' }]);
  node.session.user = 'bob';
  expect(refusal(node, 'get a')).toBe('');
  node.acl.setUsers([]);
  expect(refusal(node, 'get a')).toMatch(/^NOPERM .*'get' command$/);
  expect(node.acl.execRefusalOf(node.session, args('get a'))).toMatchObject({
    text: expect.stringMatching(/^NOPERM ACLs rules changed/),
  });
  expect(refusal(node, 'auth default x')).toBe('');
});

test('there are no more users than their bound, and each may still be changed', async () => {
  const node = new FakeNode();
  const stored = Array.from({ length: limits.aclUsersMax - 1 }, (_, at) => ({
    ...{ user: `u${at}`, rules: 'off' },
  }));
  node.acl.setUsers(stored);
  expect(await node.acl.setUser('bob', ['on'], node.session)).toBe(
    `ERR there are ${limits.aclUsersMax} users already; delete some`,
  );
  expect(await node.acl.setUser('u1', ['on'], node.session)).toBeUndefined();
});

test('of a name and a client that are long no more is noted than their bounds', () => {
  const node = new FakeNode();
  node.session.clientName = 'n'.repeat(5_000);
  node.acl.authenticate(node.session, 'u'.repeat(5_000), Buffer.from('x'), 'auth');
  const [{ user, client } = { user: '', client: '' }] = node.acl.log(1);
  expect([user.length, client.length]).toEqual([limits.aclNameMax, limits.aclLogClientMax]);
});

test('SORT reads by patterns only if one selector allows it and the reading of all keys', async () => {
  const node = new FakeNode();
  const words = args('sort l by w*');
  const answer = async (rules: string) => {
    await ask(node, `ACL SETUSER bob reset on nopass ${rules}`);
    node.session.user = 'bob';
    const reply = node.acl.refusalOf(node.session, resolveCommand(words)!, words);
    node.session.user = 'default';
    return reply?.kind === 'error' ? reply.text : '';
  };
  expect(await answer('~* +sort')).toBe('');
  // who may read all may not sort, and who may sort may not read all
  expect(await answer('~l +sort (~* +get)')).toMatch(/^ERR BY option of SORT denied/);
});

test('connections of a deleted user are closed, others are not', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob on nopass');
  node.others[0]!.user = 'bob';
  expect(await ask(node, 'CLIENT KILL USER bob SKIPME yes ID 99')).toBe(':0\r\n');
  expect(await ask(node, 'ACL DELUSER bob nobody')).toBe(':1\r\n');
  expect(node.others.map(({ ended }) => ended)).toEqual(['killed', 'no']);
  expect(await ask(node, 'ACL DELUSER default')).toBe(
    "-ERR The 'default' user cannot be removed\r\n",
  );
});

test('who deletes its own user has its reply before its connection is closed', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob on nopass ~* +@all');
  node.session.user = 'bob';
  node.others[0]!.user = 'bob';
  expect(await ask(node, 'ACL DELUSER bob')).toBe(':1\r\n');
  expect([node.session.ended, node.others[0]!.ended]).toEqual(['after-reply', 'killed']);
  // what others do to its user later leaves it no reply to wait for
  node.session.ended = 'no';
  node.session.user = 'carol';
  node.acl.setUsers([]);
  expect(node.session.ended).toBe('killed');
});

test.each([
  ['channel', 'b'],
  ['shard', 'b'],
  ['pattern', 'a*'],
] as const)('who hears on a %s what its user may not any more is closed', (kind, other) => {
  const node = new FakeNode();
  const [one] = node.others;
  const may = (channels: string) =>
    node.acl.setUsers([{ user: 'bob', rules: `on nopass resetchannels ${channels} +@all` }]);
  may(`&a &${other}`);
  one!.user = 'bob';
  for (const name of ['a', other]) node.pubsub.subscribe(one!.subscriber, kind, Buffer.from(name));
  may(`&${other} &a`);
  expect(one!.ended).toBe('no');
  may('&a');
  expect(one!.ended).toBe('killed');
});

describe('a change of users', () => {
  /** A store whose watch tells this node of a change after so long, or never. */
  async function changed(toldMs: number | undefined) {
    const clock = new ManualClock();
    const store: UserStore = {
      edit: async (user, change) => {
        const edit = change(undefined);
        const rules = 'rules' in edit ? edit.rules : undefined;
        if (toldMs !== undefined && rules !== undefined) {
          clock.setTimer(toldMs, () => acl.setUsers([{ user, rules }]));
        }
        return edit;
      },
    };
    const acl = new Access({
      ...{ clock, store, random: seededRandom('users') },
      ...{ sessions: () => [], logEntriesMax: () => 128 },
    });
    acl.setUsers([]);
    const problem = await clock.until(acl.setUser('bob', ['on'], new FakeNode().session));
    return { problem, isKnown: acl.hasUser('bob'), tookMs: clock.monotonicMs() };
  }

  test('is answered once this node goes by it', async () => {
    const { problem, isKnown, tookMs } = await changed(500);
    expect([problem, isKnown]).toEqual([undefined, true]);
    expect(tookMs).toBeLessThan(600);
  });

  test('is answered after a while also when this node does not hear of it', async () => {
    const { problem, isKnown, tookMs } = await changed(undefined);
    expect([problem, isKnown]).toEqual([undefined, false]);
    expect(tookMs).toBeGreaterThanOrEqual(2_000);
    expect(tookMs).toBeLessThan(2_100);
  });
});

test('users are shown, and tried without being them', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'ACL SETUSER bob on nopass ~b* &c +get (~x +set)')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL USERS')).toBe('*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n');
  expect(await ask(node, 'ACL GETUSER bob')).toBe(
    '*12\r\n$5\r\nflags\r\n*2\r\n$2\r\non\r\n$6\r\nnopass\r\n$9\r\npasswords\r\n*0\r\n' +
      '$8\r\ncommands\r\n$10\r\n-@all +get\r\n$4\r\nkeys\r\n$3\r\n~b*\r\n' +
      '$8\r\nchannels\r\n$2\r\n&c\r\n$9\r\nselectors\r\n*1\r\n*6\r\n$8\r\ncommands\r\n' +
      '$10\r\n-@all +set\r\n$4\r\nkeys\r\n$2\r\n~x\r\n$8\r\nchannels\r\n$0\r\n\r\n',
  );
  expect(await ask(node, 'ACL GETUSER nobody')).toBe('$-1\r\n');
  expect(await ask(node, 'ACL DRYRUN bob get b')).toBe('+OK\r\n');
  expect(await ask(node, 'ACL DRYRUN bob get z')).toContain("to access the 'z' key");
  expect(await ask(node, 'ACL DRYRUN bob del b')).toContain("to run the 'del' command");
  expect(await ask(node, 'ACL DRYRUN nobody get b')).toMatch(/^-ERR User 'nobody' not found/);
  expect(await ask(node, 'ACL DRYRUN bob nosuch b')).toMatch(/^-ERR Command 'nosuch' not found/);
  expect(await ask(node, 'ACL DRYRUN bob get')).toMatch(/^-ERR wrong number of arguments/);
  expect(await ask(node, 'ACL CAT')).toMatch(/^\*21\r\n\$8\r\nkeyspace\r\n/);
  expect(await ask(node, 'ACL CAT string')).toContain('\r\ngetdel\r\n');
  expect(await ask(node, 'ACL CAT nosuch')).toBe("-ERR Unknown category 'nosuch'\r\n");
  expect(await ask(node, 'ACL GENPASS')).toMatch(/^\$64\r\n[0-9a-f]{64}\r\n$/);
  expect(await ask(node, 'ACL GENPASS 5')).toMatch(/^\$2\r\n/);
  expect(await ask(node, 'ACL GENPASS 0')).toMatch(/^-ERR ACL GENPASS argument must be/);
  for (const command of ['LOAD', 'SAVE']) {
    expect(await ask(node, `ACL ${command}`)).toMatch(
      /^-ERR This Redis instance is not configured/,
    );
  }
  expect(await ask(node, 'ACL HELP')).toContain('SETUSER');
});

test('a change that fails changes nothing and says why', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'ACL SETUSER bob on nonsense')).toMatch(
    /modifier 'nonsense': Syntax error/,
  );
  expect(await ask(node, 'ACL USERS')).toBe('*1\r\n$7\r\ndefault\r\n');
  node.users.failure = new Error('the store is away');
  expect(await ask(node, 'ACL SETUSER bob on')).toMatch(
    /could not be changed, try again: the store/,
  );
  node.users.failure = undefined;
  const long = await ask(node, `ACL SETUSER bob ~${'k'.repeat(70_000)}`);
  expect(long).toMatch(/may have 65536 characters/);
});

test('a name that could not be stored, or not be read again, makes no user', async () => {
  const node = new FakeNode();
  const make = (name: string) => node.call('ACL', 'SETUSER', name, 'on');
  const text = 'ERR Usernames are 1 to 128 printable ASCII characters; choose another';
  for (const name of ['', 'n'.repeat(129), 'zoë', 'a\x7f']) {
    expect(await make(name)).toEqual({ kind: 'error', text });
  }
  for (const name of ['a b', 'a\0b', ' ']) {
    const text = "ERR Usernames can't contain spaces or null characters";
    expect(await make(name)).toEqual({ kind: 'error', text });
  }
  expect(node.acl.userNames()).toEqual(['default']);
});

test('a shard channel is a channel, though it stands where a key would', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob on nopass +@all ~k resetchannels &c');
  await ask(node, 'AUTH bob x');
  for (const line of [
    'spublish c m',
    'ssubscribe c',
    'sunsubscribe c',
    'sunsubscribe x',
    'get k',
  ]) {
    expect(refusal(node, line)).toBe('');
  }
  for (const line of ['spublish k m', 'ssubscribe c k', 'publish k m']) {
    expect(refusal(node, line)).toMatch(/^NOPERM .* one of the channels used as arguments$/);
  }
  expect(refusal(node, 'get c')).toMatch(/^NOPERM .* one of the keys used as arguments$/);
});

test('what SORT stores is written: a key that may only be read is refused', async () => {
  const node = new FakeNode();
  await ask(node, 'ACL SETUSER bob on nopass ~a %R~r +@all');
  await ask(node, 'AUTH bob x');
  expect(refusal(node, 'sort a limit 0 1')).toBe('');
  expect(refusal(node, 'sort r')).toBe('');
  expect(refusal(node, 'sort a store r')).toMatch(/^NOPERM/);
  expect(refusal(node, 'sort r store a')).toBe('');
});

test('a walk over all values takes a user who may read all keys; one over names does not', async () => {
  const node = new FakeNode();
  const full = 'zan.fullscan KV secret c';
  await ask(node, 'ACL SETUSER bob on nopass ~app:* +@read');
  await ask(node, 'ACL SETUSER wim on nopass %W~* ~app:* +@read');
  await ask(node, 'ACL SETUSER eve on nopass ~app:* +get (%R~* +zan.fullscan)');
  for (const user of ['bob', 'wim']) {
    expect(await ask(node, `AUTH ${user} x`)).toBe('+OK\r\n');
    expect(refusal(node, full), user).toMatch(/^NOPERM .* one of the keys used as arguments$/);
    expect(refusal(node, 'zan.scan KV secret c')).toBe('');
  }
  await ask(node, 'AUTH eve x');
  expect(refusal(node, full)).toBe('');
});

describe('who runs scripts may do whatever a script can', () => {
  const evals = ['eval s 0', 'evalsha s 1 app:k', 'eval_ro s 0'];

  /** Refusals of a user with these rules, for each of `evals`: what they say is missing. */
  async function missing(...rules: string[]): Promise<string[]> {
    const node = new FakeNode();
    await node.call('acl', 'setuser', 'bob', 'on', 'nopass', ...rules);
    await ask(node, 'AUTH bob x');
    return evals.map((line) => {
      const text = refusal(node, line);
      if (text !== '')
        expect(text).toMatch(/: what a script does is not known before, .*~\* &\*\)$/);
      return /run the '\w+' command|all \w+s/.exec(text)?.[0] ?? '';
    });
  }

  test('all commands on all keys and channels; to read, what reads', async () => {
    const [keys, channels] = ['all keys', 'all channels'];
    expect(await missing('~*', '&*', '+@all')).toEqual(['', '', '']);
    expect(await missing('~*', '&*', '+@all', '-@admin', '-config|set')).toEqual(['', '', '']);
    expect(await missing('%R~*', '%W~*', '&*', '+@all')).toEqual(['', '', '']);
    expect(await missing('~app:*', '&*', '+@all')).toEqual([keys, keys, keys]);
    expect(await missing('%R~*', '&*', '+@all')).toEqual([keys, keys, '']);
    expect(await missing('~*', 'resetchannels', '&news', '+@all')).toEqual([
      channels,
      channels,
      '',
    ]);
  });

  test('a command that scripts can run and the user may not', async () => {
    const [of, ofSha, ofRead] = ['eval', 'evalsha', 'eval_ro'].map(
      (name) => `run the '${name}' command`,
    );
    expect(await missing('~*', '&*', '+@all', '-set')).toEqual([of, ofSha, '']);
    expect(await missing('~*', '&*', '+@all', '-publish')).toEqual([of, ofSha, '']);
    expect(await missing('~*', '&*', '+@all', '-get')).toEqual([of, ofSha, ofRead]);
    expect(await missing('~*', '&*', '+@all', '-object|freq')).toEqual([of, ofSha, ofRead]);
    expect(await missing('~*', '&*', '+@all', '-@write')).toEqual([of, ofSha, '']);
  });

  test('a user who may not run EVAL is told so; a selector may allow it; a dry run says the same', async () => {
    const node = new FakeNode();
    await ask(node, 'ACL SETUSER bob on nopass ~* &* +@all -eval');
    await ask(node, 'ACL SETUSER eve on nopass ~app:* +@all (~* &* +@all)');
    await ask(node, 'ACL SETUSER tom on nopass ~app:* &* +@all');
    await ask(node, 'AUTH bob x');
    expect(refusal(node, 'eval s 0')).toBe(
      "NOPERM this user has no permissions to run the 'eval' command",
    );
    await ask(node, 'AUTH eve x');
    expect(refusal(node, 'eval s 0')).toBe('');
    expect(await ask(node, 'ACL DRYRUN eve EVAL s 0')).toBe('+OK\r\n');
    expect(await ask(node, 'ACL DRYRUN tom EVAL s 0')).toMatch(
      /This user has no permissions to access the '\*' key: what a script does is not known before/,
    );
  });

  test('under a session as without one', async () => {
    const node = new FakeNode();
    await ask(node, 'ACL SETUSER tom on nopass ~app:* &* +@all');
    await ask(node, 'AUTH tom x');
    expect(refusal(node, 'kv.once id-of-session 1 1 eval s 1 app:k')).toMatch(
      /^NOPERM .* all keys:/,
    );
    expect(refusal(node, 'kv.once id-of-session 1 1 get app:k')).toBe('');
  });
});

test('only who may read all keys takes backups', () => {
  const node = new FakeNode();
  const rules = 'on nopass -@all +kv.backup +sync +psync +replconf';
  node.acl.setUsers([
    { user: 'default', rules: `${rules} ~app:*` },
    { user: 'all', rules: `${rules} %R~*` },
  ]);
  const lines = ['kv.backup open 0', 'kv.backup next n1/a 0', 'sync', 'psync ? -1'];
  node.session.user = 'default';
  for (const line of lines) expect(refusal(node, line), line).toMatch(/^NOPERM/);
  expect(refusal(node, 'kv.backup help')).toBe('');
  node.session.user = 'all';
  for (const line of lines) expect(refusal(node, line), line).toBe('');
});
