import { expect, test } from 'vitest';
import { faultOf, KvorumError } from '../../src/common/errors.ts';
import type { LogFields } from '../../src/common/log.ts';
import { StoppedReplicas, stoppedReplicaFields } from '../../src/datanode/stopped-replica.ts';

const place = { namespace: 'default', partition: 3 };

test('of what nobody foresaw the log has the stack of its origin, and a remedy', () => {
  const cause = new TypeError('x is not a function');
  const fields = stoppedReplicaFields(place, 7, faultOf(cause, 'replica 7'));
  expect(fields).toMatchObject({ ...place, replica: 7, code: 'INTERNAL' });
  expect(fields['error']).toBe('replica 7: x is not a function');
  expect(fields['stack']).toBe(cause.stack);
  expect(fields['remedy']).toContain('restarted');
  const own = new KvorumError('INTERNAL', 'a state that is none');
  expect(stoppedReplicaFields(place, 7, own)['stack']).toBe(own.stack);
  const bare = stoppedReplicaFields(place, 7, faultOf('a word', 'replica 7'));
  expect(bare['stack']).toContain('a word');
});

test('of a full disk it says what to do, and of damage the text itself says it', () => {
  const full = stoppedReplicaFields(place, 7, new KvorumError('DISK_FAILED', 'no room'));
  expect(full).toMatchObject({ code: 'DISK_FAILED', remedy: expect.stringContaining('make room') });
  expect(full).not.toHaveProperty('stack');
  const grown = new KvorumError('DISK_FAILED', 'x: File too large');
  expect(stoppedReplicaFields(place, 7, grown)['remedy']).toMatch(
    /ulimit -f.*opened again by itself/,
  );
  const damaged = stoppedReplicaFields(place, 7, new KvorumError('CORRUPT', 'a bit flipped'));
  expect(damaged).toEqual({ ...place, replica: 7, code: 'CORRUPT', error: 'a bit flipped' });
});

test('of a replica that the disk stops again and again it tells once a minute', () => {
  const lines: LogFields[] = [];
  let nowMs = 0;
  const stopped = new StoppedReplicas(
    { monotonicMs: () => nowMs },
    { error: (_text, fields = {}) => void lines.push(fields) },
  );
  const full = new KvorumError('DISK_FAILED', 'no room');
  for (; nowMs < 120_000; nowMs += 2_000) {
    for (const replica of [7, 8]) stopped.tell(place, replica, full);
  }
  expect(lines.map((fields) => [fields['replica'], fields['again']])).toEqual([
    [7, undefined],
    [8, undefined],
    [7, 29],
    [8, 29],
  ]);
  // damage ends it for good
  stopped.tell(place, 7, new KvorumError('CORRUPT', 'a bit flipped'));
  expect(lines.at(-1)).toMatchObject({ replica: 7, code: 'CORRUPT', again: 29 });
});
