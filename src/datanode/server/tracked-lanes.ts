/** What a connection does for a client that tracks what it reads; for others nothing but a look. */
import type { Session } from '../commands/rows/node-context.ts';
import type { Router } from '../routing/router.ts';
import type { TrackingHub } from '../tracking/hub.ts';
import type { Target } from './dispatch.ts';
import type { LaneWorld } from './lane.ts';
import type { ExecTarget } from './transaction.ts';

type Hooks = Required<Pick<LaneWorld, 'execute' | 'handedOver'>>;

interface World {
  readonly tracking: TrackingHub;
  readonly router: Router;
}

/** `runsAlone`: what is under way is one command, that of all lanes together. */
export function trackedLanes(
  session: Session,
  { tracking, router }: World,
  runsAlone: () => boolean,
): Hooks {
  return {
    execute: (batch, items) =>
      session.tracking === undefined
        ? router.execute(batch)
        : tracking.execute(session, batch, items, runsAlone()),
    handedOver: (items) => {
      if (session.tracking !== undefined) tracking.handedOver(session, items);
    },
  };
}

/** CLIENT CACHING is about the next command, or all of a transaction. `queued`: of one that is open. */
export function tracksNext(
  session: Session,
  { tracking }: World,
  { kind, command }: Target | ExecTarget,
  queued: number,
): boolean {
  if (session.tracking === undefined) return false;
  const isLast = queued < 0 && command?.name.startsWith('client|') !== true;
  return tracking.next(session, kind !== 'one', isLast);
}
