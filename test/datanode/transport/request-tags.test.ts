import { expect, test } from 'vitest';
import { requestTags } from '../../../src/datanode/transport/request-tags.ts';

/** Forwarded batches begin with their version, which has this far to grow. */
const VERSIONS_MAX = 0x3f;

test('no two requests between nodes begin alike, and none as a forwarded batch does', () => {
  const tags = Object.values(requestTags);
  expect(new Set(tags).size).toBe(tags.length);
  expect(tags.filter((tag) => tag <= VERSIONS_MAX || tag > 0xff)).toEqual([]);
});

test('their numbers are frozen', () => {
  expect(requestTags).toEqual({
    backup: 0x42,
    changes: 0x43,
    fate: 0x46,
    leader: 0x48,
    farewell: 0x4c,
    snapshotProgress: 0x52,
    standing: 0x53,
    wait: 0x57,
    sleepers: 0x5a,
  });
});
