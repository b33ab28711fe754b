import { expect, test } from 'vitest';
import { commandOf } from '../../../src/cli/import/part-commands.ts';
import type { RdbPart } from '../../../src/cli/import/rdb/rdb-events.ts';

const key = Buffer.from('k');
const id = Buffer.from('0000000000000005ffffffffffffffff', 'hex');
const some = Buffer.from('some');
const group = Buffer.from('g');

test.each([
  [{ kind: 'element', element: some }, ['RPUSH k some']],
  [{ kind: 'member', member: some, score: -0 }, ['ZADD k -0 some']],
  [{ kind: 'member', member: some, score: Number.NEGATIVE_INFINITY }, ['ZADD k -inf some']],
  [{ kind: 'member', member: some, score: 1e300 }, ['ZADD k 1e+300 some']],
  [{ kind: 'field', field: some, value: group, deadlineMs: 0 }, ['HSET k some g']],
  [
    { kind: 'field', field: some, value: group, deadlineMs: 9 },
    ['HSET k some g', 'HPEXPIREAT k 9 FIELDS 1 some'],
  ],
  [{ kind: 'entry', id, fields: [some, group] }, ['XADD k 5-18446744073709551615 some g']],
  [
    { kind: 'ends', lastId: id, maxDeletedId: id, entriesAdded: 7 },
    ['XSETID k 5-18446744073709551615 ENTRIESADDED 7 MAXDELETEDID 5-18446744073709551615'],
  ],
  [
    { kind: 'group', name: group, lastId: id, entriesRead: 3 },
    ['XGROUP CREATE k g 5-18446744073709551615 ENTRIESREAD 3'],
  ],
  [
    { kind: 'pending', group, consumer: some, id, deliveredMs: 8, deliveries: 2 },
    ['XCLAIM k g some 0 5-18446744073709551615 TIME 8 RETRYCOUNT 2 FORCE JUSTID'],
  ],
] satisfies readonly (readonly [RdbPart, readonly string[]])[])('%j', (part, lines) => {
  expect(commandOf(key, part).lines.map((line) => line.join(' '))).toEqual(lines);
});

test('elements of a set are no list’s', () => {
  expect(commandOf(key, { kind: 'element', element: some }, true).lines[0]?.[0]).toBe('SADD');
});
