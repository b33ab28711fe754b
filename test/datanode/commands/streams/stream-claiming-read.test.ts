/** XREADGROUP with CLAIM, as Redis 8.4 has it: what others were given long ago comes first. */
import { expect, test } from 'vitest';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import type { Reply } from '../../../../src/datanode/resp/reply.ts';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const itemsOf = (reply: Reply) => (reply.kind === 'array' ? reply.items : []);

/** Without its fields. */
function entryText(entry: Reply): string {
  const [id, , ...told] = itemsOf(entry).map((item) => replyText(item));
  return [id, ...told].join(' ').replaceAll('(integer) ', '').replaceAll('"', '');
}

async function open() {
  const partition = await LonePartition.open();
  const call = async (line: string) => replyText(await partition.call(...line.split(' ')));
  /** ID, idle time and deliveries of the entries of a reply, those of all keys. */
  const read = async (consumer: string, options: string, streams = 's >') => {
    const line = `XREADGROUP GROUP g ${consumer} ${options} STREAMS ${streams}`;
    const reply = await partition.call(...line.split(/ +/));
    const told = decodeReply(encodeReply(reply, 2));
    if (told.kind === 'error') throw new Error(told.text);
    return itemsOf(told).flatMap((stream) => itemsOf(itemsOf(stream)[1]!).map(entryText));
  };
  const add = async (...ids: string[]) => {
    for (const id of ids) await call(`XADD s ${id} f v`);
  };
  await add('1-0', '2-0', '3-0');
  await call('XGROUP CREATE s g 0');
  return { partition, call, read, add };
}

test('what is new is told as never delivered, what is pending with its times', async () => {
  const { partition, read, call } = await open();
  expect(await read('a', 'COUNT 2 CLAIM 100')).toEqual(['1-0 0 0', '2-0 0 0']);
  partition.nowMs += 99;
  expect(await read('b', 'COUNT 1 CLAIM 100')).toEqual(['3-0 0 0']);
  expect(await read('b', 'CLAIM 100')).toEqual([]);
  partition.nowMs += 1;
  expect(await read('b', 'CLAIM 100')).toEqual(['1-0 100 1', '2-0 100 1']);
  partition.nowMs += 150;
  // the longest idle first
  expect(await read('a', 'CLAIM 0')).toEqual(['3-0 151 1', '1-0 150 2', '2-0 150 2']);
  expect(await call('XPENDING s g - + 9 b')).toBe('(empty)');
  expect(await call('XINFO CONSUMERS s g')).toContain('"pending"\n  -\n    (integer) 3');
});

test('COUNT is of both, and what is pending takes it first; NOACK is for what is new', async () => {
  const { partition, read, call, add } = await open();
  await read('a', 'COUNT 2');
  await add('4-0', '5-0');
  partition.nowMs += 50;
  expect(await read('b', 'COUNT 1 CLAIM 50')).toEqual(['1-0 50 1']);
  expect(await read('b', 'COUNT 3 NOACK CLAIM 50')).toEqual(['2-0 50 1', '3-0 0 0', '4-0 0 0']);
  expect((await call('XPENDING s g')).split('\n')[1]).toBe('  (integer) 2');
  expect(await read('b', 'CLAIM 9223372036854775807')).toEqual(['5-0 0 0']);
});

test('several streams, each with its own; behind another ID than > it is left out of account', async () => {
  const { partition, read, call } = await open();
  await call('XADD t 1-0 f v');
  await call('XGROUP CREATE t g 0');
  await read('a', '');
  partition.nowMs += 50;
  expect(await read('b', 'CLAIM 50 COUNT 1', 's t > >')).toEqual(['1-0 50 1', '1-0 0 0']);
  expect(await read('a', 'CLAIM 50', 's 0')).toEqual(['2-0', '3-0']);
});

test('what is gone from the stream is pending no more', async () => {
  const { partition, read, call } = await open();
  await read('a', '');
  await call('XDEL s 1-0');
  partition.nowMs += 50;
  expect(await read('b', 'CLAIM 50')).toEqual(['2-0 50 1', '3-0 50 1']);
  expect((await call('XPENDING s g')).split('\n')[1]).toBe('  (integer) 2');
});

test('thousands that are idle are given in parts, the longest idle of all first', async () => {
  const { partition, read, call } = await open();
  const count = 17_000;
  const body = `for at = 0, ${count - 1} do redis.call('XADD', 's', '9-' .. at, 'f', 'v') end`;
  await partition.call('EVAL', body, '0');
  await read('a', '');
  await call(`XCLAIM s g a 0 9-${count - 1} IDLE 5000 JUSTID`);
  partition.nowMs += 100;
  const first = await read('b', 'CLAIM 100');
  expect([first.length, first[0], first[1]]).toEqual([8_192, `9-${count - 1} 5100 1`, '1-0 100 1']);
  expect((await read('b', 'CLAIM 100')).length).toBe(8_192);
  expect((await read('b', 'CLAIM 100')).length).toBe(count + 3 - 2 * 8_192);
});

test.each([
  ['CLAIM x', 'ERR min-idle-time is not an integer or out of range'],
  ['CLAIM -0', 'ERR min-idle-time is not an integer or out of range'],
  ['CLAIM 10 CLAIM COUNT 1', 'ERR min-idle-time is not an integer or out of range'],
  ['CLAIM -1', 'ERR min-idle-time must be a positive integer'],
])('%s is refused', async (options, told) => {
  const { call } = await open();
  expect(await call(`XREADGROUP GROUP g a ${options} STREAMS s >`)).toBe(`(error) ${told}`);
});

test('XREAD has no such option', async () => {
  const { call } = await open();
  expect(await call('XREAD CLAIM 1 STREAMS s 0')).toBe(
    '(error) ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.',
  );
});
