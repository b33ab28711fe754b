/** What a replica needs of its node, and the settings it gives the raft core. */

import type { Clock } from '../../../common/clock.ts';
import type { NodeId, ReplicaId, Term } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { Logger } from '../../../common/log.ts';
import type { Random } from '../../../common/random.ts';
import type { CatchingUp, Membership, PartitionRecord } from '../../../meta/schema.ts';
import type { RankPool } from '../../encoding/ranks/rank-trees.ts';
import type { Engine, EngineHost } from '../../engine/engine.ts';
import type { RaftConfig } from '../../raft/config.ts';
import type { LeaseConfig } from '../../raft/lease.ts';
import type { PeerMessage, SleepMessage } from '../../raft/message.ts';
import type { RaftStorage } from '../../raft/storage.ts';
import type { RaftLog } from '../../raftlog/raft-log.ts';
import type { KeyEventGate } from '../applying/key-event-gate.ts';
import type { PartitionMeters } from '../host/meters.ts';
import type { WantedMembers } from '../members/convergence.ts';
import type { Companion } from '../proposing/cohort.ts';
import type { ReplicaState } from '../storage/state.ts';
import type { Pace } from '../turns/pace.ts';
import type { ChangesRoom } from '../waiting/followed-changes.ts';

export interface PartitionSettings {
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  /** How far a wall clock may drag group time from the median of the group's clocks. */
  readonly clockSkewMaxMs: number;
  /** Share by which this node's monotone clock may run slower than another's. */
  readonly clockDriftMax: number;
  /** Under leases: how long who heard from a leader helps no other. Equal on all nodes. */
  readonly leasePromiseMs: number;
  /** One append carries entries up to this, and at least one. */
  readonly messageBytesMax: number;
  /** Quiet ticks after which a group sleeps; 0: never (decision 19). */
  readonly sleepAfterTicks: number;
  readonly logKeepEntries: number;
  readonly logKeepBytes: number;
  /** Of the log, while a follower needs what could go. */
  readonly logHeldBytes: number;
  /** Changes of entries that are applied together, held in memory before some are stored early. */
  readonly applyHeldBytes: number;
}

/** Who leads as this replica sees it, and the members it has applied. */
export interface RoleNews {
  /** 0: nobody that it knows. */
  readonly leader: ReplicaId;
  readonly term: Term;
  /** This replica leads. */
  readonly own: boolean;
  readonly membership: Membership;
  /** While it leads. */
  readonly catchingUp: readonly CatchingUp[];
}

/** What the nodes of a group's members apply, as far as this node knows. */
export interface MemberBuilds {
  /** Some node, of whatever group, runs an older build. */
  hasOlderNodes(): boolean;
  /** One that has, or is to have, a replica of the group and does not apply entries of the version. */
  olderNode(version: number, members: readonly ReplicaId[]): NodeId | undefined;
}

/** What a replica needs of its node. */
export interface ReplicaWorld extends MemberBuilds {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly log: RaftLog;
  readonly engines: EngineHost;
  readonly settings: PartitionSettings;
  readonly meters: PartitionMeters;
  readonly pace: Pace;
  /** Its place among the node's writers. */
  readonly cohort: Companion;
  /** What of counted trees its replicas keep. */
  readonly ranks?: RankPool;
  /** What its replicas keep of changes for nodes that ask. */
  readonly changesRoom?: ChangesRoom;
  /** Queues the message for the end of the turn; snapshots are streamed. */
  send(message: PeerMessage | SleepMessage): void;
  isReachable(member: ReplicaId): boolean;
  snapshotProgress(message: PeerMessage, id: number): Promise<number>;
  streamSnapshot(
    message: PeerMessage,
    header: Buffer,
    chunks: AsyncIterable<Buffer>,
  ): Promise<void>;
  /** Asks for a call of `turn` at the end of this event-loop turn. */
  requestTurn(): void;
  /** Asks for a call of `sendLateAppends` in a few milliseconds. */
  requestLateAppends(): void;
  onRole(news: RoleNews): void;
  readonly keyEvents: KeyEventGate;
  /** The replica cannot be trusted or used any more; it has stopped serving. */
  onFault(error: unknown): void;
  /** The members the newest wanted record names. */
  wanted(): WantedMembers;
  /** Reads of the namespace are to be served under leases, as far as this node knows. */
  underLease(): boolean;
  /** A place among the node's changes of membership; see limits.membershipChangesPerNodeMax. */
  beginChange(): boolean;
  endChange(): void;
  /** Its node can be reached, and is not about to stop. */
  mayLead(member: ReplicaId): boolean;
  /** A place among the node's transfers; see limits.leaderTransfersPerNodeMax. */
  beginTransfer(): boolean;
  endTransfer(): void;
  /** Who of its members are sent entries at once; see RaftConfig. */
  readonly judgeRace: RaftConfig['judgeRace'];
  /** Wall clock of another member's node now; undefined while it is not known. */
  wallMs(member: ReplicaId): number | undefined;
}

export interface OpenReplica {
  readonly id: ReplicaId;
  readonly record: PartitionRecord;
  readonly engine: Engine;
  readonly state: ReplicaState;
  /** A life before this one may have promised its vote (`raft/lease.ts`). */
  readonly promised: boolean;
}

/** Everything that keeps a group safe and lively is on. */
export function raftConfig(
  world: ReplicaWorld,
  { id, state, promised }: OpenReplica,
  storage: RaftStorage,
): RaftConfig {
  return {
    id,
    storage,
    applied: state.index,
    random: world.random.fork(`raft-${id}`),
    electionTicks: world.settings.electionTicks,
    heartbeatTicks: world.settings.heartbeatTicks,
    asyncStorageWrites: true,
    preVote: true,
    checkQuorum: true,
    stepDownOnRemoval: true,
    lease: leaseConfig(world, promised),
    readFanout: 'quorum',
    appendFanout: 'quorum',
    judgeRace: world.judgeRace,
    disableProposalForwarding: true,
    disableConfChangeValidation: false,
    messageBytesMax: world.settings.messageBytesMax,
    committedBytesMax: limits.raftCommittedUnappliedBytesMax,
    uncommittedBytesMax: limits.raftUncommittedBytesMax,
    inflightMessagesMax: limits.raftInflightMessagesMax,
    inflightBytesMax: limits.raftInflightBytesMax,
  };
}

/** The lease is over before the promises are, on the clock of any node. */
function leaseConfig(world: ReplicaWorld, promised: boolean): LeaseConfig {
  const { clock, settings } = world;
  const { clockDriftMax, leasePromiseMs: promiseMs } = settings;
  const jumpMs = limits.leaseClockJumpMs;
  return {
    inUse: () => world.underLease(),
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    promiseMs,
    lengthMs: promiseMs * (1 - clockDriftMax) - jumpMs,
    jumpMs,
    promised,
  };
}
