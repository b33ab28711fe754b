/**
 * The frozen formats: what these vectors say is on people's disks. They are printed in
 * ARCHITECTURE.md, which must show exactly them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeGarbageKey } from '../../../../src/datanode/encoding/keyspace/garbage.ts';
import { encodeShape, newShape } from '../../../../src/datanode/encoding/lists/list.ts';
import {
  encodeCounts,
  encodeShape as encodeNodeShape,
} from '../../../../src/datanode/encoding/ranks/rank-node.ts';
import {
  encodeBlockKey,
  encodeDueKey,
  encodeListKey,
  encodeMemberKey,
  encodeScoreKey,
  LIST_ORIGIN,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { encodeHashExtra } from '../../../../src/datanode/encoding/records/hash-header.ts';
import {
  encodeCollection,
  encodeHeader,
} from '../../../../src/datanode/encoding/records/header.ts';
import { encodeExpiryKey, encodeKey } from '../../../../src/datanode/encoding/records/key.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { encodeStreamExtra } from '../../../../src/datanode/encoding/records/stream-header.ts';
import { streamIdAt } from '../../../../src/datanode/encoding/records/stream-id.ts';
import {
  encodeConsumerKey,
  encodeConsumerNameKey,
  encodeConsumerPendingKey,
  encodeEntryKey,
  encodeGroupKey,
  encodePendingKey,
} from '../../../../src/datanode/encoding/records/stream-key.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import {
  encodeServedKey,
  encodeServedOrderKey,
} from '../../../../src/datanode/encoding/sessions/served.ts';
import {
  encodeSessionKey,
  encodeSessionReplyKey,
} from '../../../../src/datanode/encoding/sessions/sessions.ts';

import {
  encodeConsumer,
  encodeConsumerName,
} from '../../../../src/datanode/encoding/streams/stream-consumer.ts';
import { encodeEntry } from '../../../../src/datanode/encoding/streams/stream-entry.ts';
import { encodeGroup } from '../../../../src/datanode/encoding/streams/stream-group.ts';
import { encodePending } from '../../../../src/datanode/encoding/streams/stream-pending.ts';

const place = { slot: 12_182, version: { index: 5, ordinal: 1 } };
const foo = Buffer.from('foo');
const member = Buffer.from('m');
const origin = { whole: LIST_ORIGIN, fraction: Buffer.alloc(0) };

const id = streamIdAt(1_700_000_000_000, 7);

const node = {
  id: 0,
  level: 0,
  nextNode: 1,
  entries: [
    { child: 0, bound: Buffer.alloc(0), count: 512 },
    { child: 0, bound: Buffer.from([0xbf, 0xf8]), count: 513 },
  ],
  shapeChanged: false,
  countsChanged: false,
};

const vectors: readonly (readonly [string, Buffer])[] = [
  ['system key `state`', STATE_KEY],
  ['what the client `id` was given', encodeServedKey(Buffer.from('id'))],
  ['the same as the 5th that was', encodeServedOrderKey(5)],
  ['session `session-1`', encodeSessionKey(Buffer.from('session-1'))],
  ['reply of its 7th command, when it is number 5', encodeSessionReplyKey(5, 7)],
  ['key record of `foo`', encodeKey(foo)],
  ['expiry of `foo` at 1700000000000', encodeExpiryKey(1_700_000_000_000, foo)],
  [
    'expiry of fields of `foo` at 1700000000000',
    encodeExpiryKey(1_700_000_000_000, foo, tags.fieldExpiry),
  ],
  ['hash field `m` of version 5.1', encodeMemberKey(tags.hashField, place, member)],
  ['field `m` of it due at 1700000000000', encodeDueKey(place, 1_700_000_000_000, member)],
  ['list element at the origin', encodeListKey(place, origin)],
  [
    'list element inserted after it',
    encodeListKey(place, { ...origin, fraction: Buffer.from([128]) }),
  ],
  ['set member `m`', encodeMemberKey(tags.setMember, place, member)],
  ['sorted set member `m`', encodeMemberKey(tags.zsetMember, place, member)],
  ['score −∞ of `m`', encodeScoreKey(place, Number.NEGATIVE_INFINITY, member)],
  ['score −1.5 of `m`', encodeScoreKey(place, -1.5, member)],
  ['score 0 of `m`', encodeScoreKey(place, 0, member)],
  ['score 1.5 of `m`', encodeScoreKey(place, 1.5, member)],
  ['score +∞ of `m`', encodeScoreKey(place, Number.POSITIVE_INFINITY, member)],
  ['shape of the root of counted scores', encodeBlockKey(place, 0, 0)],
  ['the same with two blocks, the second from score 1.5 on', encodeNodeShape(node)],
  ['counts of its blocks, 512 and 513', encodeCounts(node)],
  ['stream entry 1700000000000-7', encodeEntryKey(place, id)],
  ['the same with field `m` = `foo`', encodeEntry([member, foo])],
  ['consumer group `m`', encodeGroupKey(place, member)],
  [
    'the same as number 3, which has read all 9 entries up to there and has 2 pending',
    encodeGroup({
      number: 3,
      lastId: id,
      earliestId: id,
      furthestId: id,
      entriesRead: 9,
      pending: 2,
      consumers: 1,
      nextConsumer: 5,
    }),
  ],
  ['consumer `m` of it', encodeConsumerKey(place, 3, member)],
  [
    'the same as number 4, seen and active at 1700000000000, with 2 pending',
    encodeConsumer({
      number: 4,
      seenMs: 1_700_000_000_000,
      activeMs: 1_700_000_000_000,
      pending: 2,
    }),
  ],
  ['where its name is', encodeConsumerNameKey(place, 3, 4)],
  ['its name', encodeConsumerName(member)],
  ['the entry, pending in the group', encodePendingKey(place, 3, id)],
  [
    'the same, given to consumer 4 for the first time at 1700000000000',
    encodePending({ consumer: 4, deliveredMs: 1_700_000_000_000, deliveries: 1 }),
  ],
  ['the entry among those pending for the consumer', encodeConsumerPendingKey(place, 3, 4, id)],
  ['garbage that a hash of version 5.1 left', encodeGarbageKey({ ...place, type: 2 })],
  [
    'header of the string `bar`',
    encodeHeader({ type: 'string', deadlineMs: 0, origin: 'set', body: Buffer.from('bar') }),
  ],
  [
    'the same with a deadline',
    encodeHeader({
      type: 'string',
      deadlineMs: 1_700_000_000_000,
      origin: 'set',
      body: Buffer.from('bar'),
    }),
  ],
  [
    'header of a hash of 2 fields',
    encodeHeader({
      type: 'hash',
      deadlineMs: 0,
      origin: 'set',
      body: encodeCollection({ version: place.version, size: 2, extra: Buffer.alloc(0) }),
    }),
  ],
  [
    'what a list of 3 elements from the origin on adds to its header',
    encodeShape({ ...newShape(), tail: LIST_ORIGIN + 2, listpackBytes: 9 }),
  ],
  [
    'the same, sparse and a quicklist',
    encodeShape({
      sparse: true,
      quicklist: true,
      head: LIST_ORIGIN,
      tail: LIST_ORIGIN + 2,
      listpackBytes: 9,
    }),
  ],
  [
    'what a small hash adds to its header',
    encodeHashExtra({ encoding: 'listpack', dueMs: 0, untilMs: 0, expiring: 0 }),
  ],
  [
    'a large one with 2 fields due at 1700000000000 and a millisecond later',
    encodeHashExtra({
      encoding: 'hashtable',
      dueMs: 1_700_000_000_000,
      untilMs: 1_700_000_000_001,
      expiring: 2,
    }),
  ],
  [
    'what a stream from that entry to 1700000000001-0 with one group adds to its header',
    encodeStreamExtra({
      lastId: streamIdAt(1_700_000_000_001),
      firstId: id,
      maxDeletedId: streamIdAt(0),
      entriesAdded: 2,
      groups: 1,
      nextGroup: 4,
    }),
  ],
  [
    'record of `foo` = `bar` with its CRC-32',
    sealRecord(
      encodeKey(foo),
      encodeHeader({ type: 'string', deadlineMs: 0, origin: 'set', body: Buffer.from('bar') }),
    ),
  ],
];

const hex = (bytes: Buffer) => bytes.toString('hex').replace(/(..)(?=.)/g, '$1 ');

test('the formats are the documented ones', () => {
  const documented = readFileSync(join(import.meta.dirname, '../../../../ARCHITECTURE.md'), 'utf8');
  const lines = vectors.map(([name, bytes]) => `| ${name} | \`${hex(bytes)}\` |`);
  expect(lines.filter((line) => !documented.includes(line)).join('\n')).toBe('');
});
