/** A leader whose peers are the test. */
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import type { RaftConfig } from '../../../src/datanode/raft/config.ts';
import type { PeerMessage, Snapshot } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import { memoryStorage } from './memory-storage.ts';

export const TERM = 4;

export type Append = Extract<PeerMessage, { type: 'append' }>;

/** Replica 1 leads `voters`; what it sends, and a disk that has everything at once. */
export function leader(
  voters: readonly number[],
  appendFanout: 'all' | 'quorum' = 'quorum',
  judgeRace?: RaftConfig['judgeRace'],
) {
  const start: Snapshot = {
    index: 10,
    term: 2,
    confState: { ...EMPTY_CONF, voters },
    data: new Uint8Array(0),
  };
  const storage = memoryStorage(start);
  storage.setHardState({ term: TERM - 1, vote: 0, commit: 10 });
  const node = createRaftNode({
    ...{ id: 1, storage, random: seededRandom(1), applied: 10, appendFanout, judgeRace },
    ...{ electionTicks: 10, heartbeatTicks: 1, asyncStorageWrites: false, preVote: false },
    ...{ checkQuorum: true, stepDownOnRemoval: true, disableProposalForwarding: true },
    ...{ disableConfChangeValidation: false, messageBytesMax: 1e6, committedBytesMax: 1e6 },
    ...{ uncommittedBytesMax: 1e6, inflightMessagesMax: 1e3, inflightBytesMax: 1e6 },
  });
  /** The appends that leave now. */
  const work = (): Append[] => {
    const sent: Append[] = [];
    while (node.hasReady()) {
      const ready = node.ready();
      if (ready.hardState !== undefined) storage.setHardState(ready.hardState);
      storage.append(ready.entries);
      node.advance();
      for (const message of ready.messages) if (message.type === 'append') sent.push(message);
    }
    return sent;
  };
  node.campaign();
  work();
  for (const from of voters.slice(1)) {
    node.step({
      type: 'voteResponse',
      from,
      to: 1,
      term: TERM,
      reject: false,
      commit: 0,
      commitTerm: 0,
    });
  }
  work();
  const acknowledge = (from: number, index = node.lastIndex) => {
    const rest = { logTerm: 0, reject: false, rejectHint: 0, commit: 10 };
    node.step({ type: 'appendResponse', from, to: 1, term: TERM, index, ...rest });
  };
  return { node, work, acknowledge };
}
