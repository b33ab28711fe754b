/** Counts of streams at their end: what no request may make of a partition. */
import { expect, test } from 'vitest';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

async function open() {
  const partition = await LonePartition.open();
  const call = async (...line: string[]) => replyText(await partition.call(...line));
  return { call };
}

const FAR = '9223372036854775807';

test('a count of entries added that has reached its end stays there', async () => {
  const { call } = await open();
  await call('XADD', 's', '1-1', 'a', 'b');
  expect(await call('XSETID', 's', '1-1', 'ENTRIESADDED', FAR)).toBe('OK');
  expect(await call('XADD', 's', '2-1', 'a', 'b')).toBe('"2-1"');
  expect(await call('XLEN', 's')).toBe('(integer) 2');
  expect(await call('XINFO', 'STREAM', 's')).toContain('9007199254740991');
});

test('so does what a group has read', async () => {
  const { call } = await open();
  await call('XADD', 's', '1-1', 'a', 'b');
  expect(await call('XGROUP', 'CREATE', 's', 'g', '0', 'ENTRIESREAD', FAR)).toBe('OK');
  const read = await call('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 's', '>');
  expect(read).toContain('"1-1"');
  expect(await call('XPENDING', 's', 'g')).toContain('(integer) 1');
});

test.each([
  ['RETRYCOUNT', FAR],
  ['RETRYCOUNT', '0'],
  ['IDLE', FAR],
  ['IDLE', '-9223372036854775808'],
  ['TIME', FAR],
  ['TIME', '-9223372036854775808'],
])('an entry that is claimed with %s %s can be given again', async (...option) => {
  const { call } = await open();
  await call('XADD', 's', '1-1', 'a', 'b');
  await call('XGROUP', 'CREATE', 's', 'g', '0');
  await call('XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 's', '>');
  expect(await call('XCLAIM', 's', 'g', 'd', '0', '1-1', ...option)).toContain('"1-1"');
  expect(await call('XREADGROUP', 'GROUP', 'g', 'd', 'STREAMS', 's', '0')).toContain('"1-1"');
  expect(await call('XPENDING', 's', 'g', '-', '+', '9')).toContain('"1-1"');
  expect(await call('XCLAIM', 's', 'g', 'c', '0', '1-1')).toContain('"1-1"');
  expect(await call('XAUTOCLAIM', 's', 'g', 'e', '0', '-')).toContain('"1-1"');
});
