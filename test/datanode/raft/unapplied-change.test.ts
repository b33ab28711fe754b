/** Who campaigns knows of each membership change that is committed and not applied; looked for once. */
import { expect, test } from 'vitest';
import { RaftLog } from '../../../src/datanode/raft/log.ts';
import type { Entry } from '../../../src/datanode/raft/message.ts';
import type { RaftStorage } from '../../../src/datanode/raft/storage.ts';

const COUNT = 40;
const CHANGES = [11, 12, 30];

function scene() {
  const read: number[] = [];
  const entryAt = (index: number): Entry => ({
    ...{ term: 1, index, data: Buffer.alloc(100_000) },
    kind: CHANGES.includes(index) ? 'confChange' : 'normal',
  });
  const storage = {
    firstIndex: () => 1,
    lastIndex: () => COUNT,
    term: () => 1,
    entries: (from: number, to: number) => {
      const entries = Array.from({ length: to - from }, (_, at) => entryAt(from + at));
      read.push(entries.length);
      return entries;
    },
  };
  const log = new RaftLog(storage as unknown as RaftStorage, 1e9, undefined);
  return { log, read };
}

test('is found while it is not applied, and the next one after it', () => {
  const { log } = scene();
  log.commitTo(10);
  expect(log.hasUnappliedConfChange()).toBe(false);
  const seen: boolean[] = [];
  log.commitTo(COUNT);
  for (let applied = 0; applied <= COUNT; applied++) {
    if (applied > 0) log.appliedTo(applied, 0);
    seen.push(log.hasUnappliedConfChange());
  }
  expect(seen).toEqual(Array.from({ length: COUNT + 1 }, (_, applied) => applied < 30));
});

test('no entry that is committed is looked at twice', () => {
  const { log, read } = scene();
  log.commitTo(10);
  for (let campaign = 0; campaign < 5; campaign++) log.hasUnappliedConfChange();
  expect(read).toHaveLength(1);
  log.commitTo(COUNT);
  for (let campaign = 0; campaign < 5; campaign++) log.hasUnappliedConfChange();
  expect(read).toHaveLength(2);
});
