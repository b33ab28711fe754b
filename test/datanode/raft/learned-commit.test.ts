/** Elections tell what is committed: who believes it, from whom, and what follows from it. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import {
  decodeConfChange,
  encodeConfChange,
} from '../../../src/datanode/raft/conf-change-codec.ts';
import type { Entry, PeerMessage, Snapshot } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import type { RaftNode, Ready } from '../../../src/datanode/raft/ready.ts';
import { type MemoryStorage, memoryStorage } from './memory-storage.ts';

const NO_DATA = new Uint8Array(0);
const TERM = 4;
const START: Snapshot = {
  index: 10,
  term: 2,
  confState: { ...EMPTY_CONF, voters: [1, 2, 3] },
  data: NO_DATA,
};

const removal = encodeConfChange({
  transition: 'auto',
  steps: [{ kind: 'remove', replica: 3 }],
  context: NO_DATA,
});

const normal = (term: number, index: number): Entry => ({
  term,
  index,
  kind: 'normal',
  data: NO_DATA,
});

/** Replica 1 at TERM with entries 11 (term 2), 12 (term 3), 13 (term 4); of them 10 is committed. */
function start(entries = [normal(2, 11), normal(3, 12), normal(4, 13)], snapshot = START) {
  const storage = memoryStorage(snapshot);
  storage.append(entries);
  storage.setHardState({ term: TERM, vote: 0, commit: snapshot.index });
  const node = createRaftNode({
    id: 1,
    storage,
    random: seededRandom(1),
    electionTicks: 10,
    heartbeatTicks: 1,
    applied: snapshot.index,
    asyncStorageWrites: false,
    preVote: true,
    checkQuorum: true,
    stepDownOnRemoval: true,
    disableProposalForwarding: true,
    disableConfChangeValidation: false,
    messageBytesMax: 1e6,
    committedBytesMax: 1e6,
    uncommittedBytesMax: 1e6,
    inflightMessagesMax: 100,
    inflightBytesMax: 1e6,
  });
  return { node, storage };
}

/** Does what the Ready asks for. */
function work({ node, storage }: { node: RaftNode; storage: MemoryStorage }): Ready {
  const ready = node.ready();
  if (ready.hardState !== undefined) storage.setHardState(ready.hardState);
  storage.append(ready.entries);
  for (const { kind, data } of ready.committedEntries) {
    if (kind !== 'normal') node.applyConfChange(decodeConfChange(data));
  }
  node.advance();
  return ready;
}

type Answer = Extract<PeerMessage, { type: 'voteResponse' | 'preVoteResponse' }>;

const refusal = (commit: number, commitTerm: number, more: Partial<Answer> = {}): Answer => ({
  type: 'preVoteResponse',
  from: 2,
  to: 1,
  term: TERM,
  reject: true,
  commit,
  commitTerm,
  ...more,
});

const request = (type: 'vote' | 'preVote', term: number): PeerMessage => ({
  ...{ type, from: 2, to: 1, term, index: 10, logTerm: 2, transfer: false },
  ...{ commit: 12, commitTerm: 3 },
});

test('a campaign learns what is committed from a refusal, and goes on', () => {
  const group = start();
  group.node.campaign();
  work(group);
  group.node.step(refusal(12, 3));
  expect(group.node.committed).toBe(12);
  expect(group.node.role).toBe('preCandidate');
  expect(work(group).committedEntries.map(({ index }) => index)).toEqual([11, 12]);
  group.node.step(refusal(10, 2, { from: 3, term: TERM + 1, reject: false }));
  expect(group.node.role).toBe('candidate');
});

test('a grant tells it as well', () => {
  const group = start();
  group.node.campaign();
  work(group);
  group.node.step(refusal(13, 4, { term: TERM + 1, reject: false }));
  expect(group.node.committed).toBe(13);
  expect(group.node.role).toBe('candidate');
});

test('an answer of an older term, or to an election that is over, tells it as well', () => {
  const group = start();
  group.node.campaign();
  work(group);
  group.node.step(refusal(11, 2, { term: TERM - 2 }));
  expect(group.node.committed).toBe(11);
  group.node.step({ type: 'heartbeat', from: 3, to: 1, term: TERM, commit: 11, readContext: 0 });
  expect([group.node.role, group.node.leader]).toEqual(['follower', 3]);
  group.node.step(refusal(12, 3, { type: 'voteResponse', term: TERM - 1 }));
  expect(group.node.committed).toBe(12);
  expect([group.node.role, group.node.leader, group.node.term]).toEqual(['follower', 3, TERM]);
});

