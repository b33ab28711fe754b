/** FUNCTION's subcommands that a node answers by itself. */
import { expect, test } from 'vitest';
import { FakeNode } from '../fake-node.ts';
import { ask } from '../node-text.ts';

test('FUNCTION KILL finds nothing to end: a function ends by itself', async () => {
  expect(await ask(new FakeNode(), 'FUNCTION KILL')).toMatch(/^-NOTBUSY /);
});

test('FUNCTION HELP lists its subcommands', async () => {
  expect(await ask(new FakeNode(), 'FUNCTION HELP')).toContain('LOAD');
});
