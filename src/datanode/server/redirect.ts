/** The cluster port's MOVED (Redis cluster specification): where the partition of a key is led. */
import { slotOfKey } from '../../common/hash.ts';
import { keysOf } from '../commands/command.ts';
import { resolveCommand } from '../commands/table.ts';
import type { CommandLine } from '../partition/batch.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { Router } from '../routing/router.ts';
import type { LanePlace } from './lane.ts';

/**
 * Undefined while this node leads, or nobody is known to: then the command is held. And where keys
 * have no slots that MOVED could name: then it is forwarded.
 */
export function redirectTo(
  router: Router,
  { namespace, partition }: LanePlace,
  line: CommandLine,
): Reply | undefined {
  if (!router.routes.hasSlots(namespace)) return undefined;
  if (router.isLocalLeader(namespace, partition)) return undefined;
  const leader = router.leader(namespace, partition);
  const known = leader && router.routes.knownNodes().get(leader.node);
  if (known === undefined) return undefined;
  const command = resolveCommand(line);
  const key = command && keysOf(command, line)[0];
  const first = router.routes.partitions(namespace)?.[partition]?.firstSlot ?? 0;
  const slot = key === undefined ? first : slotOfKey(key);
  return error(`MOVED ${slot} ${known.record.host}:${known.record.clusterPort}`);
}
