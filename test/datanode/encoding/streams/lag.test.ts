/** XINFO GROUPS' lag where Redis 7.0 counts what was trimmed; what it says besides is compared with redis-server. */
import { beforeEach, expect, test } from 'vitest';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../../commands/lone-partition.ts';

let partition: LonePartition;

beforeEach(async () => {
  partition = await LonePartition.open();
  for (const id of [1, 2, 3, 4, 5]) await run(`XADD s ${id}-0 f v`);
  await run('XGROUP CREATE s g 0');
});

const run = (line: string): Promise<Reply> =>
  partition.call(...line.split(' ').map((word) => Buffer.from(word)));

async function lag(): Promise<number | string> {
  const reply = await run('XINFO GROUPS s');
  const group = reply.kind === 'array' ? reply.items[0] : undefined;
  if (group?.kind !== 'map') return group?.kind ?? 'nothing';
  const value = group.pairs.at(-1)?.[1];
  return value?.kind === 'integer' ? Number(value.value) : (value?.kind ?? 'nothing');
}

test('of what is left when a part was trimmed unread', async () => {
  expect(await lag()).toBe(5);
  await run('XTRIM s MAXLEN 2');
  expect(await lag()).toBe(2);
  await run('XREADGROUP GROUP g c COUNT 1 STREAMS s >');
  expect(await lag()).toBe(1);
});

test('nothing of a stream that is empty, and nothing behind the last', async () => {
  await run('XTRIM s MAXLEN 0');
  expect(await lag()).toBe(0);
  await run('XADD s 6-0 f v');
  expect(await lag()).toBe(1);
  await run('XREADGROUP GROUP g c STREAMS s >');
  expect(await lag()).toBe(0);
});

test('unknown as long as something removed may lie ahead', async () => {
  await run('XREADGROUP GROUP g c COUNT 1 STREAMS s >');
  await run('XDEL s 3-0');
  expect(await lag()).toBe('null');
  await run('XREADGROUP GROUP g c STREAMS s >');
  expect(await lag()).toBe(0);
});
