/** A leader that must go asks another member to campaign at once, without waiting for the answer. */
import type { ReplicaId } from '../../common/ids.ts';
import type { PeerMessage } from '../raft/message.ts';
import type { RaftStatus } from '../raft/ready.ts';

/** The request to the voter that holds most; undefined when there is no other voter. */
export function handOverRequest(from: ReplicaId, status: RaftStatus): PeerMessage | undefined {
  const others = status.progress.filter(({ replica, learner }) => replica !== from && !learner);
  const [best] = others.sort((a, b) => b.match - a.match);
  if (best === undefined) return undefined;
  return { type: 'timeoutNow', from, to: best.replica, term: status.hardState.term };
}
