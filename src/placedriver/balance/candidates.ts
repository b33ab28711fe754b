/** Which nodes may hold replicas of a namespace, and how much more they should take. Pure. */
import type { NodeId } from '../../common/ids.ts';
import type { NamespaceRecord, NodeRecord } from '../../meta/schema.ts';
import type { CandidateNode } from '../placement/assignment.ts';

/** Every tag is `name`, or `name=value`. */
export function hasTags({ tags }: NodeRecord, wanted: NamespaceRecord['tags'] = []): boolean {
  return wanted.every((tag) => {
    const at = tag.indexOf('=');
    if (at === -1) return Object.hasOwn(tags, tag);
    const name = tag.slice(0, at);
    return Object.hasOwn(tags, name) && tags[name] === tag.slice(at + 1);
  });
}

/** `heldElsewhere`: replicas of other namespaces that it holds. */
export function candidateNode(
  { node, tags, host, capacity }: NodeRecord,
  heldElsewhere: number,
): CandidateNode {
  return {
    node,
    dc: tags['dc_info'] ?? '',
    host: tags['host'] ?? host,
    heldElsewhere,
    ...(capacity !== undefined && { capacity }),
  };
}

/**
 * A node that is away and keeps what it holds. Its tags went with its registration; a replica there
 * counts for no data centre that others are in.
 */
export function awayNode(node: NodeId, heldElsewhere: number): CandidateNode {
  return { node, dc: '', host: node, heldElsewhere, closed: true };
}