test('only the same entry counts: another term, an unknown term, no such entry teach nothing', () => {
  const { node } = start();
  node.campaign();
  for (const [commit, term] of [
    [12, 2],
    [12, 4],
    [13, 0],
    [14, 4],
    [9, 2],
    [0, 0],
    [Number.MAX_SAFE_INTEGER, 4],
  ] as const) {
    node.step(refusal(commit, term, { term: TERM - 1 }));
    expect(node.committed, `${term}/${commit}`).toBe(10);
  }
});

test('who was removed from the configuration is not heard', () => {
  const { node } = start();
  expect(node.step(refusal(12, 3, { from: 9 }))).toBe('unknown-peer');
  expect(node.committed).toBe(10);
});

test.each(['vote', 'preVote'] as const)('a %s request tells a voter, whatever its term', (type) => {
  for (const term of [TERM - 2, TERM, TERM + 5]) {
    const group = start();
    group.node.step(request(type, term));
    expect(group.node.committed, `term ${term}`).toBe(12);
    const answers = work(group).messages.filter(({ type: sent }) => sent === `${type}Response`);
    // A vote of an older term is not answered.
    if (type === 'vote' && term < TERM) expect(answers).toEqual([]);
    else expect(answers).toMatchObject([{ reject: true, commit: 12, commitTerm: 3 }]);
  }
});

test('a learner is told and tells, too', () => {
  const confState = { ...EMPTY_CONF, voters: [2, 3], learners: [1] };
  const group = start(undefined, { ...START, confState });
  group.node.step(request('preVote', TERM + 1));
  expect(work(group).messages).toMatchObject([
    { type: 'preVoteResponse', reject: true, commit: 12, commitTerm: 3 },
  ]);
});

test('a replica without a configuration is told nothing, and has nothing to say', () => {
  const group = start([], { index: 0, term: 0, confState: EMPTY_CONF, data: NO_DATA });
  group.node.step(request('vote', TERM + 1));
  expect([group.node.committed, group.node.term]).toEqual([0, TERM]);
  expect(group.node.hasReady()).toBe(false);
});

test('a leader counts for itself', () => {
  const group = start();
  group.node.campaign();
  work(group);
  for (const type of ['preVoteResponse', 'voteResponse'] as const) {
    group.node.step(refusal(10, 2, { type, term: TERM + 1, reject: false }));
    work(group);
  }
  expect(group.node.role).toBe('leader');
  group.node.step(refusal(12, 3, { term: TERM + 1 }));
  expect([group.node.role, group.node.committed]).toEqual(['leader', 10]);
});

test.each(['preElection', 'election'] as const)(
  'a change of members that it learns of ends its %s',
  (campaign) => {
    const change: Entry = { term: 3, index: 12, kind: 'confChangeV2', data: removal };
    const group = start([normal(2, 11), change, normal(4, 13)]);
    const { node } = group;
    node.campaign();
    work(group);
    if (campaign === 'election') {
      node.step(refusal(10, 2, { from: 3, term: TERM + 1, reject: false }));
      work(group);
      expect(node.role).toBe('candidate');
    }
    const type = campaign === 'election' ? 'voteResponse' : 'preVoteResponse';
    // A grant by the old configuration: 1 and 2 of three would be enough.
    node.step(refusal(12, 3, { type, term: TERM + 1, reject: false }));
    expect(node.role).toBe('follower');
    // Before the change is applied no election begins.
    node.campaign();
    expect(node.role).toBe('follower');
    work(group);
    expect(node.status().confState.voters).toEqual([1, 2]);
    node.campaign();
    const asked = work(group).messages.filter(({ type: sent }) => sent === 'preVote');
    expect(asked.map(({ to }) => to)).toEqual([2]);
  },
);

test('what was learned is saved with the hard state', () => {
  const group = start();
  group.node.step(request('preVote', TERM + 1));
  expect(work(group).hardState).toEqual({ term: TERM, vote: 0, commit: 12 });
  expect(group.storage.initialState().hardState.commit).toBe(12);
});
