import { expect, test } from 'vitest';
import { withoutEnd } from '../../src/common/without-end.ts';
import { decodeCursor } from '../../src/datanode/zan/cursor.ts';
import { cpuMsOfAll } from '../cpu-time.ts';
import { LonePartition } from '../datanode/commands/lone-partition.ts';

test.each([
  ['', ''],
  ['\n\r', ''],
  ['a\n', 'a'],
  ['a\r\n\n', 'a'],
  ['\na', '\na'],
  ['a\nb\n ', 'a\nb\n '],
])('%j without its line ends is %j', (text, left) => {
  expect(withoutEnd(text, '\r\n')).toBe(left);
  expect(text.replace(/[\r\n]+$/, '')).toBe(left);
});

test('a million such characters before another one are passed in one go', async () => {
  const partition = await LonePartition.open();
  const cpuMs = await cpuMsOfAll(async () => {
    const reply = await partition.call('EXPIRE', 'k', '1', `${'\n'.repeat(1_000_000)}x`);
    expect(reply).toMatchObject({ kind: 'error' });
    const cursor = Buffer.from(`${';'.repeat(1_000_000)}x`).toString('base64');
    expect(decodeCursor(Buffer.from(cursor), 16, 1_000_000)).toBeUndefined();
  });
  expect(cpuMs).toBeLessThan(2_000);
});
