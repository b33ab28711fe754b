/** One message of every type, with large and small numbers. */
import type { WireMessage } from '../../../src/datanode/raft/message.ts';

const LARGE = Number.MAX_SAFE_INTEGER - 2;
const e = { from: 300, to: 5, term: 2 ** 33 + 1 };
const data = Buffer.from('data of an entry');

export const everyMessage: readonly WireMessage[] = [
  {
    type: 'append',
    ...e,
    index: 127,
    logTerm: 128,
    commit: 126,
    entries: [
      { term: 1, index: 128, kind: 'normal', data },
      { term: 1, index: 129, kind: 'confChange', data: Buffer.alloc(0) },
      { term: 2, index: LARGE, kind: 'confChangeV2', data: Buffer.alloc(3, 7) },
    ],
  },
  { type: 'appendResponse', ...e, index: 1, logTerm: 2, reject: true, rejectHint: 3, commit: 4 },
  { type: 'heartbeat', ...e, commit: LARGE, readContext: 2 ** 31 },
  { type: 'heartbeatResponse', ...e, readContext: 2 ** 32 - 1, promised: true },
  {
    type: 'vote',
    ...e,
    index: 2 ** 35,
    logTerm: 16_383,
    transfer: true,
    commit: 126,
    commitTerm: 2,
  },
  { type: 'preVote', ...e, index: 0, logTerm: 16_384, transfer: false, commit: 0, commitTerm: 0 },
  { type: 'voteResponse', ...e, reject: false, commit: LARGE, commitTerm: 2 ** 33 },
  { type: 'preVoteResponse', ...e, reject: true, commit: 127, commitTerm: 128 },
  {
    type: 'snapshot',
    ...e,
    snapshot: {
      index: 10,
      term: 2,
      confState: {
        voters: [1, 2, 3],
        votersOutgoing: [1, 2],
        learners: [400],
        learnersNext: [],
        autoLeave: true,
      },
      data: Buffer.from('snapshot'),
    },
  },
  { type: 'timeoutNow', ...e },
  { type: 'forgetLeader', ...e },
  { type: 'transferLeader', ...e },
  { type: 'propose', ...e, entries: [{ kind: 'normal', data }] },
  { type: 'readIndex', ...e, readContext: 0 },
  { type: 'readIndexResponse', ...e, readContext: 9, index: 12 },
  { type: 'gone', ...e },
  { type: 'sleep', ...e, index: 300, commit: 299 },
  { type: 'asleep', ...e, index: 300, reject: true },
  { type: 'sleepers', ...e, count: 7, digest: 2 ** 32 - 1 },
];
