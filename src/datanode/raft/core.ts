/**
 * The state of one replica and the transitions between its roles. step.ts takes messages and ticks,
 * and hands them to functions over that state: leader.ts, with replication.ts (what it sends),
 * candidate.ts, follower.ts, with receive.ts (what arrives from a leader), and membership.ts.
 * fanout.ts, read-index.ts and lease.ts are what a leader remembers beside; raft.ts is the face.
 *
 * Invariants: term never goes back; one vote per term; role leader implies leader === id.
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import type { RaftConfig, RaftTrace } from './config.ts';
import { Fanout } from './fanout.ts';
import { promiseAnew } from './lease.ts';
import { RaftLog } from './log.ts';
import {
  APPEND_THREAD,
  APPLY_THREAD,
  type ConfState,
  type HardState,
  type Message,
  NONE,
  type PeerMessage,
} from './message.ts';
import { ReadIndex } from './read-index.ts';
import type { ReadState, Role } from './ready.ts';
import { Tracker } from './tracker.ts';

export interface Core {
  readonly id: ReplicaId;
  readonly config: RaftConfig;
  readonly log: RaftLog;
  readonly tracker: Tracker;
  readonly reads: ReadIndex;
  readonly fanout: Fanout;
  readonly trace: ((event: RaftTrace) => void) | undefined;
  term: Term;
  vote: ReplicaId;
  role: Role;
  leader: ReplicaId;
  /** Whom leadership is being handed to. */
  leadTransferee: ReplicaId;
  /** No change of configuration is proposed before this index is applied. */
  pendingConfIndex: LogIndex;
  /**
   * While a snapshot waits for storage: the configuration of what is applied. Entries handed out
   * before may still be applied, and their changes must not touch the snapshot's configuration.
   */
  confBeforeSnapshot: ConfState | undefined;
  /** Data bytes a leader has appended and not seen applied. */
  uncommittedBytes: number;
  /** Ticks since the start. */
  ticks: number;
  /** Under leases: until then a leader may count on not being replaced by this vote. */
  promisedUntilMs: number;
  electionElapsed: number;
  heartbeatElapsed: number;
  randomizedElectionTicks: number;
  /** May leave at once. */
  messages: Message[];
  /** Answers that promise durability: they leave when all that was handed out so far is durable. */
  messagesAfterAppend: PeerMessage[];
  readStates: ReadState[];
}

/** Builds the state from storage. Throws when config or storage contradict themselves. */
export function createCore(config: RaftConfig): Core {
  checkConfig(config);
  const { hardState, confState } = config.storage.initialState();
  const core: Core = {
    id: config.id,
    config,
    log: new RaftLog(config.storage, config.committedBytesMax, config.trace),
    tracker: new Tracker(config.inflightMessagesMax, config.inflightBytesMax),
    reads: new ReadIndex(config.random),
    fanout: new Fanout(),
    trace: config.trace,
    term: hardState.term,
    vote: hardState.vote,
    role: 'follower',
    leader: NONE,
    leadTransferee: NONE,
    pendingConfIndex: 0,
    confBeforeSnapshot: undefined,
    uncommittedBytes: 0,
    ticks: 0,
    promisedUntilMs: Number.NEGATIVE_INFINITY,
    electionElapsed: 0,
    heartbeatElapsed: 0,
    randomizedElectionTicks: config.electionTicks,
    messages: [],
    messagesAfterAppend: [],
    readStates: [],
  };
  promiseAnew(core);
  setConf(core, confState);
  restoreMarks(core, hardState);
  becomeFollower(core, core.term, NONE);
  core.trace?.({
    event: 'started',
    voters: core.tracker.members.filter((replica) => core.tracker.isVoter(replica)),
    term: core.term,
    commit: core.log.committed,
    applied: core.log.applied,
    lastIndex: core.log.lastIndex(),
    lastTerm: core.log.lastTerm(),
  });
  return core;
}

function checkConfig(config: RaftConfig): void {
  const { id, electionTicks, heartbeatTicks } = config;
  assert(
    id !== NONE && id !== APPEND_THREAD && id !== APPLY_THREAD,
    () => `replica id ${id} is reserved`,
  );
  assert(heartbeatTicks > 0, 'heartbeatTicks is positive');
  assert(electionTicks > heartbeatTicks, 'an election takes longer than a heartbeat');
  assert(config.inflightBytesMax >= config.messageBytesMax, 'the window holds one message');
  const { lease } = config;
  assert(lease === undefined || config.checkQuorum, 'leases need checkQuorum');
  assert(lease === undefined || lease.lengthMs < lease.promiseMs, 'a lease ends before a promise');
}

