import { beforeEach, expect, test } from 'vitest';
import { FakeNode } from './fake-node.ts';
import { ask } from './node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

test('TIME, LASTSAVE, ROLE, LOLWUT', async () => {
  expect(await ask(node, 'TIME')).toBe('*2\r\n$10\r\n1700000000\r\n$6\r\n123000\r\n');
  expect(await ask(node, 'LASTSAVE')).toBe(':1700000000\r\n');
  expect(await ask(node, 'ROLE')).toBe('*3\r\n$6\r\nmaster\r\n:11\r\n*0\r\n');
  expect(await ask(node, 'LOLWUT')).toMatch(/kvorum \d/);
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
  expect(await ask(node, 'MONITOR')).toMatch(/^-ERR MONITOR is not offered/);
  expect(await ask(node, 'SWAPDB 0 1')).toMatch(/^-ERR SWAPDB is not offered/);
});

test('DEBUG SLEEP holds back the connection', async () => {
  expect(await ask(node, 'DEBUG SLEEP 0.25')).toBe('+OK\r\n');
  expect(node.slept).toEqual([250]);
  expect(await ask(node, 'DEBUG SLEEP 1e9')).toMatch(/^-ERR DEBUG SLEEP takes 0 to 60/);
});

test('LATENCY HISTOGRAM tells the latencies of commands that were called', async () => {
  expect(await ask(node, 'LATENCY HISTOGRAM get')).toBe(
    '*2\r\n$3\r\nget\r\n*4\r\n$5\r\ncalls\r\n:4\r\n$14\r\nhistogram_usec\r\n*2\r\n:16\r\n:4\r\n',
  );
  const all = await ask(node, 'LATENCY HISTOGRAM');
  for (const name of ['get', 'set', 'config|get']) expect(all).toContain(`\r\n${name}\r\n`);
  expect(all).not.toContain('incr');
  expect(await ask(node, 'LATENCY HISTOGRAM CONFIG nothing')).toMatch(
    /^\*2\r\n\$10\r\nconfig\|get/,
  );
  expect(await ask(node, 'LATENCY HISTOGRAM incr')).toBe('*0\r\n');
});

test('LATENCY, SLOWLOG and MEMORY answer what monitoring asks', async () => {
  expect(await ask(node, 'LATENCY LATEST')).toBe('*0\r\n');
  expect(await ask(node, 'LATENCY RESET')).toBe(':0\r\n');
  expect(await ask(node, 'SLOWLOG GET 10')).toBe('*0\r\n');
  expect(await ask(node, 'SLOWLOG LEN')).toBe(':0\r\n');
  expect(await ask(node, 'SLOWLOG HELP')).toContain('RESET');
  expect(await ask(node, 'MEMORY DOCTOR')).toMatch(/^\$/);
});
