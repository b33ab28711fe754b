/**
 * MOVED of the cluster and follower-read ports (Redis cluster specification): where the partition
 * of a key is led.
 */
import { slotOfKey } from '../../common/hash.ts';
import { clientAddress } from '../../meta/schema.ts';
import { keysOf } from '../commands/rows/command.ts';
import { keepsScripts } from '../commands/table/runs-anything.ts';
import { resolveCommand } from '../commands/table/table.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { Router } from '../routing/router.ts';
import type { LaneItem, LanePlace } from './lane.ts';
import { asSent } from './transaction.ts';

export type Redirected = Pick<LaneItem, 'kind' | 'line' | 'held'>;

/**
 * Undefined while this node leads, or nobody is known to: then the command is held. And where keys
 * have no slots that MOVED could name: then it is forwarded.
 */
export function redirectTo(
  router: Router,
  { namespace, partition }: LanePlace,
  line: CommandLine,
): Reply | undefined {
  if (router.isLocalLeader(namespace, partition)) return undefined;
  return movedToLeader(router, { namespace, partition }, line);
}

/**
 * The same at the follower-read port, which answers reads of clients that have sent READONLY, and
 * those without keys, as long as this node has a replica; also while that leads. A read that its
 * follower could not answer goes to the leader. What is undefined without being for the follower
 * (`mayFollow`) is forwarded or held, as above.
 */
export function redirectFromFollower(
  router: Router,
  place: LanePlace,
  item: Redirected,
  readOnly: boolean,
): Reply | undefined {
  const { namespace, partition } = place;
  if (item.kind === 'write' && keepsScripts(resolveCommand(item.line))) return undefined;
  const isHere = router.isLocalLeader(namespace, partition)
    ? mayRead(item, readOnly)
    : router.isLocalFollower(namespace, partition) && mayFollow(item, readOnly);
  return isHere ? undefined : movedToLeader(router, place, item.line);
}

/** Whether this node's follower may answer it, from a state that is not the newest. */
export function mayFollow(item: Redirected, readOnly: boolean): boolean {
  return item.held !== true && mayRead(item, readOnly);
}

function mayRead({ kind, line }: Redirected, readOnly: boolean): boolean {
  return kind === 'read' && (readOnly || !hasKeys(line));
}

function hasKeys(line: CommandLine): boolean {
  const command = resolveCommand(line);
  return command === undefined || keysOf(command, line).length > 0;
}

/** One that could name keys, and is placed by something else where it does not. */
export function namesNoKey(line: CommandLine): boolean {
  const command = resolveCommand(line);
  return command?.placedBy !== undefined && keysOf(command, line).length === 0;
}

/** Undefined while nobody is known to lead. `line`: as it would travel, WATCH with its token. */
function movedToLeader(
  router: Router,
  { namespace, partition }: Pick<LanePlace, 'namespace' | 'partition'>,
  line: CommandLine,
): Reply | undefined {
  if (!router.routes.hasSlots(namespace)) return undefined;
  // one that is known may be away
  router.seekLeader({ namespace, partition });
  const leader = router.leader(namespace, partition);
  const known = leader && router.routes.knownNodes().get(leader.node);
  if (known === undefined) return undefined;
  const command = resolveCommand(line);
  const key = command && keysOf(command, asSent(command, line))[0];
  const first = router.routes.partitions(namespace)?.[partition]?.firstSlot ?? 0;
  const slot = key === undefined ? first : slotOfKey(key);
  const { host, clusterPort } = clientAddress(known.record);
  return error(`MOVED ${slot} ${host}:${clusterPort}`);
}
