/**
 * Groups whose leader's node went away look for another leader at once (decision 19): each replica
 * forgets it, so that it grants a pre-vote, and stands for election. Who promised that leader to help
 * no other (a lease) does so when the promise is over: until then the leader may go on reading.
 */
import type { NodeId, ReplicaId } from '../../../common/ids.ts';
import type { Random } from '../../../common/random.ts';
import type { Candidate, Stand } from './stand.ts';

export interface Orphan extends Candidate {
  /** Returns for how many milliseconds a promise keeps it from that; 0: it is done. */
  forgetLeader(): number;
}

export interface OrphansWorld {
  readonly stand: Pick<Stand, 'for'>;
  readonly random: Random;
  /** A replica stands after up to so long: not all of a group at once. */
  readonly campaignMs: number;
  after(delayMs: number, run: () => void): void;
}

export class Orphans {
  readonly #world: OrphansWorld;
  /** Nodes that went away and did not come back. */
  readonly #away = new Set<NodeId>();

  constructor(world: OrphansWorld) {
    this.#world = world;
  }

  onPeer(node: NodeId, reachable: boolean): void {
    if (reachable) this.#away.delete(node);
    else this.#away.add(node);
  }

  /** `leader` of its group lives on `node`, which went away. */
  seek(orphan: Orphan, leader: ReplicaId, node: NodeId): void {
    if (orphan.leader !== leader || !this.#away.has(node)) return;
    const { stand, random, campaignMs } = this.#world;
    const leftMs = orphan.forgetLeader();
    // a timer's fraction of a millisecond may be too small to move the clock
    if (leftMs > 0) this.#world.after(Math.ceil(leftMs), () => this.seek(orphan, leader, node));
    else stand.for(orphan, random.below(campaignMs));
  }
}
