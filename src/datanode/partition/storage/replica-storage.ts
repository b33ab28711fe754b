/** RaftStorage of one replica: its part of the node's log, and snapshots of its engine. */
import type { LogIndex, Term } from '../../../common/ids.ts';
import type { ConfState, Entry, HardState, Snapshot } from '../../raft/message.ts';
import type { RaftStorage } from '../../raft/storage.ts';
import type { ReplicaLog } from '../../raftlog/raft-log.ts';
import type { ReplicaState } from './state.ts';

export class ReplicaStorage implements RaftStorage {
  readonly #log: ReplicaLog;
  readonly #initial: ReplicaState;
  readonly #takeSnapshot: () => Snapshot | 'unavailable';

  /** `initial`: the state found in the engine when the replica was opened. */
  constructor(
    log: ReplicaLog,
    initial: ReplicaState,
    takeSnapshot: () => Snapshot | 'unavailable',
  ) {
    this.#log = log;
    this.#initial = initial;
    this.#takeSnapshot = takeSnapshot;
  }

  /** The commit index is not synced by itself: what is applied was committed (decision 4). */
  initialState(): { readonly hardState: HardState; readonly confState: ConfState } {
    const { hardState } = this.#log;
    const commit = Math.max(hardState.commit, this.#initial.index);
    return { hardState: { ...hardState, commit }, confState: this.#initial.confState };
  }

  firstIndex(): LogIndex {
    return this.#log.firstIndex();
  }

  lastIndex(): LogIndex {
    return this.#log.lastIndex();
  }

  term(index: LogIndex): Term | 'compacted' | 'unavailable' {
    return this.#log.term(index);
  }

  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] | 'compacted' {
    return this.#log.entries(from, to, bytesMax);
  }

  snapshot(): Snapshot | 'unavailable' {
    return this.#takeSnapshot();
  }
}
