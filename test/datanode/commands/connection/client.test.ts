import { beforeEach, expect, test } from 'vitest';
import { FakeNode, FakeSession } from '../fake-node.ts';
import { ask } from '../node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

test('CLIENT ID, SETNAME, GETNAME, SETINFO', async () => {
  expect(await ask(node, 'CLIENT ID')).toBe(':1\r\n');
  expect(await ask(node, 'CLIENT GETNAME')).toBe('$-1\r\n');
  expect(await ask(node, 'CLIENT SETNAME me')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT GETNAME')).toBe('$2\r\nme\r\n');
  expect(await ask(node, "CLIENT SETNAME ''")).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT GETNAME')).toBe('$-1\r\n');
  expect(await ask(node, 'CLIENT SETNAME a\nb')).toMatch(
    /^-ERR Client names cannot contain spaces/,
  );
  expect(await ask(node, 'CLIENT SETINFO LIB-NAME lib')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT SETINFO lib-ver 1.2')).toBe('+OK\r\n');
  expect(node.session).toMatchObject({ libraryName: 'lib', libraryVersion: '1.2' });
  expect(await ask(node, 'CLIENT SETINFO x y')).toBe("-ERR Unrecognized option 'x'\r\n");
});

test('CLIENT LIST and INFO show a line per client', async () => {
  const list = await ask(node, 'CLIENT LIST');
  expect(
    list.match(/id=\d+ addr=127\.0\.0\.1:\d+ laddr=\S+ fd=-1 name= age=5 idle=2 flags=N db=0/g),
  ).toHaveLength(3);
  // 8.2's, in its order
  expect(list).toContain(
    ' lib-name= lib-ver= io-thread=0 tot-net-in=42 tot-net-out=92 tot-cmds=0\n',
  );
  expect(list).toContain(' multi=-1 watch=0 qbuf=');
  expect(await ask(node, 'CLIENT LIST ID 2 3')).not.toContain('id=1 ');
  expect(await ask(node, 'CLIENT LIST TYPE pubsub')).toBe('$0\r\n\r\n');
  expect(await ask(node, 'CLIENT LIST TYPE nobody')).toBe("-ERR Unknown client type 'nobody'\r\n");
  expect(await ask(node, 'CLIENT LIST ID x')).toBe('-ERR Invalid client ID\r\n');
  expect(await ask(node, 'CLIENT LIST what')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'CLIENT INFO')).toContain('id=1 ');
});

test('CLIENT LIST of many gives way in between, and shows each once', async () => {
  for (let id = 4; id <= 700; id++) node.others.push(new FakeSession(id, 'gateway'));
  const list = await ask(node, 'CLIENT LIST');
  const ids = [...list.matchAll(/^(?:\$\d+\r\n)?id=(\d+) /gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(Array.from({ length: 700 }, (_, at) => at + 1));
  expect(node.slept).toEqual([0, 0]);
});

test('who has not said who it is counts as the default user', async () => {
  node.session.user = '';
  node.others[0]!.user = '';
  node.others[1]!.user = 'bob';
  const list = await ask(node, 'CLIENT LIST');
  expect([...list.matchAll(/ user=(\S*) /g)].map(([, user]) => user)).toEqual([
    'default',
    'default',
    'bob',
  ]);
  expect(await ask(node, 'CLIENT KILL USER default')).toBe(':1\r\n');
  expect(node.others.map(({ ended }) => ended)).toEqual(['killed', 'no']);
});

test('CLIENT KILL by address, by filters, and oneself after the reply', async () => {
  expect(await ask(node, 'CLIENT KILL 127.0.0.1:50002')).toBe('+OK\r\n');
  expect(node.others[0]!.ended).toBe('killed');
  expect(await ask(node, 'CLIENT KILL 127.0.0.1:1')).toBe('-ERR No such client\r\n');
  expect(await ask(node, 'CLIENT KILL ID 3')).toBe(':1\r\n');
  expect(node.others[1]!.ended).toBe('killed');
  expect(await ask(node, 'CLIENT KILL TYPE normal')).toBe(':2\r\n');
  expect(await ask(node, 'CLIENT KILL TYPE what')).toBe("-ERR Unknown client type 'what'\r\n");
  expect(await ask(node, 'CLIENT KILL ID 1 SKIPME no')).toBe(':1\r\n');
  expect(node.session.ended).toBe('after-reply');
  expect(await ask(node, 'CLIENT KILL ID 0')).toBe('-ERR client-id should be greater than 0\r\n');
  expect(await ask(node, 'CLIENT KILL USER nobody')).toBe("-ERR No such user 'nobody'\r\n");
  expect(await ask(node, 'CLIENT KILL WHAT x')).toBe('-ERR syntax error\r\n');
});

test('CLIENT REPLY, NO-EVICT, NO-TOUCH set their modes', async () => {
  await ask(node, 'CLIENT REPLY OFF');
  expect(node.session.replyMode).toBe('off');
  await ask(node, 'CLIENT REPLY ON');
  expect(node.session.replyMode).toBe('on');
  expect(await ask(node, 'CLIENT REPLY MAYBE')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'CLIENT NO-EVICT on')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT NO-TOUCH on')).toBe('+OK\r\n');
  expect(node.session).toMatchObject({ noEvict: true, noTouch: true });
});

test('CLIENT TRACKING is off at first, and the rest answers', async () => {
  expect(await ask(node, 'CLIENT TRACKING off')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT TRACKINGINFO')).toContain('off');
  expect(await ask(node, 'CLIENT GETREDIR')).toBe(':-1\r\n');
  expect(await ask(node, 'CLIENT CACHING yes')).toMatch(/^-ERR CLIENT CACHING can be called only/);
  expect(await ask(node, 'CLIENT UNBLOCK 5')).toBe(':0\r\n');
  expect(await ask(node, 'CLIENT UNBLOCK 5 ERROR')).toBe(':0\r\n');
  expect(await ask(node, 'CLIENT UNBLOCK x')).toMatch(/^-ERR value is not an integer/);
  expect(await ask(node, 'CLIENT UNBLOCK 5 why')).toMatch(/reason should be TIMEOUT or ERROR/);
  expect(await ask(node, 'CLIENT UNBLOCK 5 ERROR now')).toMatch(/wrong number of arguments/);
  expect(await ask(node, 'CLIENT HELP')).toContain('SETNAME');
});

test('CLIENT PAUSE and UNPAUSE, and what is wrong with a pause', async () => {
  const { clientPause } = node.watch;
  expect(await ask(node, 'CLIENT PAUSE 50000 WRITE')).toBe('+OK\r\n');
  const lineOf = (words: readonly string[]) => words.map((text) => Buffer.from(text));
  const holds = (...words: string[]) => clientPause.holds(lineOf(words), () => []);
  const execOf = (...lines: string[]) => {
    return clientPause.holds(lineOf(['exec']), () => lines.map((line) => lineOf(line.split(' '))));
  };
  expect([holds('set', 'a', '1'), holds('get', 'a'), holds('nosuch')]).toEqual([
    true,
    false,
    false,
  ]);
  expect([holds('multi'), holds('watch', 'a'), holds('publish', 'c', 'x')]).toEqual([
    false,
    false,
    true,
  ]);
  expect([execOf(), execOf('get a', 'nosuch'), execOf('get a', 'set a 1')]).toEqual([
    false,
    false,
    true,
  ]);
  expect(await ask(node, 'CLIENT PAUSE 1')).toBe('+OK\r\n');
  expect([holds('get', 'a'), holds('client', 'unpause')]).toEqual([true, false]);
  expect(await ask(node, 'CLIENT PAUSE 1 write')).toBe('+OK\r\n');
  expect(holds('get', 'a')).toBe(true);
  expect(await ask(node, 'CLIENT UNPAUSE')).toBe('+OK\r\n');
  expect(holds('set', 'a', '1')).toBe(false);
  expect(await ask(node, 'CLIENT PAUSE x')).toMatch(/^-ERR timeout is not an integer/);
  expect(await ask(node, 'CLIENT PAUSE -1')).toBe('-ERR timeout is negative\r\n');
  expect(await ask(node, 'CLIENT PAUSE 1 some')).toMatch(/mode must be WRITE or ALL/);
  expect(await ask(node, 'CLIENT PAUSE 1 ALL now')).toMatch(
    /wrong number of arguments for 'PAUSE'/,
  );
});

test('CLIENT KILL takes several filters, and needs each to be whole', async () => {
  expect(await ask(node, 'CLIENT KILL ID 2 LADDR 127.0.0.1:6379 USER default')).toBe(':1\r\n');
  expect(await ask(node, 'CLIENT KILL ADDR 127.0.0.1:50003 TYPE pubsub')).toBe(':0\r\n');
  expect(node.others.map(({ ended }) => ended)).toEqual(['killed', 'no']);
  expect(await ask(node, 'CLIENT KILL ID 2 TYPE')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'CLIENT KILL SKIPME maybe ID 1')).toBe('-ERR syntax error\r\n');
});

test('CLIENT KILL MAXAGE ends clients that have been connected for so long', async () => {
  // both have been there for five seconds
  const [first] = node.others;
  Object.assign(first!, { connectedMs: first!.connectedMs - 45_999 });
  expect(await ask(node, 'CLIENT KILL MAXAGE 51')).toBe(':0\r\n');
  expect(await ask(node, 'CLIENT KILL MAXAGE 50')).toBe(':1\r\n');
  expect(node.others.map(({ ended }) => ended)).toEqual(['killed', 'no']);
  expect(await ask(node, 'CLIENT KILL MAXAGE 0')).toBe('-ERR maxage should be greater than 0\r\n');
  const wrong = '-ERR maxage is not an integer or out of range\r\n';
  expect(await ask(node, 'CLIENT KILL MAXAGE x')).toBe(wrong);
});

test('names are short: a node keeps what its clients call themselves', async () => {
  const longest = 'n'.repeat(1_024);
  expect(await ask(node, `CLIENT SETNAME ${longest}`)).toBe('+OK\r\n');
  for (const asked of ['CLIENT SETNAME', 'CLIENT SETINFO LIB-NAME', 'HELLO 3 SETNAME'])
    expect(await ask(node, `${asked} ${longest}n`)).toBe(
      '-ERR a name of 1025 bytes is longer than 1024\r\n',
    );
  expect(node.session.clientName).toBe(longest);
});

test('CLIENT PAUSE and CLIENT TRACKING look at their words as Redis does', async () => {
  expect(await ask(node, 'CLIENT PAUSE abc foo')).toMatch(/^-ERR CLIENT PAUSE mode must be/);
  expect(await ask(node, 'CLIENT TRACKING OFF foo')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'CLIENT TRACKING OFF prefix')).toBe('-ERR syntax error\r\n');
  expect(await ask(node, 'CLIENT TRACKING OFF BCAST prefix a noloop')).toBe('+OK\r\n');
});

test('CLIENT TRACKING refuses what Redis refuses, in its words and order', async () => {
  const refusals: readonly (readonly [string, string])[] = [
    ['CLIENT TRACKING ON PREFIX a', 'PREFIX option requires BCAST mode to be enabled'],
    ['CLIENT TRACKING ON BCAST OPTIN', 'OPTIN and OPTOUT are not compatible with BCAST'],
    ['CLIENT TRACKING ON OPTIN OPTOUT', "You can't specify both OPTIN mode and OPTOUT mode"],
    ['CLIENT TRACKING ON REDIRECT 99', 'The client ID you want redirect to does not exist'],
    ['CLIENT TRACKING ON REDIRECT x', 'value is not an integer or out of range'],
    [
      'CLIENT TRACKING ON REDIRECT 2 REDIRECT 3',
      'A client can only redirect to a single other client',
    ],
    [
      'CLIENT TRACKING ON BCAST PREFIX foo PREFIX fo',
      "Prefix 'foo' overlaps with another provided prefix 'fo'. Prefixes for a single client must " +
        'not overlap.',
    ],
    ['CLIENT TRACKING maybe', 'syntax error'],
  ];
  for (const [line, text] of refusals) expect(await ask(node, line)).toBe(`-ERR ${text}\r\n`);
  expect(node.session.tracking).toBeUndefined();
});

test('what tracks is shown, and switches its mode only when it is off', async () => {
  expect(await ask(node, 'CLIENT TRACKING ON OPTIN NOLOOP REDIRECT 2')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT GETREDIR')).toBe(':2\r\n');
  expect(await ask(node, 'CLIENT CACHING NO')).toMatch(
    /^-ERR CLIENT CACHING NO is only valid when/,
  );
  expect(await ask(node, 'CLIENT CACHING YES')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT TRACKINGINFO')).toMatch(
    /on\r\n.*optin\r\n.*caching-yes\r\n.*noloop/s,
  );
  expect(await ask(node, 'CLIENT INFO')).toMatch(/ flags=t .* redir=2 /);
  expect(await ask(node, 'CLIENT TRACKING ON OPTOUT')).toMatch(
    /^-ERR You can't switch OPTIN\/OPTOUT/,
  );
  expect(await ask(node, 'CLIENT TRACKING ON BCAST')).toMatch(/^-ERR You can't switch BCAST mode/);
  expect(await ask(node, 'RESET')).toBe('+RESET\r\n');
  expect(await ask(node, 'CLIENT GETREDIR')).toBe(':-1\r\n');
  expect(await ask(node, 'CLIENT TRACKING ON BCAST PREFIX b PREFIX a')).toBe('+OK\r\n');
  expect(await ask(node, 'CLIENT INFO')).toMatch(/ flags=tB .* redir=0 /);
  expect(await ask(node, 'CLIENT TRACKING ON BCAST PREFIX ab')).toBe(
    "-ERR Prefix 'ab' overlaps with an existing prefix 'a'. Prefixes for a single client must not " +
      'overlap.\r\n',
  );
});
