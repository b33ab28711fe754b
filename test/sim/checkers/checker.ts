/** What is judged after every step, and how a violation is told. */
import type { GroupId, Incarnation, NodeId } from '../../../src/common/ids.ts';
import type { Replica } from '../../../src/datanode/partition/replica/replica.ts';
import type { SimCluster } from '../cluster.ts';

/** A replica of a running process. */
export interface Observed {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly group: GroupId;
  readonly replica: Replica;
}

export interface Checker {
  readonly name: string;
  /** Throws Violation. Called for each replica of which term, role, commit or applied index moved. */
  onMoved?(observed: Observed, cluster: SimCluster): void;
}

export class Violation extends Error {
  readonly checker: string;

  constructor(checker: string, text: string) {
    super(`${checker}: ${text}`);
    this.checker = checker;
  }
}
