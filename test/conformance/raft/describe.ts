/** The text forms in which the interaction files print what a replica does. */
import { members } from '../../../src/datanode/raft/conf-change.ts';
import { decodeConfChange } from '../../../src/datanode/raft/conf-change-codec.ts';
import {
  APPEND_THREAD,
  APPLY_THREAD,
  type ConfChangeStep,
  type ConfState,
  type Entry,
  type HardState,
  type Message,
  type Snapshot,
} from '../../../src/datanode/raft/message.ts';
import type { ProgressStatus, Ready, Role } from '../../../src/datanode/raft/ready.ts';

/** What our own transcripts show beyond the public form. */
export interface DescribeOptions {
  /** Print the numbers of read rounds. */
  readonly reads: boolean;
}

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  follower: 'StateFollower',
  candidate: 'StateCandidate',
  preCandidate: 'StatePreCandidate',
  leader: 'StateLeader',
};

export const MESSAGE_NAMES: Readonly<Record<Message['type'], string>> = {
  append: 'MsgApp',
  appendResponse: 'MsgAppResp',
  heartbeat: 'MsgHeartbeat',
  heartbeatResponse: 'MsgHeartbeatResp',
  vote: 'MsgVote',
  voteResponse: 'MsgVoteResp',
  preVote: 'MsgPreVote',
  preVoteResponse: 'MsgPreVoteResp',
  snapshot: 'MsgSnap',
  timeoutNow: 'MsgTimeoutNow',
  forgetLeader: 'MsgForgetLeader',
  transferLeader: 'MsgTransferLeader',
  propose: 'MsgProp',
  readIndex: 'MsgReadIndex',
  readIndexResponse: 'MsgReadIndexResp',
  storageAppend: 'MsgStorageAppend',
  storageAppendResponse: 'MsgStorageAppendResp',
  storageApply: 'MsgStorageApply',
  storageApplyResponse: 'MsgStorageApplyResp',
};

const ENTRY_NAMES = {
  normal: 'EntryNormal',
  confChange: 'EntryConfChange',
  confChangeV2: 'EntryConfChangeV2',
} as const;

const STEP_LETTERS = { addVoter: 'v', addLearner: 'l', remove: 'r', update: 'u' } as const;

export function describeReady(ready: Ready, options: DescribeOptions): string {
  const lines: string[] = [];
  const { softState, hardState, readStates, snapshot } = ready;
  if (softState !== undefined) {
    lines.push(`Lead:${softState.leader} State:${ROLE_NAMES[softState.role]}`);
  }
  if (hardState !== undefined) lines.push(`HardState ${describeHardState(hardState)}`);
  if (readStates.length > 0) {
    const states = readStates.map((read) => `{Index:${read.index} Ctx:${read.readContext}}`);
    lines.push(`ReadStates [${states.join(' ')}]`);
  }
  if (ready.entries.length > 0) lines.push('Entries:', ...ready.entries.map(describeEntry));
  if (snapshot !== undefined) lines.push(`Snapshot ${describeSnapshot(snapshot)}`);
  if (ready.committedEntries.length > 0) {
    lines.push('CommittedEntries:', ...ready.committedEntries.map(describeEntry));
  }
  if (ready.messages.length > 0) {
    lines.push('Messages:', ...ready.messages.map((message) => describeMessage(message, options)));
  }
  if (lines.length === 0) return '<empty Ready>';
  return `Ready MustSync=${ready.mustSync}:\n${lines.join('\n')}\n`;
}

function describeHardState({ term, vote, commit }: HardState): string {
  return `Term:${term}${vote === 0 ? '' : ` Vote:${vote}`} Commit:${commit}`;
}

/** Without the line's end; lines after the first are indented relative to `indent`. */
export function describeMessage(message: Message, options: DescribeOptions, indent = ''): string {
  const fields = fieldsOf(message);
  let text = `${indent}${target(message.from)}->${target(message.to)} ${MESSAGE_NAMES[message.type]}`;
  text += ` Term:${message.term} Log:${fields.logTerm ?? 0}/${fields.index ?? 0}`;
  if (fields.reject) text += ` Rejected (Hint: ${fields.hint ?? 0})`;
  if (fields.commit) text += ` Commit:${fields.commit}`;
  if (fields.vote) text += ` Vote:${fields.vote}`;
  if (options.reads && fields.readContext) text += ` Ctx:${fields.readContext}`;
  const entries = fields.entries ?? [];
  if (entries.length === 1) {
    text += ` Entries:[${describeEntry(entries[0]!)}]`;
  } else if (entries.length > 1) {
    const lines = entries.map((entry) => `\n${indent}  ${describeEntry(entry)}`);
    text += ` Entries:[${lines.join('')}\n${indent}]`;
  }
  if (fields.snapshot !== undefined) {
    text += `\n${indent}  Snapshot: ${describeSnapshot(fields.snapshot)}`;
  }
  const responses = fields.responses ?? [];
  if (responses.length > 0) {
    const lines = responses.map((each) => `\n${describeMessage(each, options, `${indent}  `)}`);
    text += ` Responses:[${lines.join('')}\n${indent}]`;
  }
  return text;
}

