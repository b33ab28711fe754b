/** What clients are told of a namespace that is not there (any more). */
import type { Namespace } from '../../common/ids.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { RouteTable } from '../routing/table.ts';
import type { LanePlace } from './lane.ts';

/** Undefined while the table has the group that the command was for. */
export function goneReply(
  routes: RouteTable,
  { namespace, partition, group }: LanePlace,
): Reply | undefined {
  const partitions = routes.partitions(namespace);
  if (partitions === undefined) return error(noNamespace(namespace));
  const record = partitions[partition];
  if (record?.group === group) return undefined;
  return record?.rebuilt?.formerGroups.includes(group) ? REBUILT : MADE_ANEW;
}

export function noNamespace(namespace: Namespace): string {
  return namespace === 'default'
    ? 'LOADING kvorum waits for its first partition table; is a placedriver running?'
    : `ERR namespace '${namespace}' does not exist (any more)`;
}

/** Its replicas may hold what they took on before: to whoever waits for such an outcome it is not known. */
export const REBUILT = error(
  'TRYAGAIN the partition that the command was for lost its quorum and was rebuilt from one replica ' +
    'meanwhile; nothing happened, try again',
);
const MADE_ANEW = error(
  'TRYAGAIN the partition that the command was for is gone, another has taken its place: its ' +
    'namespace was deleted and made anew; nothing happened that still counts',
);
