/** What a client is told of a command over several partitions when not all of them answered plainly. */
import { describe, expect, test } from 'vitest';
import type { FanOut } from '../../../src/datanode/commands/rows/command.ts';
import { DIFFERS } from '../../../src/datanode/commands/rows/settled.ts';
import { DONE } from '../../../src/datanode/commands/sessions/kept-reply.ts';
import { array, bulk, error, integer, OK, type Reply } from '../../../src/datanode/resp/reply.ts';
import { mergeReplies } from '../../../src/datanode/server/fan-out.ts';
import type { Fate } from '../../../src/datanode/server/lane.ts';

const DOWN = error('CLUSTERDOWN nothing happened');
const UNKNOWN = error('UNKNOWNOUTCOME nobody can tell');

type Parts = readonly [reply: Reply, fate: Fate][];
type Merge = FanOut['merge'];

/** Of keys a, b, … in as many partitions, by what their parts answered. */
function merged(merge: Merge, ...parts: Parts): Reply {
  return mergedOf('write', merge, parts);
}

function mergedOf(kind: 'read' | 'write', merge: Merge, parts: Parts, first = 1): Reply {
  const step = merge === 'ok' ? 2 : 1;
  const answers = parts.map(([reply, fate], partition) => {
    const words = ['COMMAND', 'abcd'[partition]!, ...(step === 2 ? ['v'] : [])];
    const part = { partition, line: words.map((word) => Buffer.from(word)), keyAt: [partition] };
    return { part, reply, fate };
  });
  const keys = { first, last: -1, step };
  return mergeReplies({ kind, keys, fanOut: { over: 'keys', merge } }, answers, () => 0);
}

const text = (reply: Reply) => (reply.kind === 'error' ? reply.text : reply.kind);
const encoded = (reply: Reply): Reply => ({
  kind: 'encoded',
  bytes: Buffer.from(reply.kind === 'error' ? `-${reply.text}\r\n` : '+OK\r\n'),
});

test('an MSET of which a part’s reply was lost is carried out, and answers OK', () => {
  expect(merged('ok', [OK, 'done'], [DONE, 'done'])).toEqual(OK);
  expect(merged('ok', [encoded(DONE), 'done'], [encoded(OK), 'done'])).toEqual(OK);
  expect(merged('ok', [DONE, 'done'], [DONE, 'done'])).toEqual(OK);
});

test('its keys are among those that are done when another part is not', () => {
  expect(text(merged('ok', [DONE, 'done'], [DOWN, 'not-proposed'], [OK, 'done']))).toMatch(
    /^PARTIALOUTCOME .*: done for 'a' 'c'; not done for 'b'; unknown for none$/,
  );
  expect(text(merged('sum', [DONE, 'done'], [DOWN, 'not-proposed'], [UNKNOWN, 'unknown']))).toMatch(
    /^PARTIALOUTCOME .*: done for 'a'; not done for 'b'; unknown for 'c'$/,
  );
});

test('a part of a write that was done never stands behind a word that asks for another try', () => {
  // go-redis and the SDK send a command again that was answered CLUSTERDOWN: the part would run twice
  const large = error('ERR it fits no entry of the log');
  for (const refusal of [DOWN, large, error('TRYAGAIN later'), error('LOADING')]) {
    expect(text(merged('sum', [integer(1), 'done'], [refusal, 'not-proposed']))).toMatch(
      /^PARTIALOUTCOME .*: done for 'a'; not done for 'b'; unknown for none$/,
    );
  }
});

test('of all keys, FLUSHALL, the partitions are named', () => {
  const parts: Parts = [
    [OK, 'done'],
    [DOWN, 'not-proposed'],
    [OK, 'done'],
  ];
  expect(text(mergedOf('write', 'ok', parts, 0))).toMatch(
    /^PARTIALOUTCOME .*: done for partition 0 2; not done for partition 1; unknown for none$/,
  );
  const lost: Parts = [
    [OK, 'done'],
    [UNKNOWN, 'unknown'],
  ];
  expect(mergedOf('write', 'ok', lost, 0)).toEqual(UNKNOWN);
});

