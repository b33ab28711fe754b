/** What a follower does with the messages of its term. */
import { campaignIfAllowed } from './candidate.ts';
import { type Core, send } from './core.ts';
import { holdsVote } from './lease.ts';
import { NONE, type PeerMessage } from './message.ts';
import { receiveFromLeader } from './receive.ts';

export function stepFollower(core: Core, message: PeerMessage): void {
  switch (message.type) {
    case 'append':
    case 'heartbeat':
    case 'snapshot':
      core.electionElapsed = 0;
      core.leader = message.from;
      receiveFromLeader(core, message);
      return;
    case 'timeoutNow':
      core.trace?.({ event: 'timeoutNow', from: message.from, term: core.term });
      campaignIfAllowed(core, 'transfer');
      return;
    case 'transferLeader':
      if (core.leader === NONE) core.trace?.({ event: 'transferWithoutLeader', term: core.term });
      else send(core, { ...message, to: core.leader, term: core.term });
      return;
    case 'forgetLeader':
      forgetLeader(core);
      return;
    case 'readIndexResponse':
      // else it would answer what was asked since, too
      if (!core.reads.hasGiven(message.readContext)) return;
      core.readStates.push({ readContext: message.readContext, index: message.index });
      return;
    case 'propose':
    case 'appendResponse':
    case 'heartbeatResponse':
    case 'vote':
    case 'preVote':
    case 'voteResponse':
    case 'preVoteResponse':
    // A read request is not passed on: its sender asks the new leader itself.
    case 'readIndex':
      return;
  }
}

/** Votes may be granted again before the election timeout, but not while a promise holds. */
function forgetLeader(core: Core): void {
  if (holdsVote(core)) {
    core.trace?.({ event: 'forgetLeaderRefused' });
  } else if (core.leader !== NONE) {
    core.trace?.({ event: 'forgetLeader', leader: core.leader, term: core.term });
    core.leader = NONE;
  }
}
