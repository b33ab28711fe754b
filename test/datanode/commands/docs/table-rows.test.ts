import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { commandTable, resolveCommand } from '../../../../src/datanode/commands/table/table.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { FakeNode } from '../fake-node.ts';

const names = [...commandTable.keys()];

/** As it is called, promise or not. */
function run(node: FakeNode, ...words: string[]): Reply | Promise<Reply> {
  const line = words.map((word) => Buffer.from(word));
  const command = resolveCommand(line);
  if (command?.kind !== 'node') throw new Error(`${words[0]} is not of the node`);
  return command.run(line, node.context());
}

// before anything else asks: the first time, rows are made in turns of their own
test.each([['command docs'], ['command']])(
  '%s is made in steps, once for all who ask',
  async (text) => {
    const node = new FakeNode();
    const first = run(node, ...text.split(' '));
    const second = run(node, ...text.split(' '));
    expect(first).toBeInstanceOf(Promise);
    const reply = await first;
    expect(await second).toBe(reply);
    expect(node.slept.length).toBeGreaterThan(names.length / 10);
    expect(run(node, ...text.split(' '))).toBe(reply);
  },
);

test.each([
  [
    ['command', 'docs'],
    ['command', 'docs', ...names],
  ],
  [['command'], ['command', 'info', ...names]],
  [
    ['command', 'info'],
    ['command', 'info', ...names],
  ],
])('%j is what it says of each of them', async (all, each) => {
  const node = new FakeNode();
  const [one, other] = [await run(node, ...all), await run(node, ...each)];
  for (const protocol of [2, 3] as const) {
    expect(encodeReply(one, protocol).equals(encodeReply(other, protocol))).toBe(true);
  }
});

test('a name that is asked for again and again takes neither its time nor its memory again', async () => {
  const node = new FakeNode();
  const often = Array.from({ length: limits.argumentsAtOnceMax }, () => 'client');
  for (const subcommand of ['docs', 'info']) {
    const one = encodeReply(await run(node, 'command', subcommand, 'client'), 2);
    const reply = await run(node, 'command', subcommand, ...often);
    const parts = reply.kind === 'map' ? reply.pairs.flat() : reply.kind === 'array' && reply.items;
    expect(new Set(parts || []).size).toBe(subcommand === 'docs' ? 2 : 1);
    expect(encodeReply(reply, 2).length).toBeGreaterThan(often.length * (one.length - 10));
    expect(await run(node, 'command', subcommand, 'get', ...often)).toEqual({
      kind: 'error',
      text: 'ERR too many names of commands: 2048 at most at once',
    });
  }
});

test('what there is not has null among entries, and no place among documentation', async () => {
  const node = new FakeNode();
  expect(encodeReply(await run(node, 'command', 'info', 'nope'), 2).toString()).toBe(
    '*1\r\n$-1\r\n',
  );
  expect(encodeReply(await run(node, 'command', 'docs', 'nope'), 2).toString()).toBe('*0\r\n');
});
