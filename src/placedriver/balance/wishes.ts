/** From a table to the next, one replica after the other: what goes, what comes, and why. Pure. */
import type { NodeId } from '../../common/ids.ts';
import type { NamespaceRecord } from '../../meta/schema.ts';
import { hasTags } from './candidates.ts';
import type { GroupStates } from './group-states.ts';
import type { NamespaceTable } from './tables.ts';
import type { KnownPartition, MoveKind } from './view.ts';

export interface Wish<P extends KnownPartition = KnownPartition> {
  readonly namespace: NamespaceRecord;
  readonly partition: P;
  /** Absent: there are too few replicas. */
  readonly from: NodeId | undefined;
  /** Absent: there are too many. */
  readonly to: NodeId | undefined;
  readonly kind: MoveKind;
  readonly why: string;
}

/** In the order in which each partition is to go through them. */
export function wishesOf<P extends KnownPartition>(
  { namespace, partitions, current, target }: NamespaceTable<P>,
  states: GroupStates,
): Wish<P>[] {
  const wishes: Wish<P>[] = [];
  for (const [row, partition] of partitions.entries()) {
    const [before, after] = [current[row]!, target[row]!];
    const added = after.filter((node) => !before.includes(node));
    const removed = before.filter((node) => !after.includes(node));
    if (added.length + removed.length === 0) continue;
    const reasons = removed
      .map((from) => ({ from, ...reasonFor(namespace, from, states) }))
      .sort((a, b) => a.rank - b.rank);
    while (added.length + reasons.length > 0) {
      const { from, to, kind, why } = nextStep(namespace, added, reasons, states);
      wishes.push({ namespace, partition, from, to, kind, why });
    }
  }
  return wishes;
}

interface Reason {
  readonly from: NodeId;
  readonly rank: number;
  readonly kind: MoveKind;
  readonly why: string;
}

/** Takes it off the lists. A dead replica is replaced before others are added. */
function nextStep(
  { replicas }: NamespaceRecord,
  added: NodeId[],
  reasons: Reason[],
  states: GroupStates,
): Pick<Wish, 'from' | 'to' | 'kind' | 'why'> {
  const count = { kind: 'operator', why: `the namespace wants ${replicas} replicas` } as const;
  const [worst] = reasons;
  const isDead = worst?.kind === 'lost';
  if (worst === undefined || (added.length > reasons.length && !isDead)) {
    return { from: undefined, to: added.shift(), ...count };
  }
  reasons.shift();
  const { from, kind, why } = worst;
  if (added.length === 0 || reasons.length + 1 > added.length) {
    return kind === 'balance'
      ? { from, to: undefined, ...count }
      : { from, to: undefined, kind, why };
  }
  const dcOf = (node: NodeId) => states.nodes.get(node)?.tags['dc_info'];
  const near = added.findIndex((node) => dcOf(node) === dcOf(from));
  const [to] = added.splice(Math.max(0, near), 1);
  return { from, to, kind, why };
}

function reasonFor(
  { name, tags }: NamespaceRecord,
  from: NodeId,
  states: GroupStates,
): Omit<Reason, 'from'> {
  const node = states.nodes.get(from);
  if (node === undefined) {
    return { rank: 0, kind: 'lost', why: `node ${from} has been away for too long` };
  }
  if (states.isLeaving(from)) return { rank: 1, kind: 'drain', why: `node ${from} is drained` };
  if (!hasTags(node, tags)) {
    return { rank: 2, kind: 'operator', why: `node ${from} has not the tags of ${name}` };
  }
  return { rank: 3, kind: 'balance', why: 'replicas are to be more even' };
}
