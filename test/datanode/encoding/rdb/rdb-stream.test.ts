import { expect, test } from 'vitest';
import { RdbError } from '../../../../src/datanode/encoding/rdb/rdb-reader.ts';
import { LonePartition } from '../../commands/lone-partition.ts';
import { replyText } from '../../commands/reply-text.ts';
import { decodeRdbValue, sealRdbPayload } from './at-once.ts';
import { length, listpack, stream, streamId, text, value } from './rdb-forms.ts';

function decoded(bytes: Buffer) {
  const found = decodeRdbValue(bytes);
  if (found.type !== 'stream') throw new Error(`a ${found.type}`);
  return found;
}

test.each([15, 19, 21] as const)('a stream of type %i', (type) => {
  const { entries, groups, ...rest } = decoded(stream(type));
  expect([...entries].map(({ id }) => id)).toEqual([streamId(5, 7), streamId(6, 3)]);
  expect(rest).toEqual({
    type: 'stream',
    lastId: streamId(6, 3),
    maxDeletedId: type === 15 ? streamId(0, 0) : streamId(5, 8),
    entriesAdded: type === 15 ? 2 : 3,
    longest: 8,
  });
  const [group] = groups;
  expect(group).toMatchObject({ lastId: streamId(5, 7), entriesRead: type === 15 ? 'untold' : 1 });
  const seenMs = 1_700_000_000_001;
  const activeMs = type === 21 ? seenMs + 1 : seenMs;
  const name = Buffer.from('consumer');
  expect([...group!.consumers]).toEqual([{ name, seenMs, activeMs, pending: 1 }]);
  const given = { consumer: 0, deliveredMs: 1_700_000_000_000, deliveries: 2 };
  expect([...group!.pending]).toEqual([{ id: streamId(5, 7), ...given }]);
});

test('its entries, groups and what is pending are there once it is restored', async () => {
  const partition = await LonePartition.open();
  await partition.call('RESTORE', 's', '0', sealRdbPayload([stream(15)]));
  expect(replyText(await partition.call('XRANGE', 's', '-', '+'))).toContain('6-3');
  expect(replyText(await partition.call('XPENDING', 's', 'group'))).toContain('consumer');
  expect(replyText(await partition.call('XACK', 's', 'group', '5-7'))).toContain('1');
  expect(replyText(await partition.call('XPENDING', 's', 'group'))).toContain('0');
});

const NONE = [length(0), length(0), length(0)];
/** A stream of one node with these elements, an entry 1-1 at its head. */
const nodeOf = (elements: string[], count = 1) =>
  value(
    15,
    ...[length(1), text(streamId(1, 1)), text(listpack(elements))],
    ...[length(count), length(9), length(9), length(0)],
  );
const good = ['1', '0', '1', 'f', '0', '2', '0', '0', 'v', '4'];
const changed = (at: number, to: string) => nodeOf(good.with(at, to));

test('a node as it should be', () => {
  expect(decoded(nodeOf(good)).entries.length).toBe(1);
  expect(decoded(value(15, length(0), ...NONE, length(0))).entries.length).toBe(0);
});

test.each([
  ['no entries', nodeOf(['0', '0', '1', 'f', '0'], 0)],
  ['another count of entries', changed(0, '2')],
  ['another count of those removed', changed(1, '1')],
  ['one that is removed and not counted so', changed(5, '3')],
  ['another count of fields', changed(2, '2')],
  ['no end of its fields', changed(4, '1')],
  ['unknown flags', changed(5, '6')],
  ['a distance that is no number', changed(6, 'x')],
  ['another count of elements', changed(9, '5')],
  ['an entry without fields', nodeOf(['1', '0', '0', '0', '2', '0', '0', '3'])],
  ['an ID before 0-1', nodeOf(good.with(6, '-1').with(7, '-1'))],
  ['an ID behind the last', changed(6, '9')],
  ['more than it says', nodeOf([...good, '1'])],
  ['another count in the stream', nodeOf(good, 2)],
])('a node with %s is refused', (_what, bytes) => {
  expect(() => decodeRdbValue(bytes)).toThrow(RdbError);
});

test('names that stand there once make no more than one request could carry', () => {
  const entries = Array.from({ length: 100 }, (_, at) => ['2', '0', String(at), 'v', '4']).flat();
  const elements = ['100', '0', '1', 'f'.repeat(1_000_000), '0', ...entries];
  expect(() => decodeRdbValue(nodeOf(elements, 100))).toThrow('bytes');
});
