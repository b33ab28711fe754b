/**
 * Whoever is to lead next gets entries before it hears that they are committed. A crash of it then
 * must not bring back a configuration that the others have left.
 */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { EMPTY_CONF } from '../../../src/datanode/raft/conf-change.ts';
import { decodeConfChange } from '../../../src/datanode/raft/conf-change-codec.ts';
import type { PeerMessage, Snapshot } from '../../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../../src/datanode/raft/raft.ts';
import type { RaftNode } from '../../../src/datanode/raft/ready.ts';
import { type MemoryStorage, memoryStorage } from './memory-storage.ts';

type Fanout = 'all' | 'quorum';

const START: Snapshot = {
  index: 10,
  term: 2,
  confState: { ...EMPTY_CONF, voters: [1, 2, 3], learners: [4] },
  data: new Uint8Array(0),
};

interface Member {
  readonly node: RaftNode;
  readonly storage: MemoryStorage;
  /** By index: term and kind, and what it carries. */
  readonly committed: string[];
}

class Group {
  readonly #members = new Map<number, Member>();
  readonly #fanout: Fanout;
  /** Messages that get lost. */
  loses: (message: PeerMessage) => boolean = () => false;

  constructor(fanout: Fanout) {
    this.#fanout = fanout;
    for (const id of [1, 2, 3, 4]) {
      const storage = memoryStorage(START);
      storage.setHardState({ term: 3, vote: 0, commit: 10 });
      this.#open(id, storage);
    }
  }

  #open(id: number, storage: MemoryStorage): void {
    const node = createRaftNode({
      ...{ id, storage, random: seededRandom(id), applied: 10, appendFanout: this.#fanout },
      ...{ electionTicks: 10, heartbeatTicks: 1, asyncStorageWrites: false, preVote: true },
      ...{ checkQuorum: true, stepDownOnRemoval: true, disableProposalForwarding: true },
      ...{ disableConfChangeValidation: false, messageBytesMax: 1e6, committedBytesMax: 1e6 },
      ...{ uncommittedBytesMax: 1e6, inflightMessagesMax: 1e3, inflightBytesMax: 1e6 },
    });
    this.#members.set(id, { node, storage, committed: [] });
  }

  get(id: number): Member {
    return this.#members.get(id)!;
  }

  /** With what is durable. */
  restart(id: number): void {
    this.#open(id, this.get(id).storage.copy());
  }

  /** One Ready of `id`, stored as the datanode's log does; what it sends. */
  work(id: number): PeerMessage[] {
    const { node, storage, committed } = this.get(id);
    const { hardState, entries, committedEntries, messages } = node.ready();
    const saved = storage.initialState().hardState;
    const isVote = hardState?.term !== saved.term || hardState.vote !== saved.vote;
    // a commit index alone is not written
    if (hardState && (entries.length > 0 || isVote)) storage.setHardState(hardState);
    storage.append(entries);
    for (const { index, term, kind, data } of committedEntries) {
      committed[index] = `${term} ${kind} ${Buffer.from(data).toString('latin1')}`;
      if (kind !== 'normal') node.applyConfChange(decodeConfChange(data));
    }
    node.advance();
    return messages as PeerMessage[];
  }

  /** Until nobody but `except` has anything left to do. */
  run(except: readonly number[] = []): void {
    for (let busy = true; busy; ) {
      busy = false;
      for (const [id, { node }] of this.#members) {
        if (except.includes(id)) continue;
        node.sendLateAppends();
        if (!node.hasReady()) continue;
        busy = true;
        for (const message of this.work(id)) {
          if (!this.loses(message)) this.get(message.to).node.step(message);
        }
      }
    }
  }

  tick(ids: readonly number[], times: number): void {
    for (let at = 0; at < times; at++) {
      for (const id of ids) this.get(id).node.tick();
      this.run();
    }
  }
}

/** 2 leads; 4 has taken the place of 3, of which 1 has heard nothing and 3 no more than the beginning. */
function withChangedMembers(fanout: Fanout): Group {
  const group = new Group(fanout);
  const { node: leader } = group.get(2);
  leader.campaign();
  group.run();
  group.tick([1, 2, 3, 4], 2);
  group.loses = (message) => {
    if (message.from === 1 || message.to === 1) return true;
    if (message.to !== 3) return false;
    return message.type === 'heartbeat' || (message.type === 'append' && message.commit > 11);
  };
  const proposed = leader.proposeConfChange({
    transition: 'auto',
    steps: [
      { kind: 'addVoter', replica: 4 },
      { kind: 'remove', replica: 3 },
    ],
    context: new Uint8Array(0),
  });
  expect(proposed.ok).toBe(true);
  group.run();
  const { confState } = leader.status();
  expect(confState).toMatchObject({ voters: [1, 2, 4], votersOutgoing: [1, 2, 3] });
  expect([3, 4].map((id) => group.get(id).node.lastIndex)).toEqual([12, 13]);
  return group;
}

/** Leadership is given to 1, which gets all entries, and acknowledges them, and is killed. */
function killTransferee(group: Group): void {
  const { node: leader } = group.get(2);
  const { node: next } = group.get(1);
  const last = leader.lastIndex;
  leader.transferLeader(1);
  for (let at = 0; at < 5 && next.lastIndex < last; at++) {
    leader.tick();
    for (const message of group.work(2)) {
      const isForNext = message.to === 1 && /^(?:append|heartbeat)/.test(message.type);
      if (isForNext && next.lastIndex < last) {
        next.step(message);
        if (next.hasReady()) for (const answer of group.work(1)) leader.step(answer);
      } else if (message.to === 4) {
        group.get(4).node.step(message);
      }
    }
    if (group.get(4).node.hasReady()) for (const answer of group.work(4)) leader.step(answer);
  }
  expect(next.lastIndex).toBe(last);
  group.loses = ({ from, to }) => [1, 3].includes(from) || [1, 3].includes(to);
  group.run([1, 3]);
  const { confState } = leader.status();
  expect(confState).toMatchObject({ voters: [1, 2, 4], votersOutgoing: [] });
  while (next.hasReady()) group.work(1);
  group.restart(1);
}

test.each(['all', 'quorum'] as const)(
  'a transferee that is killed behind a change of members elects nobody with a former one (%s)',
  (fanout) => {
    const group = withChangedMembers(fanout);
    killTransferee(group);
    // 1 and the former member on one side, all who are left of the new ones on the other
    group.loses = ({ from, to }) => [1, 3].includes(from) !== [1, 3].includes(to);
    const { node: leader } = group.get(2);
    group.tick([2, 4], 12);
    expect(leader.role).toBe('leader');
    expect(leader.propose([Buffer.from('from 2')]).ok).toBe(true);
    group.run();
    group.tick([1, 3], 40);
    const { node: other, committed } = group.get(1);
    if (other.role === 'leader') other.propose([Buffer.from('from 1')]);
    group.run();
    expect(other.role).not.toBe('leader');
    const theirs = group.get(2).committed;
    expect(theirs).toContain('4 normal from 2');
    for (const [index, entry] of committed.entries()) {
      if (entry !== undefined && theirs[index] !== undefined) expect(entry).toBe(theirs[index]);
    }
  },
);
