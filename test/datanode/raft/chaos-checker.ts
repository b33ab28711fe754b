/**
 * What must hold whatever happens, as predicates over what replicas showed so far. The five
 * properties of the raft paper (figure 3), and what a restart may not undo. Knows no replica:
 * chaos-group.ts tells it what was seen.
 */
import type { LogIndex, ReplicaId, Term } from '../../../src/common/ids.ts';
import type { Entry, HardState } from '../../../src/datanode/raft/message.ts';

export class SafetyViolation extends Error {
  override readonly name = 'SafetyViolation';
}

function check(condition: boolean, what: () => string): void {
  if (!condition) throw new SafetyViolation(what());
}

interface Known {
  readonly previousTerm: Term;
  readonly data: Uint8Array;
}

/** The log that a replica has shown: what its storage held at the start, then what it handed out. */
export class LogView {
  #base = 0;
  #terms: Term[] = [];

  constructor(base: LogIndex, baseTerm: Term, terms: readonly Term[]) {
    this.restore(base, baseTerm);
    this.#terms.push(...terms);
  }

  get last(): LogIndex {
    return this.#base + this.#terms.length - 1;
  }

  /** Undefined when the entry is before the snapshot or behind the end. */
  term(index: LogIndex): Term | undefined {
    return index < this.#base ? undefined : this.#terms[index - this.#base];
  }

  restore(index: LogIndex, term: Term): void {
    this.#base = index;
    this.#terms = [term];
  }

  replaceFrom(entries: readonly Entry[]): void {
    const first = entries[0]!.index;
    check(first <= this.last + 1 && first > this.#base, () => `entry ${first} leaves a gap`);
    this.#terms.length = first - this.#base;
    for (const entry of entries) this.#terms.push(entry.term);
  }
}

export class SafetyChecker {
  readonly #leaders = new Map<Term, ReplicaId>();
  readonly #votes = new Map<string, ReplicaId>();
  readonly #entries = new Map<string, Known>();
  /** By index: the term of the committed entry, and the term in which it was first committed. */
  readonly #committed: { term: Term; inTerm: Term }[] = [{ term: 0, inTerm: 0 }];
  readonly #applied: (Uint8Array | undefined)[] = [];

  /** The highest index that any replica knew to be committed. */
  get committedMax(): LogIndex {
    return this.#committed.length - 1;
  }

  /** All replicas begin with a snapshot at `index`. */
  beginAt(index: LogIndex, term: Term): void {
    for (let at = 1; at <= index; at++) this.#committed.push({ term, inTerm: 0 });
  }

  /** Election safety: at most one leader per term. */
  sawLeader(replica: ReplicaId, term: Term): void {
    const known = this.#leaders.get(term);
    check(
      known === undefined || known === replica,
      () => `replicas ${known} and ${replica} both lead term ${term}`,
    );
    this.#leaders.set(term, replica);
  }

  /** Leader completeness: a leader's log has everything committed in earlier terms. */
  sawNewLeader(replica: ReplicaId, term: Term, log: LogView): void {
    for (let index = this.committedMax; index > 0; index--) {
      const { term: entryTerm, inTerm } = this.#committed[index]!;
      if (inTerm >= term) continue;
      const ours = log.term(index);
      if (ours === undefined && index <= log.last) return;
      check(
        ours === entryTerm,
        () =>
          `leader ${replica} of term ${term} has term ${ours} at ${index}, ` +
          `but term ${entryTerm} was committed there in term ${inTerm}`,
      );
    }
  }

  /** Leader append-only: what a leader hands out lies behind all it had. */
  sawLeaderAppend(replica: ReplicaId, entries: readonly Entry[], log: LogView): void {
    check(
      entries[0]!.index > log.last,
      () => `leader ${replica} replaces its own entry ${entries[0]!.index}`,
    );
  }

  /** Log matching: an index and a term name one entry, with one and the same past. */
  sawEntries(replica: ReplicaId, entries: readonly Entry[], log: LogView): void {
    let previousTerm = log.term(entries[0]!.index - 1);
    for (const entry of entries) {
      const key = `${entry.index}/${entry.term}`;
      const known = this.#entries.get(key);
      if (known === undefined) {
        if (previousTerm !== undefined) {
          this.#entries.set(key, { previousTerm, data: entry.data });
        }
      } else {
        check(
          known.data === entry.data && known.previousTerm === previousTerm,
          () => `replica ${replica} has another entry ${key} than was seen before`,
        );
      }
      previousTerm = entry.term;
    }
  }

  /** All replicas commit the same entries; commit never passes what the log has. */
  sawCommit(replica: ReplicaId, from: LogIndex, to: LogIndex, inTerm: Term, log: LogView): void {
    for (let index = from + 1; index <= to; index++) {
      const term = log.term(index);
      if (term === undefined) continue;
      const known = this.#committed[index];
      check(
        known === undefined || known.term === term,
        () => `replica ${replica} commits ${term}/${index}, but ${known?.term} was committed`,
      );
      if (known === undefined) {
        check(index === this.#committed.length, () => `commit ${index} leaves a gap`);
        this.#committed.push({ term, inTerm });
      }
    }
  }

  /** State machine safety: all apply the same at the same index. */
  sawApplied(replica: ReplicaId, entry: Entry): void {
    check(
      entry.index <= this.committedMax,
      () => `replica ${replica} applies ${entry.index}, which nobody committed`,
    );
    const known = this.#applied[entry.index];
    check(
      known === undefined || known === entry.data,
      () => `replica ${replica} applies something else at ${entry.index}`,
    );
    this.#applied[entry.index] = entry.data;
  }

  /** A vote that left: one per replica and term, over restarts. */
  sawVote(replica: ReplicaId, term: Term, candidate: ReplicaId): void {
    const key = `${replica}/${term}`;
    const known = this.#votes.get(key);
    check(
      known === undefined || known === candidate,
      () => `replica ${replica} votes for ${known} and ${candidate} in term ${term}`,
    );
    this.#votes.set(key, candidate);
  }

  /** Term, vote and commit never go back. */
  sawHardState(replica: ReplicaId, before: HardState, after: HardState): void {
    check(
      after.term >= before.term && after.commit >= before.commit,
      () => `replica ${replica} goes back from ${text(before)} to ${text(after)}`,
    );
    check(
      after.term !== before.term || before.vote === 0 || before.vote === after.vote,
      () => `replica ${replica} changes its vote from ${text(before)} to ${text(after)}`,
    );
  }

  /** A read sees everything that was committed anywhere before it began. */
  sawRead(replica: ReplicaId, index: LogIndex, floor: LogIndex): void {
    check(
      index >= floor,
      () => `replica ${replica} reads at ${index}, but ${floor} was committed before it began`,
    );
  }

  /** What is committed is durable on a quorum. */
  sawDurable(replica: ReplicaId, index: LogIndex, durable: boolean): void {
    check(durable, () => `leader ${replica} commits ${index} before a quorum has it durably`);
  }
}

function text({ term, vote, commit }: HardState): string {
  return `(term ${term}, vote ${vote}, commit ${commit})`;
}
