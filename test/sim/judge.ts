/** Judges every running replica of a cluster that has moved since the last look. */
import type { Replica } from '../../src/datanode/partition/replica/replica.ts';
import type { RaftNode, Role } from '../../src/datanode/raft/ready.ts';
import { applyChecker } from './checkers/apply.ts';
import { boundsChecker } from './checkers/bounds.ts';
import { type Checker, type Observed, Violation } from './checkers/checker.ts';
import { durableChecker } from './checkers/durable.ts';
import { electionChecker } from './checkers/election.ts';
import { groupTimeChecker } from './checkers/group-time.ts';
import { identityChecker } from './checkers/identity.ts';
import { logChecker } from './checkers/log.ts';
import { lossChecker } from './checkers/loss.ts';
import { matchingChecker } from './checkers/matching.ts';
import { membershipChecker } from './checkers/membership.ts';
import { quorumChecker } from './checkers/quorum.ts';
import { readChecker } from './checkers/reads.ts';
import { roundChecker } from './checkers/rounds.ts';
import type { SimCluster } from './cluster.ts';

/** Where a replica was when its checkers last looked. */
interface Look {
  readonly raft: RaftNode;
  term: number;
  role: Role | undefined;
  committed: number;
  appliedIndex: number;
}

export class Judge {
  readonly #cluster: SimCluster;
  readonly #checkers: readonly Checker[];
  readonly #looks = new WeakMap<Replica, Look>();

  constructor(cluster: SimCluster, more: readonly Checker[] = []) {
    this.#cluster = cluster;
    this.#checkers = [
      electionChecker(),
      logChecker(),
      matchingChecker(),
      durableChecker(),
      applyChecker(),
      membershipChecker(),
      identityChecker(),
      lossChecker(),
      quorumChecker(),
      readChecker(),
      roundChecker(),
      boundsChecker(),
      groupTimeChecker(),
      ...more,
    ];
  }

  /** After every step; throws Violation. */
  check(): void {
    const { broken } = this.#cluster;
    if (broken.length > 0) throw new Violation('crash', broken.join('\n'));
    for (const { name, life } of this.#cluster.machines) {
      const { datanode } = life ?? {};
      if (datanode === undefined) continue;
      for (const replica of datanode.replicas()) {
        if (replica.stopped || !this.#hasMoved(replica)) continue;
        const { incarnation } = datanode;
        const observed = { node: name, incarnation, group: replica.record.group, replica };
        for (const checker of this.#checkers) checker.onMoved?.(observed, this.#cluster);
      }
    }
  }

  /** Asked of every replica after every step: nothing is made but the first time. */
  #hasMoved(replica: Replica): boolean {
    let last = this.#looks.get(replica);
    if (last === undefined) {
      const { raft } = replica.inspect();
      last = { raft, term: -1, role: undefined, committed: -1, appliedIndex: -1 };
      this.#looks.set(replica, last);
    }
    const { term, role, committed } = last.raft;
    const { appliedIndex } = replica;
    if (
      last.term === term &&
      last.role === role &&
      last.committed === committed &&
      last.appliedIndex === appliedIndex
    ) {
      return false;
    }
    last.term = term;
    last.role = role;
    last.committed = committed;
    last.appliedIndex = appliedIndex;
    return true;
  }

  *observed(): Generator<Observed> {
    for (const { name, life } of this.#cluster.machines) {
      const { datanode } = life ?? {};
      if (datanode === undefined) continue;
      for (const replica of datanode.replicas()) {
        if (replica.stopped) continue;
        const { incarnation } = datanode;
        yield { node: name, incarnation, group: replica.record.group, replica };
      }
    }
  }
}
