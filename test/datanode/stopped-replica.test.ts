import { expect, test } from 'vitest';
import { faultOf, KvorumError } from '../../src/common/errors.ts';
import { stoppedReplicaFields } from '../../src/datanode/stopped-replica.ts';

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
  const damaged = stoppedReplicaFields(place, 7, new KvorumError('CORRUPT', 'a bit flipped'));
  expect(damaged).toEqual({ ...place, replica: 7, code: 'CORRUPT', error: 'a bit flipped' });
});
