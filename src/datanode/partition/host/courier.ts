/** What the replicas of a node send to members of their groups, wherever those live. */
import { KvorumError } from '../../../common/errors.ts';
import type { GroupId, ReplicaId } from '../../../common/ids.ts';
import type { PeerMessage, SleepMessage } from '../../raft/message.ts';
import type { Transport } from '../../transport/transport.ts';
import type { MemberNodes } from '../members/member-nodes.ts';
import { askProgress } from '../snapshots/snapshot-resume.ts';

export class Courier {
  readonly #members: MemberNodes;
  readonly #transport: Transport;

  constructor(members: MemberNodes, transport: Transport) {
    this.#members = members;
    this.#transport = transport;
  }

  /** Queued for the end of the turn; dropped when nobody knows where the member lives. */
  send(group: GroupId, message: PeerMessage | SleepMessage): void {
    const node = this.#members.nodeOf(group, message.to);
    if (node !== undefined) this.#transport.send(node, group, message);
  }

  isReachable(group: GroupId, member: ReplicaId): boolean {
    const node = this.#members.nodeOf(group, member);
    return node !== undefined && this.#transport.isReachable(node);
  }

  /** Bytes of snapshot `id` that the member has; 0 when it cannot be asked. */
  async askProgress(group: GroupId, replica: ReplicaId, id: number): Promise<number> {
    const node = this.#members.nodeOf(group, replica);
    return node === undefined ? 0 : askProgress(this.#transport, node, { group, replica, id });
  }

  /** Resolves when the member took all of `chunks`. */
  stream(
    group: GroupId,
    message: PeerMessage,
    header: Buffer,
    chunks: AsyncIterable<Buffer>,
  ): Promise<void> {
    const node = this.#members.nodeOf(group, message.to);
    if (node !== undefined) return this.#transport.stream(node, header, chunks);
    return Promise.reject(new KvorumError('PEER_UNREACHABLE', `no node for ${message.to}`));
  }

  /** Wall clock of the member's node, as far as known. */
  wallMs(group: GroupId, member: ReplicaId): number | undefined {
    const node = this.#members.nodeOf(group, member);
    return node === undefined ? undefined : this.#transport.peerWallMs(node);
  }
}
