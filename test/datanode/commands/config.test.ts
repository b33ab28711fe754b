import { beforeEach, expect, test } from 'vitest';
import { FakeNode } from './fake-node.ts';
import { ask } from './node-text.ts';

let node: FakeNode;
beforeEach(() => {
  node = new FakeNode();
});

test('CONFIG GET finds by pattern, in any case, and by several', async () => {
  expect(await ask(node, 'CONFIG GET save')).toBe('*2\r\n$4\r\nsave\r\n$0\r\n\r\n');
  expect(await ask(node, 'CONFIG GET APPEND*')).toContain('appendfsync\r\n$6\r\nalways');
  expect(await ask(node, 'CONFIG GET value-bytes-max databases')).toMatch(/^\*4\r\n/);
  expect(await ask(node, 'CONFIG GET nothing')).toBe('*0\r\n');
  node.session.protocol = 3;
  expect(await ask(node, 'CONFIG GET save')).toBe('%1\r\n$4\r\nsave\r\n$0\r\n\r\n');
});

test('CONFIG SET sets what may be set, all or nothing', async () => {
  expect(await ask(node, 'CONFIG SET value-bytes-max 5')).toBe('+OK\r\n');
  expect(node.settings.get('value-bytes-max')).toBe('5');
  expect(await ask(node, 'CONFIG SET appendonly yes')).toBe('+OK\r\n');
  expect(await ask(node, 'CONFIG SET appendonly no')).toMatch(
    /'appendonly'\) - can't set immutable/,
  );
  expect(await ask(node, 'CONFIG SET nothing 1')).toMatch(/^-ERR Unknown option .* - 'nothing'/);
  expect(await ask(node, 'CONFIG SET value-bytes-max 6 save x')).toMatch(/^-ERR CONFIG SET failed/);
  expect(node.settings.get('value-bytes-max')).toBe('5');
  expect(await ask(node, 'CONFIG SET value-bytes-max 1 save')).toMatch(/wrong number of arguments/);
});

test('CONFIG RESETSTAT, REWRITE, HELP, and MODULE LIST', async () => {
  expect(await ask(node, 'CONFIG RESETSTAT')).toBe('+OK\r\n');
  expect(node.statisticsResets).toBe(1);
  expect(await ask(node, 'CONFIG REWRITE')).toMatch(/^-ERR the config file is not rewritten/);
  expect(await ask(node, 'CONFIG HELP')).toContain('RESETSTAT');
  expect(await ask(node, 'MODULE LIST')).toBe('*0\r\n');
});
