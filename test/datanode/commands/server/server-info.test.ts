import { beforeEach, expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

test('containers tell what they hold', async () => {
  for (const line of ['MODULE LIST', 'DEBUG SLEEP', 'DEBUG OBJECT']) {
    const [container, sub] = line.split(' ');
    expect(await ask(node, `${container} HELP`)).toContain(`+${sub}\r\n`);
  }
});

test('TIME, LASTSAVE, ROLE, LOLWUT', async () => {
  expect(await ask(node, 'TIME')).toBe('*2\r\n$10\r\n1700000000\r\n$6\r\n123000\r\n');
  expect(await ask(node, 'LASTSAVE')).toBe(':1700000000\r\n');
  expect(await ask(node, 'ROLE')).toBe('*3\r\n$6\r\nmaster\r\n:11\r\n*0\r\n');
  expect(await ask(node, 'LOLWUT')).toMatch(/\* \*\n\nkvorum ver\. \d/);
});

test('saving is always done', async () => {
  expect(await ask(node, 'SAVE')).toBe('+OK\r\n');
  expect(await ask(node, 'BGSAVE')).toBe('+Background saving started\r\n');
  expect(await ask(node, 'BGREWRITEAOF')).toBe(
    '+Background append only file rewriting started\r\n',
  );
});

test('what is not offered is refused with a reason', async () => {
  expect(await ask(node, 'SHUTDOWN')).toMatch(/^-ERR stop this datanode with SIGTERM/);
  expect(await ask(node, 'SWAPDB 0 1')).toMatch(/^-ERR SWAPDB is not offered/);
  expect(await ask(node, 'MOVE key 1')).toMatch(/^-ERR MOVE is not offered/);
});

test('WAIT and WAITAOF answer at once with what a quorum holds', async () => {
  expect(await ask(node, 'WAIT 5 0')).toBe(':1\r\n');
  expect(await ask(node, 'WAIT 0 1000')).toBe(':1\r\n');
  expect(await ask(node, 'WAIT x 0')).toBe('-ERR value is not an integer or out of range\r\n');
  expect(await ask(node, 'WAIT 1 x')).toBe('-ERR timeout is not an integer or out of range\r\n');
  expect(await ask(node, 'WAIT 1 -1')).toBe('-ERR timeout is negative\r\n');
  expect(await ask(node, 'WAITAOF 1 5 0')).toBe('*2\r\n:1\r\n:1\r\n');
  expect(await ask(node, 'WAITAOF 2 0 0')).toBe(
    '-ERR value is out of range, value must between 0 and 1\r\n',
  );
  expect(await ask(node, 'WAITAOF 1 -1 0')).toBe(
    '-ERR value is out of range, must be positive\r\n',
  );
  expect(await ask(node, 'WAITAOF 1 1 -1')).toBe('-ERR timeout is negative\r\n');
});

test('MEMORY STATS and DOCTOR', async () => {
  node.session.waiting = {
    requestBytes: 10,
    replies: 1,
    replyBytes: 20,
    transaction: -1,
    watched: 0,
  };
  const stats = await ask(node, 'MEMORY STATS');
  expect(stats).toContain('$14\r\nclients.normal\r\n:30\r\n');
  expect(stats).toContain('$10\r\nkeys.count\r\n:7\r\n');
  expect(stats).toContain('$15\r\npeak.percentage\r\n$2\r\n75\r\n');
  expect(await ask(node, 'MEMORY DOCTOR')).toMatch(/^\$/);
  node.session.protocol = 3;
  expect(await ask(node, 'MEMORY DOCTOR')).toMatch(/^=\d+\r\ntxt:/);
  node.session.protocol = 2;
  expect(await ask(node, 'MEMORY HELP')).toContain('STATS');
});
