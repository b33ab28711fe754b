/**
 * Which snapshot a follower takes: none of what its log holds. And which it waits for storage with: the
 * very one that came, until it is there.
 */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import { encodeConfChange } from '../../../src/datanode/raft/conf-change-codec.ts';
import type { Entry } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import { memoryStorage } from './memory-storage.ts';

const snapshotAt = (index: number) => ({
  ...{ index, term: 2, data: new Uint8Array(0) },
  confState: { ...EMPTY_CONF, voters: [1, 2] },
});

function follower(entries: readonly Entry[] = []) {
  const storage = memoryStorage(snapshotAt(10));
  storage.append(entries);
  storage.setHardState({ term: 3, vote: 0, commit: 10 });
  return createRaftNode({
    ...{ id: 1, storage, random: seededRandom(1), applied: 10 },
    ...{ electionTicks: 10, heartbeatTicks: 1, asyncStorageWrites: false, preVote: false },
    ...{ checkQuorum: true, stepDownOnRemoval: true, disableProposalForwarding: true },
    ...{ disableConfChangeValidation: false, messageBytesMax: 1e6, committedBytesMax: 1e6 },
    ...{ uncommittedBytesMax: 1e6, inflightMessagesMax: 1e3, inflightBytesMax: 1e6 },
  });
}

test('a snapshot that is accepted is named until it is in storage', () => {
  const node = follower();
  const stepped = (index: number) => {
    const snapshot = snapshotAt(index);
    node.step({ type: 'snapshot', from: 2, to: 1, term: 3, snapshot });
    return snapshot;
  };
  stepped(10);
  expect(node.pendingSnapshot).toBeUndefined();
  const accepted = stepped(20);
  expect(node.pendingSnapshot).toBe(accepted);
  stepped(20); // once more, as a sender does that has not heard of the first
  expect(node.pendingSnapshot).toBe(accepted);
  expect(node.ready().snapshot).toBe(accepted);
  expect(node.pendingSnapshot).toBe(accepted);
  node.advance();
  expect(node.pendingSnapshot).toBeUndefined();
});

test('a snapshot of entries that are in the log takes none away that was acknowledged', () => {
  const entries = [11, 12, 13].map((index): Entry => {
    return { term: 2, index, kind: 'normal', data: new Uint8Array(0) };
  });
  const node = follower(entries);
  node.step({ type: 'snapshot', from: 2, to: 1, term: 3, snapshot: snapshotAt(12) });
  expect(node.pendingSnapshot).toBeUndefined();
  expect([node.lastIndex, node.committed]).toEqual([13, 12]);
  const { messages } = node.ready();
  expect(messages).toMatchObject([{ type: 'appendResponse', reject: false, index: 12 }]);
  node.advance();
  // one of another history does
  const other = { ...snapshotAt(13), term: 3 };
  node.step({ type: 'snapshot', from: 2, to: 1, term: 3, snapshot: other });
  expect(node.pendingSnapshot).toBe(other);
});

test('a change of members that is applied before it counts from the members of then', () => {
  const data = new Uint8Array(0);
  const steps = [{ kind: 'addLearner', replica: 3 }] as const;
  const change = { transition: 'auto', steps, context: data } as const;
  const bytes = encodeConfChange(change);
  const node = follower([{ term: 2, index: 11, kind: 'confChangeV2', data: bytes }]);
  node.step({
    type: 'append',
    from: 2,
    to: 1,
    term: 3,
    index: 11,
    logTerm: 2,
    entries: [],
    commit: 11,
  });
  expect(node.ready().committedEntries.map(({ index }) => index)).toEqual([11]);
  const confState = { ...EMPTY_CONF, voters: [1, 2], learners: [3, 4] };
  const snapshot = { index: 20, term: 2, confState, data };
  node.step({ type: 'snapshot', from: 2, to: 1, term: 3, snapshot });
  expect(node.pendingSnapshot).toBe(snapshot);
  // what the engine says until another takes its place, and after a crash before that
  expect(node.applyConfChange(change)).toMatchObject({ voters: [1, 2], learners: [3] });
  expect(node.status().confState).toEqual(confState);
});