test('a read of which a part was refused is answered as that part was: nothing has changed', () => {
  const parts: Parts = [
    [integer(1), 'done'],
    [DOWN, 'not-proposed'],
  ];
  expect(mergedOf('read', 'sum', parts)).toEqual(DOWN);
});

test('what is refused for good comes before what another try may bring', () => {
  const large = error('ERR it fits no entry of the log');
  for (const kind of ['read', 'write'] as const) {
    for (const down of [DOWN, error('ERR_CLUSTER_CHANGED: raft group not ready')]) {
      const parts: Parts = [
        [down, 'not-proposed'],
        [large, 'not-proposed'],
      ];
      expect(mergedOf(kind, 'sum', parts)).toEqual(large);
    }
  }
});

test('a count of which a part was lost is told as done, not as a number', () => {
  expect(merged('sum', [integer(1), 'done'], [DONE, 'done'])).toEqual(DONE);
});

test('what no part has carried out is told as the parts were', () => {
  expect(merged('ok', [DOWN, 'not-proposed'], [DOWN, 'not-proposed'])).toEqual(DOWN);
  const wrong = error('WRONGTYPE Operation against a key holding the wrong kind of value');
  expect(merged('sum', [wrong, 'done'], [wrong, 'done'])).toEqual(wrong);
});

test('what every partition has is what all of them say they have, item by item', () => {
  const flags = (...items: number[]): [Reply, Fate] => [
    array(items.map((at) => integer(at))),
    'done',
  ];
  const every = (...parts: Parts) => mergedOf('read', 'every', parts, 0);
  expect(every(flags(1, 1, 0, 0), flags(1, 0, 1, 0))).toEqual(flags(1, 0, 0, 0)[0]);
  expect(every(flags(1, 0))).toEqual(flags(1, 0)[0]);
  const bytes = Buffer.from('*2\r\n:1\r\n:1\r\n');
  expect(every([{ kind: 'encoded', bytes }, 'done'], flags(0, 1))).toEqual(flags(0, 1)[0]);
  expect(text(every(flags(1), [DOWN, 'not-proposed']))).toBe('CLUSTERDOWN nothing happened');
});

describe('a library is where it was asked for in all partitions, or the client is told', () => {
  const name: Reply = bulk('lib');
  const there = error("ERR Library 'lib' already exists");
  const other = error(`${there.kind === 'error' ? there.text : ''}${DIFFERS}`);
  const gone = error('ERR Library not found');

  test('one that was in some of them before is loaded now, and removed from the others', () => {
    expect(merged('settled', [there, 'done'], [name, 'done'])).toEqual(name);
    expect(merged('settled', [OK, 'done'], [encoded(gone), 'done'])).toEqual(OK);
  });

  test('one that was in all of them is refused as Redis does, whatever its code', () => {
    expect(merged('settled', [there, 'done'], [there, 'done'])).toEqual(there);
    expect(merged('settled', [there, 'done'], [other, 'done'])).toEqual(there);
    expect(merged('settled', [gone, 'done'], [gone, 'done'])).toEqual(gone);
  });

  test('with other code in some it is not loaded there', () => {
    expect(text(merged('settled', [name, 'done'], [other, 'done'], [there, 'done']))).toMatch(
      /^PARTIALOUTCOME .*: done for 'a' 'c'; not done for 'b'; unknown for none$/,
    );
  });

  test('where a partition has no leader nobody is told that it is there', () => {
    expect(merged('settled', [there, 'done'], [DOWN, 'not-proposed'])).toEqual(DOWN);
    expect(text(merged('settled', [there, 'done'], [UNKNOWN, 'unknown']))).toMatch(
      /^PARTIALOUTCOME .* unknown for 'b'$/,
    );
    expect(text(merged('settled', [name, 'done'], [DOWN, 'not-proposed']))).toMatch(
      /^PARTIALOUTCOME /,
    );
  });
});
