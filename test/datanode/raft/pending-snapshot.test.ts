/** Which snapshot a follower waits for storage with: the very one that came, until it is there. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import { memoryStorage } from './memory-storage.ts';

const snapshotAt = (index: number) => ({
  ...{ index, term: 2, data: new Uint8Array(0) },
  confState: { ...EMPTY_CONF, voters: [1, 2] },
});

function follower() {
  const storage = memoryStorage(snapshotAt(10));
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
