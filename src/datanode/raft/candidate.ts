/** Elections: asking for votes, and counting them. Pre-candidate and candidate share this file. */
import type { ReplicaId } from '../../common/ids.ts';
import {
  becomeCandidate,
  becomeFollower,
  becomePreCandidate,
  type Core,
  promotable,
  send,
  sendAfterAppend,
} from './core.ts';
import { becomeLeader } from './leader.ts';
import { type CommitMark, NONE, type PeerMessage } from './message.ts';
import { receiveFromLeader } from './receive.ts';
import { broadcastAppend } from './replication.ts';

/** `transfer`: the leader asked for it, so there is no pre-vote and leases do not hinder it. */
export type Campaign = 'preElection' | 'election' | 'transfer';

/** Starts an election if this replica may: it votes, is not leader, and knows its configuration. */
export function campaignIfAllowed(core: Core, campaign: Campaign): void {
  if (core.role === 'leader') {
    core.trace?.({ event: 'campaignAsLeader' });
  } else if (!promotable(core)) {
    core.trace?.({ event: 'unpromotable' });
  } else if (core.log.hasUnappliedConfChange()) {
    core.trace?.({ event: 'campaignWithPendingConf', term: core.term });
  } else {
    core.trace?.({ event: 'campaigning', term: core.term });
    startCampaign(core, campaign);
  }
}

/** The election that a timeout starts. */
export function electionOf(core: Core): Campaign {
  return core.config.preVote ? 'preElection' : 'election';
}

function startCampaign(core: Core, campaign: Campaign): void {
  const pre = campaign === 'preElection';
  if (pre) becomePreCandidate(core);
  else becomeCandidate(core);
  // A pre-vote is for the term that would follow.
  const term = pre ? core.term + 1 : core.term;
  const { log, tracker } = core;
  for (const replica of tracker.members) {
    if (!tracker.isVoter(replica)) continue;
    if (replica === core.id) {
      // The own vote counts when it is durable.
      const type = pre ? 'preVoteResponse' : 'voteResponse';
      const own = { type, from: core.id, to: core.id, term, reject: false } as const;
      sendAfterAppend(core, { ...own, ...commitMark(core) });
      continue;
    }
    const type = pre ? 'preVote' : 'vote';
    const index = log.lastIndex();
    const logTerm = log.lastTerm();
    core.trace?.({ event: 'sentVoteRequest', type, to: replica, index, logTerm, term: core.term });
    const transfer = campaign === 'transfer';
    const request = { type, from: core.id, to: replica, term, index, logTerm, transfer } as const;
    send(core, { ...request, ...commitMark(core) });
  }
}

/** What this replica knows to be committed, for a message about an election. */
export function commitMark({ log }: Core): CommitMark {
  return { commit: log.committed, commitTerm: log.termOrZero(log.committed) };
}

/**
 * Voters and candidates tell each other what is committed, whatever their terms are and however
 * late it is heard. Else a group could stay without a leader: one that a change of members demotes
 * steps down once it has applied the change, and when its last messages are lost, those who still
 * count by the configuration before need the votes of replicas that no longer campaign and, with
 * longer logs, vote for nobody. A leader counts for itself.
 */
export function learnCommit(core: Core, { commit, commitTerm }: CommitMark): void {
  if (core.role === 'leader' || !core.log.maybeCommit(commit, commitTerm)) return;
  core.trace?.({ event: 'learnedCommit', commit, term: core.term });
  // No election is won by a configuration that is known to be over: the next one counts anew.
  if (core.role !== 'follower' && core.log.hasUnappliedConfChange()) {
    becomeFollower(core, core.term, NONE);
  }
}

export function stepCandidate(core: Core, message: PeerMessage): void {
  switch (message.type) {
    case 'append':
    case 'heartbeat':
    case 'snapshot':
      becomeFollower(core, message.term, message.from);
      receiveFromLeader(core, message);
      return;
    case 'preVoteResponse':
      if (core.role === 'preCandidate') countVote(core, message.from, message.type, message.reject);
      return;
    case 'voteResponse':
      if (core.role === 'candidate') countVote(core, message.from, message.type, message.reject);
      return;
    case 'timeoutNow':
      core.trace?.({ event: 'timeoutNowIgnored', from: message.from, role: core.role });
      return;
    case 'propose':
    case 'appendResponse':
    case 'heartbeatResponse':
    case 'vote':
    case 'preVote':
    case 'forgetLeader':
    case 'transferLeader':
    case 'readIndex':
    case 'readIndexResponse':
      return;
  }
}

function countVote(
  core: Core,
  from: ReplicaId,
  type: 'preVoteResponse' | 'voteResponse',
  reject: boolean,
): void {
  core.trace?.({ event: 'receivedVote', from, type, reject, term: core.term });
  core.tracker.recordVote(from, !reject);
  const { granted, rejected, result } = core.tracker.tally();
  core.trace?.({ event: 'tallied', type, granted, rejected });
  if (result === 'won') {
    if (core.role === 'preCandidate') {
      startCampaign(core, 'election');
    } else {
      becomeLeader(core);
      broadcastAppend(core);
    }
  } else if (result === 'lost') {
    // A pre-vote's answer carries a future term: ours stays.
    becomeFollower(core, core.term, NONE);
  }
}