interface Fields {
  index?: number;
  logTerm?: number;
  reject?: boolean;
  hint?: number;
  commit?: number;
  vote?: number;
  readContext?: number;
  entries?: readonly Entry[];
  snapshot?: Snapshot | undefined;
  responses?: readonly Message[];
}

function fieldsOf(message: Message): Fields {
  switch (message.type) {
    case 'append': {
      const { index, logTerm, commit, entries } = message;
      return { index, logTerm, commit, entries };
    }
    case 'appendResponse': {
      const { index, logTerm, reject, rejectHint } = message;
      return { index, logTerm, reject, hint: rejectHint };
    }
    case 'heartbeat':
      return { commit: message.commit, readContext: message.readContext };
    case 'heartbeatResponse':
    case 'readIndex':
      return { readContext: message.readContext };
    case 'readIndexResponse':
      return { index: message.index, readContext: message.readContext };
    case 'vote':
    case 'preVote':
      return { index: message.index, logTerm: message.logTerm };
    case 'voteResponse':
    case 'preVoteResponse':
      return { reject: message.reject };
    case 'snapshot':
      return { snapshot: message.snapshot };
    case 'propose':
      return { entries: message.entries.map((entry) => ({ ...entry, term: 0, index: 0 })) };
    case 'storageAppend': {
      const { entries, snapshot, responses, hardState } = message;
      const { commit = 0, vote = 0 } = hardState ?? {};
      return { commit, vote, entries, snapshot, responses };
    }
    case 'storageAppendResponse':
      return { index: message.index, logTerm: message.logTerm, snapshot: message.snapshot };
    case 'storageApply':
      return { entries: message.entries, responses: message.responses };
    case 'storageApplyResponse':
      return { entries: message.entries };
    case 'timeoutNow':
    case 'forgetLeader':
    case 'transferLeader':
      return {};
  }
}

function target(id: number): string {
  if (id === APPEND_THREAD) return 'AppendThread';
  if (id === APPLY_THREAD) return 'ApplyThread';
  return id === 0 ? 'None' : hex(id);
}

export function hex(id: number): string {
  return id.toString(16);
}

export function describeEntry(entry: Entry): string {
  const payload =
    entry.kind === 'normal'
      ? JSON.stringify(Buffer.from(entry.data).toString())
      : describeSteps(decodeConfChange(entry.data).steps);
  const text = payload === '' ? '' : ` ${payload}`;
  return `${entry.term}/${entry.index} ${ENTRY_NAMES[entry.kind]}${text}`;
}

export function describeSteps(steps: readonly ConfChangeStep[]): string {
  return steps.map((step) => `${STEP_LETTERS[step.kind]}${step.replica}`).join(' ');
}

/** Tokens vN, lN, rN, uN. */
export function parseSteps(text: string): ConfChangeStep[] {
  const kinds = { v: 'addVoter', l: 'addLearner', r: 'remove', u: 'update' } as const;
  return text
    .split(/\s+/)
    .filter((token) => token !== '')
    .map((token) => {
      const kind = kinds[token.charAt(0) as keyof typeof kinds];
      if (kind === undefined) throw new Error(`unknown step ${token}`);
      return { kind, replica: Number(token.slice(1)) };
    });
}

export function describeSnapshot(snapshot: Snapshot): string {
  const { index, term, confState } = snapshot;
  return `Index:${index} Term:${term} ConfState:${describeConfState(confState)}`;
}

export function describeConfState(conf: ConfState): string {
  const list = (ids: readonly number[]) => `[${ids.join(' ')}]`;
  return (
    `Voters:${list(conf.voters)} VotersOutgoing:${list(conf.votersOutgoing)} ` +
    `Learners:${list(conf.learners)} LearnersNext:${list(conf.learnersNext)} ` +
    `AutoLeave:${conf.autoLeave}`
  );
}

/** The short form: voters=(1 2)&&(1 3) learners=(4) learners_next=(1) autoleave. */
export function describeConf(conf: ConfState): string {
  const list = (ids: readonly number[]) => `(${ids.join(' ')})`;
  let text = `voters=${list(conf.voters)}`;
  if (conf.votersOutgoing.length > 0) text += `&&${list(conf.votersOutgoing)}`;
  if (conf.learners.length > 0) text += ` learners=${list(conf.learners)}`;
  if (conf.learnersNext.length > 0) text += ` learners_next=${list(conf.learnersNext)}`;
  return conf.autoLeave ? `${text} autoleave` : text;
}

export function voterIds(conf: ConfState): number[] {
  return members({ ...conf, learners: [], learnersNext: [] });
}

const PROGRESS_NAMES = {
  probe: 'StateProbe',
  replicate: 'StateReplicate',
  snapshot: 'StateSnapshot',
} as const;

export function describeProgress(progress: Omit<ProgressStatus, 'replica'>): string {
  let text = `${PROGRESS_NAMES[progress.state]} match=${progress.match} next=${progress.next}`;
  if (progress.learner) text += ' learner';
  if (progress.paused) text += ' paused';
  if (progress.pendingSnapshot > 0) text += ` pendingSnap=${progress.pendingSnapshot}`;
  if (!progress.recentActive) text += ' inactive';
  if (progress.inflight > 0) {
    text += ` inflight=${progress.inflight}${progress.inflightFull ? '[full]' : ''}`;
  }
  return text;
}
