/**
 * What dispatch and transactions ask of one client: who it is, what it may do, and where its commands go.
 * Its session and the node's settings are read anew each time: both change.
 */
import type { Session } from '../commands/rows/node-context.ts';
import { refusedByChannels } from './channel-guard.ts';
import type { ConnectionWorld } from './connection-world.ts';
import { refusedCopy } from './copy-guard.ts';
import type { DispatchWorld } from './dispatch.ts';
import { refusedToMonitor } from './monitors.ts';
import type { TransactionWorld } from './transaction.ts';
import type { Whereabouts } from './whereabouts.ts';

export function dispatchWorldOf(
  session: Session,
  { router, settings, access }: ConnectionWorld,
  whereabouts: Whereabouts,
): DispatchWorld {
  return {
    routes: router.routes,
    door: session.door,
    namespace: () => session.namespace,
    valueBytesMax: () => settings().valueBytesMax,
    answersHere: (partition) => whereabouts.answersHere(partition),
    refused: (command, args) =>
      access.refusalOf(session, command, args) ??
      refusedByChannels(command, args, session, router) ??
      refusedToMonitor(command, session) ??
      refusedCopy(command, args, session.namespace),
  };
}

export function transactionWorldOf(
  session: Session,
  { random, access }: ConnectionWorld,
  whereabouts: Whereabouts,
): TransactionWorld {
  return {
    namespace: () => session.namespace,
    birth: () => whereabouts.birth(),
    group: (partition) => whereabouts.place(partition).group,
    rights: () => access.rightsOf(session),
    refusedNow: (line) => access.execRefusalOf(session, line),
    newToken: () => `${random.u32().toString(36)}-${random.u32().toString(36)}`,
    redirect: (partition, line) => whereabouts.redirect(partition, line),
  };
}
