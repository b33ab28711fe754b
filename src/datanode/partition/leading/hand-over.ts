/** Whom a leader that goes hands its leadership to. */
import type { ReplicaId } from '../../../common/ids.ts';
import type { PeerMessage } from '../../raft/message.ts';
import type { RaftStatus } from '../../raft/ready.ts';

/**
 * The request to campaign at once to the voter that holds most, for a leader that cannot wait for
 * the answer; undefined when there is no other voter.
 */
export function handOverRequest(from: ReplicaId, status: RaftStatus): PeerMessage | undefined {
  const others = status.progress.filter(({ replica, learner }) => replica !== from && !learner);
  const [best] = others.sort((a, b) => b.match - a.match);
  if (best === undefined) return undefined;
  return { type: 'timeoutNow', from, to: best.replica, term: status.hardState.term };
}

/**
 * The other voters, best first: those heard from, then those that hold most, then in the order of
 * the wanted record, which spreads leaders. One that is being sent a snapshot is none.
 */
export function successors(
  from: ReplicaId,
  { progress }: RaftStatus,
  wanted: readonly ReplicaId[],
): ReplicaId[] {
  const place = (replica: ReplicaId) => (wanted.indexOf(replica) + 1 || Infinity) as number;
  return progress
    .filter(({ replica, learner, state }) => replica !== from && !learner && state !== 'snapshot')
    .sort(
      (a, b) =>
        Number(b.heardLately) - Number(a.heardLately) ||
        b.match - a.match ||
        place(a.replica) - place(b.replica),
    )
    .map(({ replica }) => replica);
}
