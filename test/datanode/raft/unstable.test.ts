/** The tail of a log: what storage says that it holds may have been replaced in the tail meanwhile. */
import { expect, test } from 'vitest';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { Entry, Snapshot } from '../../../src/datanode/raft/message.ts';
import { Unstable } from '../../../src/datanode/raft/unstable.ts';

const NO_DATA = new Uint8Array(0);

function entries(from: number, to: number, term: number): Entry[] {
  return Array.from({ length: to - from + 1 }, (_, at) => ({
    ...{ index: from + at, term, kind: 'normal', data: NO_DATA },
  }));
}

/** Entries 5 to 7, handed to storage. */
function tail(traced: string[] = []) {
  const unstable = new Unstable(5, ({ event }) => traced.push(event));
  unstable.truncateAndAppend(entries(5, 7, 2));
  unstable.acceptHandedOut();
  return unstable;
}

const indexesOf = (unstable: Unstable) =>
  unstable.slice(unstable.offset, unstable.offset + unstable.length, 1e6).map(({ index }) => index);

test('what storage holds leaves the tail, up to the entry that it names', () => {
  const unstable = tail();
  unstable.stableTo(6, 2);
  expect([unstable.offset, unstable.handedOut, indexesOf(unstable)]).toEqual([7, 8, [7]]);
  unstable.stableTo(7, 2);
  expect([unstable.offset, unstable.length, unstable.lastIndex()]).toEqual([8, 0, undefined]);
});

test('an entry of another term at that index is not what storage holds: all stay', () => {
  const traced: string[] = [];
  const unstable = tail(traced);
  unstable.truncateAndAppend(entries(6, 7, 3));
  for (const index of [7, 6]) unstable.stableTo(index, 2);
  expect([unstable.offset, indexesOf(unstable)]).toEqual([5, [5, 6, 7]]);
  expect(unstable.nextEntries().map(({ index, term }) => [index, term])).toEqual([
    [6, 3],
    [7, 3],
  ]);
  expect(traced).toEqual(['tailTruncated', 'stableMismatch', 'stableMismatch']);
  unstable.stableTo(5, 2);
  expect(indexesOf(unstable)).toEqual([6, 7]);
});

test('neither is an index that is not here any more, nor that of the snapshot', () => {
  const traced: string[] = [];
  const unstable = tail(traced);
  unstable.stableTo(9, 2);
  const snapshot: Snapshot = { index: 9, term: 3, confState: EMPTY_CONF, data: NO_DATA };
  unstable.restore(snapshot);
  unstable.stableTo(7, 2);
  unstable.stableTo(9, 3);
  expect([unstable.snapshot, unstable.offset]).toEqual([snapshot, 10]);
  expect(traced).toEqual(['stableMissing', 'stableMissing', 'stableIsSnapshot']);
});
