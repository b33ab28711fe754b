import { expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';

function add(node: FakeNode, ...words: string[]): void {
  const args = words.map((text) => Buffer.from(text));
  const entry = { atSeconds: 5, microseconds: 20_000, client: '1.2.3.4:5', clientName: 'me' };
  node.watch.slowLog.add({ ...entry, args });
}

test('SLOWLOG GET shows the newest first, as many as asked for', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'SLOWLOG GET')).toBe('*0\r\n');
  for (let at = 0; at < 12; at++) add(node, 'get', `key${at}`);
  expect(await ask(node, 'SLOWLOG LEN')).toBe(':12\r\n');
  expect(await ask(node, 'SLOWLOG GET 1')).toBe(
    '*1\r\n*6\r\n:11\r\n:5\r\n:20000\r\n*2\r\n$3\r\nget\r\n$5\r\nkey11\r\n' +
      '$9\r\n1.2.3.4:5\r\n$2\r\nme\r\n',
  );
  expect(await ask(node, 'SLOWLOG GET')).toMatch(/^\*10\r\n/);
  expect(await ask(node, 'SLOWLOG GET -1')).toMatch(/^\*12\r\n/);
  expect(await ask(node, 'SLOWLOG GET 0')).toBe('*0\r\n');
  expect(await ask(node, 'SLOWLOG RESET')).toBe('+OK\r\n');
  expect(await ask(node, 'SLOWLOG LEN')).toBe(':0\r\n');
});

test('SLOWLOG says what is wrong', async () => {
  const node = new FakeNode();
  const wrong = '-ERR count should be greater than or equal to -1\r\n';
  expect(await ask(node, 'SLOWLOG GET x')).toBe(wrong);
  expect(await ask(node, 'SLOWLOG GET -2')).toBe(wrong);
  expect(await ask(node, 'SLOWLOG GET 1 2')).toMatch(/wrong number of arguments for 'GET'/);
  expect(await ask(node, 'SLOWLOG HELP')).toContain('RESET');
});

test('MONITOR marks the session until RESET', async () => {
  const node = new FakeNode();
  expect(await ask(node, 'MONITOR')).toBe('+OK\r\n');
  expect(node.session.monitors).toBe(true);
  expect(await ask(node, 'CLIENT LIST ID 1')).toContain(' flags=O ');
  await ask(node, 'RESET');
  expect(node.session.monitors).toBe(false);
  expect(node.watch.monitors).toBe(0);
});
