/**
 * Which nodes acknowledge the entries of this node's leaders soonest, found by the races of all its
 * groups (`raft/fanout.ts`). Leaders that prefer the same node share what an entry costs: one frame to
 * it, one write of its log and one acknowledgement for the entries of all groups that leave in a turn;
 * what goes to the others goes later, with what comes meanwhile. Each group with a favourite of its
 * own would bring every node a part of each turn's entries at once.
 *
 * Who is preferred stays so until it has lost some races one after the other: between equals a change
 * has no use, and who has become slow loses them all.
 */
import type { GroupId, NodeId, ReplicaId } from '../../../common/ids.ts';
import type { MemberNodes } from '../members/member-nodes.ts';

const LOSSES_MAX = 4;

export class PromptNodes {
  readonly #members: Pick<MemberNodes, 'nodeOf'>;
  /** The most prompt first. */
  #order: NodeId[] = [];
  /** Races lost since the last one that was won. */
  readonly #losses = new Map<NodeId, number>();

  constructor(members: Pick<MemberNodes, 'nodeOf'>) {
    this.#members = members;
  }

  /**
   * The other voters of a group have raced, and so many of them as complete a quorum have `finished`:
   * as many of the `raced` as are to be sent the next entries at once.
   */
  judge(
    group: GroupId,
    raced: readonly ReplicaId[],
    finished: readonly ReplicaId[],
  ): readonly ReplicaId[] {
    const nodes = new Map<NodeId, ReplicaId>();
    for (const replica of raced) {
      const node = this.#members.nodeOf(group, replica);
      if (node !== undefined) nodes.set(node, replica);
    }
    // two of one node, or nobody knows where one lives: they are being moved
    if (nodes.size < raced.length) return finished;
    const winners = [...nodes.keys()].filter((node) => finished.includes(nodes.get(node)!));
    this.#note([...nodes.keys()], winners);
    return this.#first(winners.length, nodes).map((node) => nodes.get(node)!);
  }

  #note(raced: readonly NodeId[], winners: readonly NodeId[]): void {
    this.#order.push(...winners.filter((node) => !this.#order.includes(node)));
    const among = new Set(raced);
    for (const node of this.#first(winners.length, among)) {
      const losses = winners.includes(node) ? 0 : (this.#losses.get(node) ?? 0) + 1;
      this.#losses.set(node, losses);
      if (losses < LOSSES_MAX) continue;
      this.#losses.set(node, 0);
      this.#order = [...this.#order.filter((other) => other !== node), node];
    }
  }

  #first(count: number, among: { has(node: NodeId): boolean }): NodeId[] {
    return this.#order.filter((node) => among.has(node)).slice(0, count);
  }
}
