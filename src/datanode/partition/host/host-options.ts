/** What the host of a node's replicas is made of, and what it tells of their leaders. */
import type { Clock } from '../../../common/clock.ts';
import type { KvorumError } from '../../../common/errors.ts';
import type { Incarnation, NodeId, ReplicaId, Term } from '../../../common/ids.ts';
import type { Logger } from '../../../common/log.ts';
import type { Random } from '../../../common/random.ts';
import type { CatchingUp, Membership, PartitionRecord } from '../../../meta/schema.ts';
import type { EngineHost } from '../../engine/engine.ts';
import type { RaftLog } from '../../raftlog/raft-log.ts';
import type { KeyEventSink } from '../applying/key-event-gate.ts';
import type { HostSettings } from './host-settings.ts';
import type { ReplicaNotes } from './replica-notes.ts';

export interface LeaderNews {
  readonly record: PartitionRecord;
  /** Undefined while the group has no leader that this replica knows. */
  readonly node: NodeId | undefined;
  readonly replica: ReplicaId;
  readonly term: Term;
  /** This node's own replica leads. */
  readonly own: boolean;
  readonly membership: Membership;
  /** Learners, as this node's leader sees them. */
  readonly catchingUp: readonly CatchingUp[];
}

export interface HostOptions {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly notes: ReplicaNotes;
  readonly settings: HostSettings;
  readonly keyEvents?: KeyEventSink;
  onLeader(news: LeaderNews): void;
  /** A replica stopped serving (CORRUPT: for good); the node goes on with the others. */
  onReplicaFault(record: PartitionRecord, replica: ReplicaId, error: KvorumError): void;
}
