/** What a peer says may show that the own log is not what it was: then the replica is damaged. */
import { codeOf } from '../../common/errors.ts';
import type { PeerMessage } from '../raft/message.ts';
import type { RaftNode } from '../raft/ready.ts';

/** Gives `message` to `raft`; a CORRUPT that it throws is told to `replica`, as its fault. */
export function stepOrFail(
  raft: Pick<RaftNode, 'step'>,
  message: PeerMessage,
  replica: { fail(error: unknown): void },
): void {
  try {
    raft.step(message);
  } catch (failure) {
    if (codeOf(failure) !== 'CORRUPT') throw failure;
    replica.fail(failure);
  }
}
