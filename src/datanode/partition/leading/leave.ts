/**
 * A node that is about to stop hands over all its leaders: to the best member that can take over, a
 * bounded number at once, another member when one does not. Done when others lead and whoever asked
 * here has an answer, or nobody is left to ask.
 */
import { type Clock, sleep } from '../../../common/clock.ts';
import type { ReplicaId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { NONE } from '../../raft/message.ts';

export interface LeavingReplica {
  readonly stopped: boolean;
  readonly isLeader: boolean;
  /** Whom it follows; NONE while it knows nobody. */
  readonly leader: ReplicaId;
  status(): { readonly leadTransferee: ReplicaId };
  inspect(): { readonly waiting: { readonly writes: number; readonly reads: number } };
  /** Offers leadership to the best member not in `tried`; NONE: there is none. */
  giveAway(tried: ReadonlySet<ReplicaId>): ReplicaId;
}

const POLL_MS = 5;

/** Resolves, after `boundMs` at the latest, to how many groups are still led here. */
export async function giveAwayAll(
  clock: Clock,
  replicas: () => readonly LeavingReplica[],
  boundMs: number,
): Promise<number> {
  const untilMs = clock.monotonicMs() + boundMs;
  const tried = new Map<LeavingReplica, Set<ReplicaId>>();
  for (;;) {
    const running = replicas().filter(({ stopped }) => !stopped);
    const open = giveAwayNext(running, tried);
    if (open === 0 || clock.monotonicMs() >= untilMs) {
      return running.filter(({ isLeader }) => isLeader).length;
    }
    await sleep(clock, POLL_MS);
  }
}

/** Returns how many groups there is still something to wait for. */
function giveAwayNext(
  replicas: readonly LeavingReplica[],
  tried: Map<LeavingReplica, Set<ReplicaId>>,
): number {
  let open = 0;
  let offers = replicas.filter(isOffering).length;
  for (const replica of replicas) {
    const before = tried.get(replica) ?? new Set();
    if (!replica.isLeader) {
      const followed = replica.leader !== NONE || before.size === 0;
      if (!followed || unanswered(replica) > 0) open++;
      continue;
    }
    if (!isOffering(replica) && offers < limits.leaderTransfersPerNodeMax) {
      const to = replica.giveAway(before);
      if (to === NONE) continue;
      tried.set(replica, before.add(to));
      offers++;
    }
    open++;
  }
  return open;
}

/** It has offered its leadership, and waits for what becomes of that. */
function isOffering(replica: LeavingReplica): boolean {
  return replica.status().leadTransferee !== NONE;
}

function unanswered(replica: LeavingReplica): number {
  const { writes, reads } = replica.inspect().waiting;
  return writes + reads;
}
