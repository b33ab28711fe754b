/** A follower asks for an index to read at, and is started anew before the answer comes. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import { memoryStorage } from './memory-storage.ts';

const TERM = 4;

function follower(seed: number) {
  const confState = { ...EMPTY_CONF, voters: [1, 2, 3] };
  const storage = memoryStorage({ index: 10, term: 2, confState, data: new Uint8Array(0) });
  storage.setHardState({ term: TERM, vote: 2, commit: 10 });
  const node = createRaftNode({
    ...{ id: 1, storage, random: seededRandom(seed), applied: 10, appendFanout: 'quorum' },
    ...{ electionTicks: 10, heartbeatTicks: 1, asyncStorageWrites: false, preVote: true },
    ...{ checkQuorum: true, stepDownOnRemoval: true, disableProposalForwarding: true },
    ...{ disableConfChangeValidation: false, messageBytesMax: 1e6, committedBytesMax: 1e6 },
    ...{ uncommittedBytesMax: 1e6, inflightMessagesMax: 1e3, inflightBytesMax: 1e6 },
  });
  node.step({ type: 'heartbeat', from: 2, to: 1, term: TERM, commit: 10, readContext: 0 });
  const answer = (readContext: number) => {
    node.step({ type: 'readIndexResponse', from: 2, to: 1, term: TERM, readContext, index: 10 });
    if (!node.hasReady()) return [];
    const { readStates } = node.ready();
    node.advance();
    return readStates;
  };
  return { asked: () => node.requestReadFromLeader(), answer };
}

test('the answer to a life before this one answers nothing', () => {
  const lives = [1, 2, 3, 4, 5].map(follower);
  const asked = lives.map((life) => life.asked()!);
  for (const [at, life] of lives.entries()) {
    for (const other of asked.filter((number) => number > asked[at]!)) {
      expect(life.answer(other)).toEqual([]);
    }
    expect(life.answer(asked[at]!)).toEqual([{ readContext: asked[at]!, index: 10 }]);
  }
});
