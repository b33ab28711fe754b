/** LPOP, RPOP and LMPOP of most of a long list. */
import { expect, test } from 'vitest';
import { LonePartition } from '../lone-partition.ts';
import { replyText } from '../reply-text.ts';

const SIZE = 20_000;

async function scene() {
  const partition = await LonePartition.open();
  const all = Array.from({ length: SIZE }, (_, at) => `m${at}`);
  await partition.call('RPUSH', 'l', ...all);
  await partition.call('PEXPIREAT', 'l', '1800000000000');
  let changes = 0;
  const write = partition.engine.write.bind(partition.engine);
  partition.engine.write = (operations) => {
    changes = operations.length;
    return write(operations);
  };
  return { partition, all, changes: () => changes };
}

test.each([
  ['LPOP l 19500', 19_500, SIZE],
  ['RPOP l 19500', 0, 500],
  ['LPOP l 100000', 0, 0],
  ['RPOP l 9000', 0, 11_000],
])('%s gives them in order, and the others stay', async (line, from, to) => {
  const { partition, all, changes } = await scene();
  const call = async (text: string) => replyText(await partition.call(...text.split(' ')));
  const members = async (text: string) => (await call(text)).match(/m\d+/g) ?? [];
  const popped = await members(line);
  const left = all.slice(from, to);
  const gone = [...all.slice(0, from), ...all.slice(to)];
  expect(popped).toEqual(line.startsWith('R') ? gone.reverse() : gone);
  expect(changes()).toBeLessThan(Math.min(left.length, popped.length) + 20);
  expect(await members('LRANGE l 0 -1')).toEqual(left);
  expect(await call('LLEN l')).toBe(`(integer) ${left.length}`);
  expect(partition.events.filter(({ event }) => event === 'del')).toHaveLength(
    left.length === 0 ? 1 : 0,
  );
  if (left.length === 0) return;
  expect(await call('PEXPIRETIME l')).toBe('(integer) 1800000000000');
  expect(await call('LPUSH l head')).toBe(`(integer) ${left.length + 1}`);
  expect(await call('LINDEX l 1')).toBe(`"${left[0]}"`);
  expect(await call('LPOP l 3')).toContain(`"${left[1]}"`);
});
