/**
 * What a follower acknowledges and believes committed: no more than an append shows. Behind that its
 * log may hold entries of a former leader, which this one has never seen.
 */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { Entry, PeerMessage } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import { memoryStorage } from './memory-storage.ts';

const TERM = 4;
const NO_DATA = new Uint8Array(0);
const entry = (term: number, index: number): Entry => ({
  ...{ term, index, kind: 'normal', data: NO_DATA },
});

/** Replica 1 follows 2; of its entries 11 (term 2), 12 and 13 (term 3) nothing is known to be committed. */
function follower() {
  const confState = { ...EMPTY_CONF, voters: [1, 2, 3] };
  const storage = memoryStorage({ index: 10, term: 2, confState, data: NO_DATA });
  storage.append([entry(2, 11), entry(3, 12), entry(3, 13)]);
  storage.setHardState({ term: TERM, vote: 2, commit: 10 });
  const node = createRaftNode({
    ...{ id: 1, storage, random: seededRandom(1), applied: 10 },
    ...{ electionTicks: 10, heartbeatTicks: 1, asyncStorageWrites: false, preVote: true },
    ...{ checkQuorum: true, stepDownOnRemoval: true, disableProposalForwarding: true },
    ...{ disableConfChangeValidation: false, messageBytesMax: 1e6, committedBytesMax: 1e6 },
    ...{ uncommittedBytesMax: 1e6, inflightMessagesMax: 1e3, inflightBytesMax: 1e6 },
  });
  /** The answer to an append that follows entry (`index`, `logTerm`). */
  const answer = (index: number, logTerm: number, entries: Entry[], commit: number) => {
    const append = { type: 'append', from: 2, to: 1, term: TERM } as const;
    node.step({ ...append, index, logTerm, entries, commit });
    const { messages } = node.ready();
    node.advance();
    const [told] = messages.filter((sent): sent is PeerMessage => sent.type === 'appendResponse');
    return told;
  };
  return { node, answer };
}

test('entries that are there already are acknowledged, not those behind them', () => {
  const { node, answer } = follower();
  expect(answer(11, 2, [entry(3, 12)], 11)).toMatchObject({ reject: false, index: 12 });
  expect(node.lastIndex).toBe(13);
});

test('a commit index beyond what the append shows is not believed', () => {
  const { node, answer } = follower();
  expect(answer(11, 2, [], 13)).toMatchObject({ reject: false, index: 11 });
  expect(node.committed).toBe(11);
});

test('an append that comes late, from before what is committed, acknowledges that and no more', () => {
  const { node, answer } = follower();
  answer(11, 2, [entry(3, 12)], 12);
  expect(node.committed).toBe(12);
  expect(answer(10, 2, [entry(2, 11)], 11)).toMatchObject({ reject: false, index: 12 });
  expect(node.lastIndex).toBe(13);
});
