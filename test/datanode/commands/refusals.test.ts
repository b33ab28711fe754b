/** Subcommands that only refuse or explain: each answers what it is, and changes nothing. */
import { expect, test } from 'vitest';
import { FakeNode } from './fake-node.ts';

test.each([
  ['CLUSTER', 'ADDSLOTSRANGE', '1', '2'],
  ['CLUSTER', 'BUMPEPOCH'],
  ['CLUSTER', 'DELSLOTS', '1'],
  ['CLUSTER', 'DELSLOTSRANGE', '1', '2'],
  ['CLUSTER', 'FLUSHSLOTS'],
  ['CLUSTER', 'REPLICATE', '1'.repeat(40)],
  ['CLUSTER', 'SAVECONFIG'],
  ['CLUSTER', 'SET-CONFIG-EPOCH', '1'],
  ['CLUSTER', 'SETSLOT', '1', 'STABLE'],
])('%s %s is refused with a reason', async (...words) => {
  const reply = await new FakeNode('cluster').call(...words);
  expect(reply).toMatchObject({ kind: 'error', text: expect.stringMatching(/^ERR .{20,}/) });
});

test.each(['CLUSTER', 'COMMAND', 'DEBUG'])('%s HELP explains', async (command) => {
  const reply = await new FakeNode('cluster').call(command, 'HELP');
  expect(reply.kind).toBe('array');
  expect(JSON.stringify(reply.kind === 'array' && reply.items[0])).toContain(command);
});

test('what there is nothing to tell of', async () => {
  const node = new FakeNode('cluster');
  const id = '1'.repeat(40);
  expect((await node.call('MEMORY', 'MALLOC-STATS')).kind).not.toBe('error');
  expect(await node.call('CLUSTER', 'SLAVES', id)).toMatchObject({ kind: 'array', items: [] });
  expect(await node.call('CLUSTER', 'COUNT-FAILURE-REPORTS', id)).toMatchObject({ value: 0 });
});
