/** What a client is told of a command over several partitions when not all of them answered plainly. */
import { expect, test } from 'vitest';
import type { FanOut } from '../../../src/datanode/commands/command.ts';
import { DONE } from '../../../src/datanode/commands/kept-reply.ts';
import { error, integer, OK, type Reply } from '../../../src/datanode/resp/reply.ts';
import { mergeReplies } from '../../../src/datanode/server/fan-out.ts';
import type { Fate } from '../../../src/datanode/server/lane.ts';

const DOWN = error('CLUSTERDOWN nothing happened');
const UNKNOWN = error('UNKNOWNOUTCOME nobody can tell');

/** Of keys a, b, … in as many partitions, by what their parts answered. */
function merged(merge: FanOut['merge'], ...parts: readonly [reply: Reply, fate: Fate][]): Reply {
  const step = merge === 'ok' ? 2 : 1;
  const answers = parts.map(([reply, fate], partition) => {
    const words = ['COMMAND', 'abcd'[partition]!, ...(step === 2 ? ['v'] : [])];
    const part = { partition, line: words.map((word) => Buffer.from(word)), keyAt: [partition] };
    return { part, reply, fate };
  });
  return mergeReplies(merge, answers, { first: 1, last: -1, step }, () => 0);
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
    /^CLUSTERDOWN .*: done for 'a' 'c'; not done for 'b'; unknown for none$/,
  );
  expect(text(merged('sum', [DONE, 'done'], [DOWN, 'not-proposed'], [UNKNOWN, 'unknown']))).toMatch(
    /^PARTIALOUTCOME .*: done for 'a'; not done for 'b'; unknown for 'c'$/,
  );
});

test('a count of which a part was lost is told as done, not as a number', () => {
  expect(merged('sum', [integer(1), 'done'], [DONE, 'done'])).toEqual(DONE);
});

test('what no part has carried out is told as the parts were', () => {
  expect(merged('ok', [DOWN, 'not-proposed'], [DOWN, 'not-proposed'])).toEqual(DOWN);
  const wrong = error('WRONGTYPE Operation against a key holding the wrong kind of value');
  expect(merged('sum', [wrong, 'done'], [wrong, 'done'])).toEqual(wrong);
});
