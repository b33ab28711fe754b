/** What keeps a drained node's replicas where they are, whoever else moves meanwhile. Pure. */
import type { NodeId } from '../../common/ids.ts';
import type { PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';
import type { GroupStates } from '../balance/group-states.ts';
import { knownReplicas } from '../known-replicas.ts';
import type { Picture } from '../picture.ts';
import { nodesNeeded } from './under-way.ts';

type Known = Pick<Picture, 'shownPartitions' | 'leader' | 'leading'>;

/** Partitions that are named; of the others it is told how many they are. */
const SHOWN = 3;

/**
 * Why groups that need `node` cannot do without it, with what to do; undefined: those that are left
 * only have not had their turn.
 */
export function drainWaits(known: Known, states: GroupStates, node: NodeId): string | undefined {
  const waiting = new Map<string, string[]>();
  for (const record of known.shownPartitions()) {
    if (!nodesNeeded(record, known.leader(record)).has(node)) continue;
    const why = whyStuck(known, states, record, node);
    if (why === undefined) continue;
    const names = waiting.get(why) ?? [];
    waiting.set(why, names);
    names.push(`${record.namespace}/${record.partition}`);
  }
  if (waiting.size === 0) return undefined;
  return [...waiting].map(([why, names]) => `${shown(names)} cannot move: ${why}`).join('; ');
}

function whyStuck(
  known: Known,
  states: GroupStates,
  record: PartitionRecord,
  node: NodeId,
): string | undefined {
  const members = membersOf(known, record);
  const away = members.filter((one) => !states.isWhole(one)).map((one) => one.node);
  const remedy = away.length === 0 ? '' : `; start ${[...new Set(away)].sort().join(', ')}`;
  if (known.leading(record) === undefined) return `nobody leads${remedy}`;
  const from = record.replicas.find((replica) => replica.node === node);
  // what is being moved already is not held back by others
  if (from === undefined || away.length === 0 || !states.isSettled(record)) return undefined;
  const why = states.whyNot(record, { from, adds: true });
  return why === undefined ? undefined : `${why}${remedy}`;
}

/** Those that the group has, as its leader told last; until one did, all that there may be. */
function membersOf(known: Known, record: PartitionRecord): ReplicaRecord[] {
  const voters = known.leader(record)?.membership.voters;
  return knownReplicas(record).filter(({ replica }) => voters?.includes(replica) ?? true);
}

function shown(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return names.slice(0, SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