/** The saved commit index may lag behind what was applied; then the latter is committed too. */
function restoreMarks(core: Core, hardState: HardState): void {
  const { log, config } = core;
  const last = log.lastIndex();
  assert(
    hardState.commit <= last,
    () => `commit ${hardState.commit} is behind the last index ${last}`,
  );
  assert(
    config.applied <= last,
    () => `applied ${config.applied} is behind the last index ${last}`,
  );
  assert(
    config.applied === 0 || config.applied >= log.firstIndex() - 1,
    () => `applied ${config.applied} is before the first index ${log.firstIndex()}`,
  );
  log.commitTo(Math.max(hardState.commit, config.applied));
  if (config.applied > 0) log.appliedTo(config.applied, 0);
}

/** The configuration is `conf` from now on; no reaction to it. */
export function setConf(core: Core, conf: ConfState): void {
  core.tracker.switchTo(conf, core.log.lastIndex());
  core.trace?.({ event: 'switchedConf', conf: core.tracker.conf });
}

export function hardStateOf(core: Core): HardState {
  return { term: core.term, vote: core.vote, commit: core.log.committed };
}

/** A member that votes, has its configuration, and has no snapshot to install first. */
export function promotable(core: Core): boolean {
  const own = core.tracker.progress(core.id);
  return own !== undefined && !own.learner && !core.log.hasPendingSnapshot();
}

/** True once an entry of this term is committed: only then is the commit index known to be current. */
export function committedInTerm(core: Core): boolean {
  return core.log.termOrZero(core.log.committed) === core.term;
}

/** Queues a message that may leave at once. */
export function send(core: Core, message: PeerMessage): void {
  assert(message.to !== core.id, () => `${message.type} is never sent to oneself`);
  core.messages.push(message);
}

/**
 * Queues an answer that leaves only when the term, vote, entries and snapshot it rests on are
 * durable (thesis 3.8), also when it is a refusal or addressed to this replica itself.
 */
export function sendAfterAppend(core: Core, message: PeerMessage): void {
  core.messagesAfterAppend.push(message);
}

/** Acknowledges (or, with `reject`, refuses) an append to `to`. */
export function sendAppendResponse(
  core: Core,
  to: ReplicaId,
  index: LogIndex,
  rejection?: { readonly hint: LogIndex; readonly term: Term },
): void {
  sendAfterAppend(core, {
    type: 'appendResponse',
    from: core.id,
    to,
    term: core.term,
    index,
    logTerm: rejection?.term ?? 0,
    reject: rejection !== undefined,
    rejectHint: rejection?.hint ?? 0,
    commit: core.log.committed,
  });
}

export function becomeFollower(core: Core, term: Term, leader: ReplicaId): void {
  reset(core, term);
  core.leader = leader;
  core.role = 'follower';
  core.trace?.({ event: 'becameFollower', term: core.term });
}

/** Opens a new term and votes for itself. */
export function becomeCandidate(core: Core): void {
  assert(core.role !== 'leader', 'a leader never campaigns');
  reset(core, core.term + 1);
  core.vote = core.id;
  core.role = 'candidate';
  core.trace?.({ event: 'becameCandidate', term: core.term });
}

/** Asks whether an election could be won; term and vote stay (thesis 9.6). */
export function becomePreCandidate(core: Core): void {
  assert(core.role !== 'leader', 'a leader never campaigns');
  core.tracker.resetVotes();
  core.leader = NONE;
  core.role = 'preCandidate';
  core.trace?.({ event: 'becamePreCandidate', term: core.term });
}

/**
 * After a sleep: a leader beats at its next tick and has no lease, a follower waits a whole timeout,
 * newly drawn.
 */
export function restartTimers(core: Core): void {
  const { electionTicks, heartbeatTicks, random } = core.config;
  core.electionElapsed = 0;
  core.heartbeatElapsed = heartbeatTicks;
  core.randomizedElectionTicks = electionTicks + random.below(electionTicks);
  core.reads.endLease();
}

/** Drops all that belonged to the former term or role. */
export function reset(core: Core, term: Term): void {
  assert(Number.isSafeInteger(term) && term >= core.term, 'the term never goes back');
  if (core.term !== term) {
    core.term = term;
    core.vote = NONE;
  }
  core.leader = NONE;
  core.electionElapsed = 0;
  core.heartbeatElapsed = 0;
  const { electionTicks, random } = core.config;
  core.randomizedElectionTicks = electionTicks + random.below(electionTicks);
  core.leadTransferee = NONE;
  core.tracker.resetVotes();
  const last = core.log.lastIndex();
  for (const replica of core.tracker.members) {
    core.tracker.member(replica).reset(replica === core.id ? last : 0, last + 1);
  }
  core.pendingConfIndex = 0;
  core.uncommittedBytes = 0;
  core.reads.reset();
  core.fanout.reset();
}
