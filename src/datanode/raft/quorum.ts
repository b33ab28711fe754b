/**
 * Arithmetic of majorities and of joint majorities (paper section 6, thesis 4.3). Pure functions.
 * The empty majority agrees with everything, so a joint quorum with an empty half is the other half.
 */
import type { ReplicaId } from '../../common/ids.ts';

export type VoteResult = 'won' | 'lost' | 'pending';

/** The two halves of a configuration; `votersOutgoing` is empty unless it is joint. */
export interface Quorum {
  readonly voters: readonly ReplicaId[];
  readonly votersOutgoing: readonly ReplicaId[];
}

/** What each voter acknowledged; undefined counts as zero. */
export type Acknowledged = (replica: ReplicaId) => number | undefined;

/** The largest number that a majority of `voters` has reached; Infinity for the empty majority. */
export function majorityCommitted(
  voters: readonly ReplicaId[],
  acknowledged: Acknowledged,
): number {
  const count = voters.length;
  if (count === 0) return Number.POSITIVE_INFINITY;
  const ascending: number[] = [];
  for (let i = 0; i < count; i++) {
    const value = acknowledged(voters[i]!) ?? 0;
    let at = i;
    ascending.push(value);
    while (at > 0 && ascending[at - 1]! > value) {
      ascending[at] = ascending[at - 1]!;
      at--;
    }
    ascending[at] = value;
  }
  return ascending[count - (Math.floor(count / 2) + 1)]!;
}

/** The largest number that both halves have reached. */
export function jointCommitted(quorum: Quorum, acknowledged: Acknowledged): number {
  const incoming = majorityCommitted(quorum.voters, acknowledged);
  if (quorum.votersOutgoing.length === 0) return incoming;
  return Math.min(incoming, majorityCommitted(quorum.votersOutgoing, acknowledged));
}

/** How an election stands among `voters`, given the answers so far. */
export function majorityVote(
  voters: readonly ReplicaId[],
  votes: ReadonlyMap<ReplicaId, boolean>,
): VoteResult {
  if (voters.length === 0) return 'won';
  let granted = 0;
  let missing = 0;
  for (const voter of voters) {
    const vote = votes.get(voter);
    if (vote === undefined) missing++;
    else if (vote) granted++;
  }
  const needed = Math.floor(voters.length / 2) + 1;
  if (granted >= needed) return 'won';
  return granted + missing >= needed ? 'pending' : 'lost';
}

/** How an election stands in both halves: lost when one is lost, won when both are won. */
export function jointVote(quorum: Quorum, votes: ReadonlyMap<ReplicaId, boolean>): VoteResult {
  const incoming = majorityVote(quorum.voters, votes);
  const outgoing = majorityVote(quorum.votersOutgoing, votes);
  if (incoming === outgoing) return incoming;
  return incoming === 'lost' || outgoing === 'lost' ? 'lost' : 'pending';
}

/** True when `replica` votes in either half. */
export function isVoter(quorum: Quorum, replica: ReplicaId): boolean {
  return quorum.voters.includes(replica) || quorum.votersOutgoing.includes(replica);
}
