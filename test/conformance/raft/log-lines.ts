/**
 * Turns the core's trace events into the log lines that the interaction files print (level L3).
 * The texts live here: the core knows only events.
 */
import type { RaftTrace } from '../../../src/datanode/raft/config.ts';
import type { RaftLog } from '../../../src/datanode/raft/log.ts';
import type {
  ConfChange,
  ConfState,
  EntryKind,
  Message,
  Snapshot,
} from '../../../src/datanode/raft/message.ts';
import type { Progress } from '../../../src/datanode/raft/progress.ts';
import type { Role } from '../../../src/datanode/raft/ready.ts';
import {
  describeConf,
  describeConfState,
  describeProgress,
  hex,
  MESSAGE_NAMES,
  ROLE_NAMES,
} from './describe.ts';

export const LEVELS = ['DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL', 'NONE'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogLine {
  readonly level: Level;
  readonly text: string;
}

type Field = (name: string) => number;
type Template = (id: string, event: RaftTrace, field: Field) => string;

const TYPES = {
  add: 'ConfChangeAddNode',
  addLearner: 'ConfChangeAddLearnerNode',
  remove: 'ConfChangeRemoveNode',
  update: 'ConfChangeUpdateNode',
} as const;

const TRANSITIONS = {
  auto: 'ConfChangeTransitionAuto',
  implicit: 'ConfChangeTransitionJointImplicit',
  explicit: 'ConfChangeTransitionJointExplicit',
} as const;

const conf = (event: RaftTrace) => describeConf(event['conf'] as ConfState);
const type = (event: RaftTrace) => MESSAGE_NAMES[event['type'] as Message['type']];
const progress = (event: RaftTrace) => describeProgress((event['progress'] as Progress).status());

const voter: Template = (id, _event, f) =>
  `${id} [logterm: ${f('lastTerm')}, index: ${f('lastIndex')}, vote: ${hex(f('vote'))}]`;
const candidate: Template = (_id, event, f) =>
  `${hex(f('from'))} [logterm: ${f('logTerm')}, index: ${f('index')}] at term ${event['term']}`;

const TEMPLATES: Readonly<Record<string, readonly [Level, Template]>> = {
  started: [
    'INFO',
    (id, event, f) =>
      `newRaft ${id} [peers: [${(event['voters'] as number[]).map(hex).join(',')}], ` +
      `term: ${f('term')}, commit: ${f('commit')}, applied: ${f('applied')}, ` +
      `lastindex: ${f('lastIndex')}, lastterm: ${f('lastTerm')}]`,
  ],
  switchedConf: ['INFO', (id, event) => `${id} switched to configuration ${conf(event)}`],
  becameFollower: ['INFO', (id, _, f) => `${id} became follower at term ${f('term')}`],
  becameCandidate: ['INFO', (id, _, f) => `${id} became candidate at term ${f('term')}`],
  becamePreCandidate: ['INFO', (id, _, f) => `${id} became pre-candidate at term ${f('term')}`],
  becameLeader: ['INFO', (id, _, f) => `${id} became leader at term ${f('term')}`],
  campaigning: ['INFO', (id, _, f) => `${id} is starting a new election at term ${f('term')}`],
  learnedCommit: [
    'INFO',
    (id, _, f) => `${id} learned at term ${f('term')} that ${f('commit')} is committed`,
  ],
  campaignAsLeader: ['DEBUG', (id) => `${id} ignoring MsgHup because already leader`],
  unpromotable: ['WARN', (id) => `${id} is unpromotable and can not campaign`],
  campaignWithPendingConf: [
    'WARN',
    (id, _, f) =>
      `${id} cannot campaign at term ${f('term')} since there are still pending ` +
      'configuration changes to apply',
  ],
  sentVoteRequest: [
    'INFO',
    (id, event, f) =>
      `${id} [logterm: ${f('logTerm')}, index: ${f('index')}] sent ${type(event)} request ` +
      `to ${hex(f('to'))} at term ${f('term')}`,
  ],
  receivedVote: [
    'INFO',
    (id, event, f) =>
      `${id} received ${type(event)}${event['reject'] ? ' rejection' : ''} ` +
      `from ${hex(f('from'))} at term ${f('term')}`,
  ],
  tallied: [
    'INFO',
    (id, event, f) =>
      `${id} has received ${f('granted')} ${type(event)} votes and ` +
      `${f('rejected')} vote rejections`,
  ],
  higherTerm: [
    'INFO',
    (id, event, f) =>
      `${id} [term: ${f('ours')}] received a ${type(event)} message with higher term ` +
      `from ${hex(f('from'))} [term: ${f('term')}]`,
  ],
  lowerTerm: [
    'INFO',
    (id, event, f) =>
      `${id} [term: ${f('ours')}] ignored a ${type(event)} message with lower term ` +
      `from ${hex(f('from'))} [term: ${f('term')}]`,
  ],
  castVote: [
    'INFO',
    (id, event, f) => `${voter(id, event, f)} cast ${type(event)} for ${candidate(id, event, f)}`,
  ],
  rejectedVote: [
    'INFO',
    (id, event, f) =>
      `${voter(id, event, f)} rejected ${type(event)} from ${candidate(id, event, f)}`,
  ],
  ignoredVote: [
    'INFO',
    (id, event, f) =>
      `${voter(id, event, f)} ignored ${type(event)} from ${candidate(id, event, f)}: ` +
      `lease is not expired (remaining ticks: ${f('remaining')})`,
  ],
  oldAppendDone: [
    'INFO',
    (id, _, f) =>
      `${id} [term: ${f('ours')}] ignored entry appends from a MsgStorageAppendResp message ` +
      `with lower term [term: ${f('term')}]`,
  ],
  stableMissing: [
    'INFO',
    (_id, _, f) => `entry at index ${f('index')} missing from unstable log; ignoring`,
  ],
  stableIsSnapshot: [
    'INFO',
    (_id, _, f) => `entry at index ${f('index')} matched unstable snapshot; ignoring`,
  ],
  stableMismatch: [
    'INFO',
    (_id, _, f) =>
      `entry at (index,term)=(${f('index')},${f('term')}) mismatched with entry at ` +
      `(${f('index')},${f('ours')}) in unstable log; ignoring`,
  ],
  tailReplaced: ['INFO', (_id, _, f) => `replace the unstable entries from index ${f('index')}`],
  tailTruncated: [
    'INFO',
    (_id, _, f) => `truncate the unstable entries before index ${f('index')}`,
  ],
  conflict: [
    'INFO',
    (_id, _, f) =>
      `found conflict at index ${f('index')} [existing term: ${f('existing')}, ` +
      `conflicting term: ${f('conflicting')}]`,
  ],
  rejectedAppend: [
    'DEBUG',
    (id, _, f) =>
      `${id} [logterm: ${f('ours')}, index: ${f('index')}] rejected MsgApp ` +
      `[logterm: ${f('logTerm')}, index: ${f('index')}] from ${hex(f('from'))}`,
  ],
  appendRejected: [
    'DEBUG',
    (id, _, f) =>
      `${id} received MsgAppResp(rejected, hint: (index ${f('hint')}, term ${f('term')})) ` +
      `from ${hex(f('from'))} for index ${f('index')}`,
  ],
  progressDecreased: [
    'DEBUG',
    (id, event, f) => `${id} decreased progress of ${hex(f('from'))} to [${progress(event)}]`,
  ],
  noProgress: ['DEBUG', (id, _, f) => `${id} no progress available for ${hex(f('from'))}`],
  snapshotNotSent: [
    'DEBUG',
    (id, event, f) =>
      event['reason'] === 'inactive'
        ? `ignore sending snapshot to ${hex(f('to'))} since it is not recently active`
        : `${id} failed to send snapshot to ${hex(f('to'))} because snapshot is ` +
          'temporarily unavailable',
  ],
  sentSnapshot: [
    'DEBUG',
    (id, event, f) =>
      `${id} [firstindex: ${f('firstIndex')}, commit: ${f('commit')}] sent ` +
      `snapshot[index: ${f('index')}, term: ${f('term')}] to ${hex(f('to'))} [${progress(event)}]`,
  ],
  pausedReplication: [
    'DEBUG',
    (id, event, f) =>
      `${id} paused sending replication messages to ${hex(f('to'))} [${progress(event)}]`,
  ],
  recoveredFromSnapshot: [
    'DEBUG',
    (id, event, f) =>
      `${id} recovered from needing snapshot, resumed sending replication messages ` +
      `to ${hex(f('from'))} [${progress(event)}]`,
  ],
  snapshotReported: [
    'DEBUG',
    (id, event, f) =>
      `${id} snapshot ${event['outcome'] === 'sent' ? 'succeeded' : 'failed'}, resumed sending ` +
      `replication messages to ${hex(f('replica'))} [${progress(event)}]`,
  ],
  unreachable: [
    'DEBUG',
    (id, event, f) =>
      `${id} failed to send message to ${hex(f('replica'))} because it is unreachable ` +
      `[${progress(event)}]`,
  ],
  logRestores: [
    'INFO',
    (_id, event) => {
      const log = event['log'] as RaftLog;
      const { index, term } = event['snapshot'] as Snapshot;
      const { offset, handedOut, length } = log.unstable;
      return (
        `log [committed=${log.committed}, applied=${log.applied}, applying=${log.applying}, ` +
        `unstable.offset=${offset}, unstable.offsetInProgress=${handedOut}, ` +
        `len(unstable.Entries)=${length}] starts to restore snapshot [index: ${index}, ` +
        `term: ${term}]`
      );
    },
  ],
  restored: [
    'INFO',
    (id, _, f) =>
      `${id} [commit: ${f('commit')}, lastindex: ${f('lastIndex')}, lastterm: ${f('lastTerm')}] ` +
      `restored snapshot [index: ${f('index')}, term: ${f('term')}]`,
  ],
  snapshotNotNeeded: [
    'INFO',
    (id, _, f) =>
      `${id} [commit: ${f('commit')}, lastindex: ${f('lastIndex')}, lastterm: ${f('lastTerm')}] ` +
      `fast-forwarded commit to snapshot [index: ${f('index')}, term: ${f('term')}]`,
  ],
  snapshotTaken: [
    'INFO',
    (id, _, f) =>
      `${id} [commit: ${f('commit')}] restored snapshot ` +
      `[index: ${f('index')}, term: ${f('term')}]`,
  ],
  snapshotIgnored: [
    'INFO',
    (id, _, f) =>
      `${id} [commit: ${f('commit')}] ignored snapshot ` +
      `[index: ${f('index')}, term: ${f('term')}]`,
  ],
  snapshotAsLeader: [
    'WARN',
    (id) => `${id} attempted to restore snapshot as leader; should never happen`,
  ],
  snapshotWithoutSelf: [
    'WARN',
    (id, event) =>
      `${id} attempted to restore snapshot but it is not in the ConfState ` +
      `${describeConfState(event['confState'] as ConfState)}; should never happen`,
  ],
  proposalWithoutLeader: [
    'INFO',
    (id, _, f) => `${id} no leader at term ${f('term')}; dropping proposal`,
  ],
  proposalNotForwarded: [
    'INFO',
    (id, _, f) =>
      `${id} not forwarding to leader ${hex(f('leader'))} at term ${f('term')}; dropping proposal`,
  ],
  proposalDuringTransfer: [
    'DEBUG',
    (id, event, f) =>
      `${id} [term ${event['term'] ?? 0}] transfer leadership to ${hex(f('transferee'))} ` +
      'is in progress; dropping proposal',
  ],
  proposalOverLimit: [
    'WARN',
    (id) =>
      `${id} appending new entries to log would exceed uncommitted entry size limit; ` +
      'dropping proposal',
  ],
  confChangeIgnored: ['INFO', (id, event, f) => ignoredConfChange(id, event, f)],
  autoLeave: [
    'INFO',
    (_id, event) => `initiating automatic transition out of joint configuration ${conf(event)}`,
  ],
  autoLeaveRefused: [
    'DEBUG',
    (_id, event) =>
      `not initiating automatic transition out of joint configuration ${conf(event)}: ` +
      'raft proposal dropped',
  ],
  quorumLost: ['WARN', (id) => `${id} stepped down to follower since quorum is not active`],
  transferToLearner: ['DEBUG', (id) => `${id} is learner. Ignored transferring leadership`],
  transferToSelf: [
    'DEBUG',
    (id) => `${id} is already leader. Ignored transferring leadership to self`,
  ],
  transferRepeated: [
    'INFO',
    (id, _, f) =>
      `${id} [term ${f('term')}] transfer leadership to ${hex(f('to'))} is in progress, ` +
      `ignores request to same node ${hex(f('to'))}`,
  ],
  transferAborted: [
    'INFO',
    (id, _, f) =>
      `${id} [term ${f('term')}] abort previous transferring leadership to ${hex(f('to'))}`,
  ],
  transferStarted: [
    'INFO',
    (id, _, f) => `${id} [term ${f('term')}] starts to transfer leadership to ${hex(f('to'))}`,
  ],
  transferWithoutLeader: [
    'INFO',
    (id, _, f) => `${id} no leader at term ${f('term')}; dropping leader transfer msg`,
  ],
  timeoutNowAtOnce: [
    'INFO',
    (id, _, f) =>
      `${id} sends MsgTimeoutNow to ${hex(f('to'))} immediately as ${hex(f('to'))} ` +
      'already has up-to-date log',
  ],
  timeoutNowAfterCatchUp: [
    'INFO',
    (id, _, f) => `${id} sent MsgTimeoutNow to ${hex(f('to'))} after received MsgAppResp`,
  ],
  timeoutNow: [
    'INFO',
    (id, _, f) =>
      `${id} [term ${f('term')}] received MsgTimeoutNow from ${hex(f('from'))} and starts an ` +
      'election to get leadership.',
  ],
  timeoutNowIgnored: [
    'DEBUG',
    (id, event, f) =>
      `${id} [term ${f('term')} state ${ROLE_NAMES[event['role'] as Role]}] ` +
      `ignored MsgTimeoutNow from ${hex(f('from'))}`,
  ],
  forgetLeaderRefused: ['ERROR', () => 'ignoring MsgForgetLeader due to ReadOnlyLeaseBased'],
  forgetLeader: [
    'INFO',
    (id, _, f) => `${id} forgetting leader ${hex(f('leader'))} at term ${f('term')}`,
  ],
};

/** The line for `event` of replica `id`. Throws for an event that has no text here. */
export function logLine(id: number, event: RaftTrace): LogLine {
  const template = TEMPLATES[event.event];
  if (template === undefined) throw new Error(`no text for the event ${event.event}`);
  const field: Field = (name) => {
    const value = event[name];
    if (typeof value !== 'number') throw new Error(`${event.event} has no number ${name}`);
    return value;
  };
  return { level: template[0], text: template[1](hex(id), event, field) };
}

function ignoredConfChange(id: string, event: RaftTrace, f: Field): string {
  const change = event['change'] as ConfChange;
  const steps = change.steps.map((step) => {
    const name = TYPES[step.kind === 'addVoter' ? 'add' : step.kind];
    return `type:${name} node_id:${step.replica}`;
  });
  const text =
    (event['kind'] as EntryKind) === 'confChange'
      ? steps.join(' ')
      : [
          `transition:${TRANSITIONS[change.transition]}`,
          ...steps.map((step) => `changes:{${step}}`),
        ].join(' ');
  let why = 'not in joint state; refusing empty conf change';
  if (event['refusal'] === 'conf-change-pending') {
    why =
      `possible unapplied conf change at index ${f('pendingIndex')} ` +
      `(applied to ${f('applied')})`;
  } else if (event['joint']) {
    why = 'must transition out of joint config first';
  }
  return `${id} ignoring conf change ${text} at config ${conf(event)}: ${why}`;
}
