/** What each replica's log has reported durable: the ground on which promises are judged. */
import type { LogIndex, ReplicaId, Term } from '../../src/common/ids.ts';
import type { LogAppend, RaftLog } from '../../src/datanode/raftlog/raft-log.ts';

export interface DurableReplica {
  term: Term;
  vote: ReplicaId;
  commit: LogIndex;
  /** Up to here a snapshot holds everything. */
  base: LogIndex;
  /** Term of each durable entry after `base`. */
  readonly terms: Map<LogIndex, Term>;
  last: LogIndex;
  tombstone: boolean;
}

export class DurableWatch {
  readonly #nodes = new Map<ReplicaId, string>();
  readonly #wiped = new Set<ReplicaId>();
  readonly #setBack = new Set<ReplicaId>();
  readonly replicas = new Map<ReplicaId, DurableReplica>();

  /** Logs that told of batches which a loss of power could still take. */
  readonly lies: string[] = [];

  /** What the log was opened with is durable, told or not. */
  wrap(log: RaftLog, node: string, isSynced: () => boolean): RaftLog {
    for (const id of log.replicas()) {
      this.#nodes.set(id, node);
      this.#take(id, log);
    }
    return {
      get durableSeq() {
        return log.durableSeq;
      },
      replicas: () => log.replicas(),
      isTombstone: (id) => log.isTombstone(id),
      replica: (id) => log.replica(id),
      append: (part, onDurable) =>
        log.append(part, () => {
          if (!isSynced()) this.lies.push(`${node} tells of a batch that is not synced`);
          this.#nodes.set(part.replica, node);
          this.#note(part);
          onDurable();
        }),
      flush: () => log.flush(),
      stats: () => log.stats(),
      close: () => log.close(),
    };
  }

  /** The node's disk is gone, with all that was durable there. */
  wiped(node: string): void {
    for (const [id, home] of this.#nodes) if (home === node) this.#wiped.add(id);
  }

  /** An older copy of the node's directory was put back: it forgets what it had promised. */
  setBack(node: string): void {
    for (const [id, home] of this.#nodes) if (home === node) this.#setBack.add(id);
  }

  isSetBack(id: ReplicaId): boolean {
    return this.#setBack.has(id);
  }

  /** Neither wiped nor removed; one that was not opened yet counts. */
  isIntact(id: ReplicaId): boolean {
    return !this.replicas.get(id)?.tombstone && !this.#wiped.has(id);
  }

  holds(id: ReplicaId, index: LogIndex, term: Term): boolean {
    const replica = this.replicas.get(id);
    if (replica === undefined) return false;
    return index <= replica.base || replica.terms.get(index) === term;
  }

  #take(id: ReplicaId, log: RaftLog): void {
    const own = log.replica(id);
    if (own === undefined) return;
    const terms = new Map<LogIndex, Term>();
    for (let index = own.firstIndex(); index <= own.lastIndex(); index++) {
      const term = own.term(index);
      if (typeof term === 'number') terms.set(index, term);
    }
    const last = own.lastIndex();
    const base = own.base.index;
    this.replicas.set(id, { ...own.hardState, base, terms, last, tombstone: false });
  }

  #note({ replica: id, reset, entries = [], hardState, compact, tombstone }: LogAppend): void {
    const nothing = { term: 0, vote: 0, commit: 0, base: 0, last: 0, tombstone: false };
    const replica = this.replicas.get(id) ?? { ...nothing, terms: new Map() };
    this.replicas.set(id, replica);
    if (reset !== undefined) {
      replica.terms.clear();
      replica.base = reset.base.index;
      replica.last = reset.base.index;
    }
    const first = entries[0]?.index ?? replica.last + 1;
    for (let index = first; index <= replica.last; index++) replica.terms.delete(index);
    for (const { index, term } of entries) replica.terms.set(index, term);
    if (entries.length > 0) replica.last = entries.at(-1)!.index;
    if (hardState !== undefined) {
      replica.term = hardState.term;
      replica.vote = hardState.vote;
      replica.commit = hardState.commit;
    }
    if (compact !== undefined) replica.base = Math.max(replica.base, compact.index);
    if (tombstone) replica.tombstone = true;
  }
}
