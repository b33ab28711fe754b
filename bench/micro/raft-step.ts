/** A group of three replicas in one process: an entry with a turn of commands, proposed to applied. */
import { limits } from '../../src/common/limits.ts';
import { seededRandom } from '../../src/common/random.ts';
import { EMPTY_CONF } from '../../src/datanode/raft/conf-change.ts';
import type { Entry, HardState, Message } from '../../src/datanode/raft/message.ts';
import { createRaftNode } from '../../src/datanode/raft/raft.ts';
import type { RaftNode } from '../../src/datanode/raft/ready.ts';
import type { RaftStorage } from '../../src/datanode/raft/storage.ts';
import { entryData } from './envelope.ts';
import { type Micro, TURN } from './micro.ts';

const VOTERS = [1, 2, 3];
const KEPT_ENTRIES = 4_096;

/** A log that is an array; the oldest half goes when it is long, as compaction does it. */
class ArrayStorage implements RaftStorage {
  #hardState: HardState = { term: 0, vote: 0, commit: 0 };
  #base = { index: 0, term: 0 };
  #entries: Entry[] = [];

  initialState() {
    return { hardState: this.#hardState, confState: { ...EMPTY_CONF, voters: VOTERS } };
  }

  firstIndex(): number {
    return this.#base.index + 1;
  }

  lastIndex(): number {
    return this.#base.index + this.#entries.length;
  }

  term(index: number) {
    if (index < this.#base.index) return 'compacted';
    if (index === this.#base.index) return this.#base.term;
    return this.#entries[index - this.#base.index - 1]?.term ?? 'unavailable';
  }

  entries(from: number, to: number) {
    if (from <= this.#base.index) return 'compacted';
    return this.#entries.slice(from - this.#base.index - 1, to - this.#base.index - 1);
  }

  snapshot() {
    return 'unavailable' as const;
  }

  append(entries: readonly Entry[], hardState: HardState | undefined): void {
    if (hardState !== undefined) this.#hardState = hardState;
    if (entries.length === 0) return;
    this.#entries.length = entries[0]!.index - this.#base.index - 1;
    this.#entries.push(...entries);
    if (this.#entries.length < KEPT_ENTRIES) return;
    const [{ index, term } = this.#base] = this.#entries.splice(0, KEPT_ENTRIES / 2).slice(-1);
    this.#base = { index, term };
  }
}

class Group {
  readonly #nodes: readonly { readonly node: RaftNode; readonly storage: ArrayStorage }[];
  #inbox: Message[] = [];
  applied = 0;

  constructor() {
    const random = seededRandom('micro');
    this.#nodes = VOTERS.map((id) => {
      const storage = new ArrayStorage();
      const node = createRaftNode({
        ...{ id, storage, random: random.fork(`raft-${id}`), applied: 0 },
        ...{ electionTicks: 10, heartbeatTicks: 2, asyncStorageWrites: true },
        ...{ preVote: true, checkQuorum: true, stepDownOnRemoval: true, readFanout: 'quorum' },
        ...{ disableProposalForwarding: true, disableConfChangeValidation: false },
        messageBytesMax: limits.raftMessageBytesMax,
        committedBytesMax: limits.raftCommittedUnappliedBytesMax,
        uncommittedBytesMax: limits.raftUncommittedBytesMax,
        inflightMessagesMax: limits.raftInflightMessagesMax,
        inflightBytesMax: limits.raftInflightBytesMax,
      });
      return { node, storage };
    });
    this.leader.campaign();
    this.settle();
    if (this.leader.role !== 'leader') throw new Error('the first replica did not win');
  }

  get leader(): RaftNode {
    return this.#nodes[0]!.node;
  }

  /** Until nobody has anything to do. Disks and links take no time. */
  settle(): void {
    for (let busy = true; busy; ) {
      busy = false;
      for (const { node, storage } of this.#nodes) {
        while (node.hasReady()) {
          busy = true;
          for (const message of node.ready().messages) this.#take(message, storage);
        }
      }
      const inbox = this.#inbox;
      this.#inbox = [];
      for (const message of inbox) this.#nodes[message.to - 1]!.node.step(message);
      busy ||= inbox.length > 0;
    }
  }

  #take(message: Message, storage: ArrayStorage): void {
    if (message.type === 'storageAppend') {
      storage.append(message.entries, message.hardState);
      this.#inbox.push(...message.responses);
    } else if (message.type === 'storageApply') {
      this.applied += message.entries.length;
      this.#inbox.push(...message.responses);
    } else {
      this.#inbox.push(message);
    }
  }
}

export const raftStep: Micro = {
  text: `raft: an entry of ${TURN} commands through a group of three, all three counted`,
  async prepare() {
    const group = new Group();
    const data = [entryData(1)];
    return (wanted) => {
      let done = 0;
      for (; done < wanted; done += TURN) {
        const before = group.applied;
        if (!group.leader.propose(data).ok) throw new Error('the leader proposes nothing');
        group.settle();
        if (group.applied !== before + VOTERS.length) throw new Error('an entry was not applied');
      }
      return done;
    };
  },
};
