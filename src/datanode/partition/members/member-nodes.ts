/**
 * On which node each replica lives: from the wanted record, from the birth record, and from the
 * frames that came; a member may be newer than the table this node has.
 */
import type { GroupId, NodeId, ReplicaId } from '../../../common/ids.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import { NodeBuilds } from './node-builds.ts';

/** Of one group: members, and those that were. */
const HEARD_MAX = 64;

export class MemberNodes {
  #records = new Map<GroupId, PartitionRecord>();
  #nodes: readonly NodeId[] = [];
  #former: ReadonlySet<GroupId> = new Set();
  /** What the nodes run. */
  readonly builds: NodeBuilds;
  readonly #heard = new Map<GroupId, Map<ReplicaId, NodeId>>();

  constructor(own: NodeId) {
    this.builds = new NodeBuilds(own);
  }

  /** Returns the groups whose members, or where they live, are not what they were. */
  setRecords(records: readonly PartitionRecord[]): GroupId[] {
    const before = this.#records;
    this.#records = new Map(records.map((record) => [record.group, record]));
    this.#former = new Set(records.flatMap(({ rebuilt }) => rebuilt?.formerGroups ?? []));
    this.#nodes = [...new Set(records.flatMap(({ replicas }) => replicas.map((of) => of.node)))];
    return records
      .filter(({ group, epoch }) => before.get(group)?.epoch !== epoch)
      .map(({ group }) => group);
  }

  /** Every node that the table names, this one too. */
  nodes(): readonly NodeId[] {
    return this.#nodes;
  }

  /** The wanted table has come. */
  get known(): boolean {
    return this.#records.size > 0;
  }

  /** The group was given up: the table has another that came from it. */
  isFormer(group: GroupId): boolean {
    return this.#former.has(group);
  }

  record(group: GroupId): PartitionRecord | undefined {
    return this.#records.get(group);
  }

  /** A frame of `replica` came from `node`. */
  heard(group: GroupId, replica: ReplicaId, node: NodeId): void {
    const known = this.#heard.get(group);
    if (known === undefined || known.size >= HEARD_MAX)
      this.#heard.set(group, new Map([[replica, node]]));
    else known.set(replica, node);
  }

  /** A replica of the group left this node: what was heard about the group is of no use here. */
  forget(group: GroupId): void {
    this.#heard.delete(group);
  }

  nodeOf(group: GroupId, replica: ReplicaId): NodeId | undefined {
    const record = this.#records.get(group);
    const named =
      record?.replicas.find((member) => member.replica === replica) ??
      record?.birth.find((member) => member.replica === replica);
    return named?.node ?? this.#heard.get(group)?.get(replica);
  }

  /** A node of the group's that does not apply entries of `version`: of `ids`, or a wanted replica's. */
  olderNode(group: GroupId, version: number, ids: readonly ReplicaId[]): NodeId | undefined {
    const wanted = this.#records.get(group)?.replicas ?? [];
    const nodes = [...ids.map((id) => this.nodeOf(group, id)), ...wanted.map(({ node }) => node)];
    return nodes.find((node) => node !== undefined && !this.builds.applies(node, version));
  }

  /** The replicas of a group that live on `node`, as far as is known. */
  on(node: NodeId, group: GroupId): ReplicaId[] {
    const ids = new Set<ReplicaId>();
    for (const member of this.#records.get(group)?.replicas ?? []) {
      if (member.node === node) ids.add(member.replica);
    }
    for (const [replica, at] of this.#heard.get(group) ?? []) if (at === node) ids.add(replica);
    return [...ids];
  }
}
