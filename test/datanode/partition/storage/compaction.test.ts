import { expect, test } from 'vitest';
import { compactionTarget } from '../../../../src/datanode/partition/storage/compaction.ts';
import type { ProgressStatus } from '../../../../src/datanode/raft/ready.ts';

const keep = { logKeepEntries: 100, logKeepBytes: 1_000_000, logHeldBytes: 256 * 1_048_576 };
const MIB = 1_048_576;

const peer = (of: Partial<ProgressStatus>): ProgressStatus => ({
  replica: 2,
  state: 'replicate',
  match: 1_000,
  next: 1_001,
  learner: false,
  recentActive: true,
  heardLately: true,
  paused: false,
  pendingSnapshot: 0,
  inflight: 0,
  inflightFull: false,
  ...of,
});

const needs = (peers: ProgressStatus[], snapshotIndex?: number) => ({ peers, snapshotIndex });

test('a tail is kept by count', () => {
  const size = { first: 1, last: 1_000, bytes: 1_000 };
  expect(compactionTarget(size, 1_000, keep, needs([]))).toBe(900);
});

test('a tail is kept by bytes when entries are large', () => {
  const size = { first: 1, last: 1_000, bytes: 1_000 * 100_000 };
  expect(compactionTarget(size, 1_000, keep, needs([]))).toBe(990);
});

test('never beyond what the engine has synced', () => {
  const size = { first: 1, last: 1_000, bytes: 1_000 };
  expect(compactionTarget(size, 500, keep, needs([]))).toBe(500);
  expect(compactionTarget(size, 0, keep, needs([]))).toBeUndefined();
});

test('nothing happens for a few entries', () => {
  expect(
    compactionTarget({ first: 1, last: 105, bytes: 105 }, 105, keep, needs([])),
  ).toBeUndefined();
  expect(compactionTarget({ first: 1, last: 0, bytes: 0 }, 0, keep, needs([]))).toBeUndefined();
});

test('what an active follower is being sent stays, up to a bound', () => {
  const size = { first: 1, last: 1_000, bytes: 1_000 };
  expect(compactionTarget(size, 1_000, keep, needs([peer({ match: 300 })]))).toBe(300);
  expect(
    compactionTarget(size, 1_000, keep, needs([peer({ match: 300, heardLately: false })])),
  ).toBe(900);
  const snapshot = peer({ state: 'snapshot', match: 0, pendingSnapshot: 400 });
  expect(compactionTarget(size, 1_000, keep, needs([snapshot]))).toBe(400);
  const silent = { ...snapshot, heardLately: false };
  expect(compactionTarget(size, 1_000, keep, needs([silent]))).toBe(400);
  const betweenChecks = peer({ match: 300, recentActive: false });
  expect(compactionTarget(size, 1_000, keep, needs([betweenChecks]))).toBe(300);
  const took = peer({ state: 'probe', match: 0, next: 401 });
  expect(compactionTarget(size, 1_000, keep, needs([took]))).toBe(400);
  const cut = { first: 500, last: 1_000, bytes: 1_000 };
  expect(compactionTarget(cut, 1_000, keep, needs([took]))).toBe(900);
  expect(compactionTarget(size, 1_000, keep, needs([], 350))).toBe(350);
  const huge = { first: 1, last: 1_000, bytes: 300 * MIB };
  expect(compactionTarget(huge, 1_000, keep, needs([snapshot]))).toBe(997);
  const short = { ...keep, logHeldBytes: 1_000 };
  expect(compactionTarget(size, 1_000, short, needs([snapshot], 350))).toBe(900);
  expect(compactionTarget({ ...size, bytes: 999 }, 1_000, short, needs([snapshot]))).toBe(400);
});
