/**
 * Messages that nobody waits for: commits that followers are told of without entries, and
 * acknowledgements of what is committed already. While clients write, the next entries or the next
 * acknowledgement tell the same a moment later, and without this half of all raft messages of a busy
 * group would be such news and answers to it. So they wait: what tells more to the same replica takes
 * their place, and whatever else is sent there goes behind them, but for heartbeats, which overtake.
 * To raft that is a network which delays a message, or loses it and delivers the next.
 */
import type { GroupId, ReplicaId } from '../../../common/ids.ts';
import type { PeerMessage, SleepMessage } from '../../raft/message.ts';

/** Less than a follower gathers before it applies what is committed. */
const WAIT_MS = 5;

export interface NewsGround {
  after(delayMs: number, run: () => void): void;
  send(group: GroupId, message: PeerMessage | SleepMessage): void;
}

interface Held {
  readonly group: GroupId;
  readonly message: PeerMessage;
}

export class CommitNews {
  readonly #ground: NewsGround;
  /** By the replica they go to: its id is that of one group. */
  #held = new Map<ReplicaId, Held>();
  #armed = false;

  constructor(ground: NewsGround) {
    this.#ground = ground;
  }

  /** Sends `message`, and before it what it does not take the place of. */
  send(group: GroupId, message: PeerMessage | SleepMessage): void {
    switch (message.type) {
      case 'append':
        if (message.entries.length === 0) return this.#hold(group, message);
        this.#held.delete(message.to);
        break;
      case 'appendResponse':
        if (message.reject) this.#release(message.to);
        else if (message.index <= message.commit) return this.#hold(group, message);
        else this.#held.delete(message.to);
        break;
      case 'heartbeat':
        break;
      default:
        this.#release(message.to);
    }
    this.#ground.send(group, message);
  }

  #hold(group: GroupId, message: PeerMessage): void {
    this.#held.set(message.to, { group, message });
    if (this.#armed) return;
    this.#armed = true;
    this.#ground.after(WAIT_MS, () => this.#releaseAll());
  }

  #release(replica: ReplicaId): void {
    const held = this.#held.get(replica);
    if (held === undefined) return;
    this.#held.delete(replica);
    this.#ground.send(held.group, held.message);
  }

  #releaseAll(): void {
    this.#armed = false;
    const held = this.#held;
    this.#held = new Map();
    for (const { group, message } of held.values()) this.#ground.send(group, message);
  }
}
