/**
 * A node that comes back takes part in nothing until it knows that its groups are still the
 * partitions' own: they may have been given up while it was away (a lost quorum, rebuilt from a
 * survivor), and its replicas, with others that come back, could be a quorum of what is no more.
 * It knows when it has read the metadata store since its registration (a rebuild is refused while
 * too many members are registered), or when every other voter's node says that the replica there
 * runs: then nobody is the survivor of a rebuild.
 *
 * A replica that is held gets no tick and no message: it neither votes, leads, serves nor
 * acknowledges. One that decides alone is never held.
 */
import type { GroupId, NodeId, ReplicaId } from '../../../common/ids.ts';
import type { ConfState } from '../../raft/message.ts';
import {
  type Asked,
  decodeStandings,
  encodeStandingQuery,
  STANDINGS_MAX,
  type Standing,
} from './standing.ts';

export interface HeldReplica {
  readonly id: ReplicaId;
  readonly record: { readonly group: GroupId };
  readonly state: { readonly confState: ConfState };
}

export interface ReturnHoldGround {
  nodeOf(group: GroupId, replica: ReplicaId): NodeId | undefined;
  request(to: NodeId, body: Buffer, timeoutMs: number): Promise<Buffer>;
  after(delayMs: number, run: () => void): void;
  onReleased(group: GroupId): void;
  /** Somebody knows that the group was given up. */
  onGivenUp(group: GroupId): void;
}

interface Held {
  readonly replica: ReplicaId;
  readonly unheard: Set<ReplicaId>;
}

const ROUND_MS = 100;
const ASK_MS = 1_000;

export class ReturnHold {
  readonly #ground: ReturnHoldGround;
  readonly #held = new Map<GroupId, Held>();
  readonly #asking = new Set<NodeId>();
  #current = false;
  #rounds = false;

  constructor(ground: ReturnHoldGround) {
    this.#ground = ground;
  }

  holds(group: GroupId): boolean {
    return this.#held.has(group);
  }

  /** A replica was opened. */
  opened({ id, record, state }: HeldReplica): void {
    this.#held.delete(record.group);
    if (this.#current) return;
    const { voters, votersOutgoing } = state.confState;
    const unheard = new Set([...voters, ...votersOutgoing].filter((voter) => voter !== id));
    if (unheard.size === 0) return;
    this.#held.set(record.group, { replica: id, unheard });
    if (!this.#rounds) this.#round();
  }

  /** The node's table is not older than its registration in this life: nobody is held any more. */
  end(): void {
    this.#current = true;
    for (const group of [...this.#held.keys()]) this.#release(group);
  }

  /**
   * A replica is not on `node` any more: asks whether its group was given up. Resolves to whether it
   * answered.
   */
  askWhy(node: NodeId, asked: Asked): Promise<boolean> {
    return this.#ask(node, [asked]);
  }

  #round(): void {
    this.#rounds = this.#held.size > 0;
    if (!this.#rounds) return;
    const perNode = new Map<NodeId, Asked[]>();
    for (const [group, { unheard }] of this.#held) {
      for (const replica of unheard) {
        const node = this.#ground.nodeOf(group, replica);
        if (node === undefined) continue;
        const asked = perNode.get(node) ?? [];
        perNode.set(node, asked);
        if (asked.length < STANDINGS_MAX) asked.push({ group, replica });
      }
    }
    for (const [node, asked] of perNode) if (!this.#asking.has(node)) void this.#ask(node, asked);
    this.#ground.after(ROUND_MS, () => this.#round());
  }

  async #ask(node: NodeId, asked: readonly Asked[]): Promise<boolean> {
    this.#asking.add(node);
    try {
      const answer = await this.#ground.request(node, encodeStandingQuery(asked), ASK_MS);
      const answers = decodeStandings(answer, asked.length);
      for (const [at, { group, replica }] of asked.entries()) {
        this.#heard(group, replica, answers[at]!);
      }
      return true;
    } catch {
      return false; // away, or of a build that does not know the question
    } finally {
      this.#asking.delete(node);
    }
  }

  #heard(group: GroupId, replica: ReplicaId, standing: Standing): void {
    if (standing === 'given-up') this.#ground.onGivenUp(group);
    const held = this.#held.get(group);
    if (held === undefined || standing !== 'runs') return;
    held.unheard.delete(replica);
    if (held.unheard.size === 0) this.#release(group);
  }

  #release(group: GroupId): void {
    if (this.#held.delete(group)) this.#ground.onReleased(group);
  }
}
