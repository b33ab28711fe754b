/**
 * Do two nodes agree on which groups sleep? Each tells the other, from time to time, a digest of the
 * sleeping groups it leads with a member over there; a member that sleeps without its leader, or the
 * other way round, shows as a difference, and all of them are woken.
 */
import { crc32 } from '../../common/checksum.ts';
import type { GroupId, NodeId, Term } from '../../common/ids.ts';
import type { SleepersMessage } from '../raft/message.ts';
import type { MemberNodes } from './member-nodes.ts';
import type { Replica } from './replica.ts';
import type { ReplicaSet } from './replica-set.ts';

/** A replica that sleeps here, and where the others of its group are. */
export interface Sleeper {
  readonly group: GroupId;
  readonly term: Term;
  readonly leads: boolean;
  /** Where the group's leader is, as far as this replica knows. */
  readonly leaderNode: NodeId | undefined;
  /** Where the other members are. */
  memberNodes(): Iterable<NodeId | undefined>;
  wake(): void;
}

export interface SleepWatchGround {
  sleepers(): Iterable<Sleeper>;
  peers(): Iterable<NodeId>;
  send(to: NodeId, message: SleepersMessage): void;
}

/** Ticks from one digest to the next. */
const TELL_TICKS = 10;
/** Digests may cross a group that is just falling asleep: only the second difference counts. */
const DIFFERENCES = 2;

interface Digest {
  count: number;
  sum: number;
}

export class SleepWatch {
  readonly #ground: SleepWatchGround;
  readonly #differences = new Map<NodeId, number>();
  #ticks = 0;

  constructor(ground: SleepWatchGround) {
    this.#ground = ground;
  }

  /** Once per tick; tells every peer from time to time. */
  tick(): void {
    this.#ticks = (this.#ticks + 1) % TELL_TICKS;
    if (this.#ticks === 0) this.#tell();
  }

  #tell(): void {
    const digests = new Map<NodeId, Digest>();
    for (const node of this.#ground.peers()) digests.set(node, { count: 0, sum: 0 });
    for (const sleeper of this.#ground.sleepers()) {
      if (!sleeper.leads) continue;
      for (const node of sleeper.memberNodes()) {
        if (node !== undefined) add(digests.get(node), sleeper);
      }
    }
    for (const [node, { count, sum }] of digests) {
      this.#ground.send(node, { type: 'sleepers', from: 0, to: 0, term: 0, count, digest: sum });
    }
  }

  onDigest(from: NodeId, { count, digest }: SleepersMessage): void {
    const own: Digest = { count: 0, sum: 0 };
    const led: Sleeper[] = [];
    for (const sleeper of this.#ground.sleepers()) {
      if (sleeper.leads || sleeper.leaderNode !== from) continue;
      add(own, sleeper);
      led.push(sleeper);
    }
    if (own.count === count && own.sum === digest) {
      this.#differences.delete(from);
      return;
    }
    const differences = (this.#differences.get(from) ?? 0) + 1;
    this.#differences.set(from, differences);
    if (differences < DIFFERENCES) return;
    this.#differences.delete(from);
    for (const sleeper of led) sleeper.wake();
  }
}

function add(digest: Digest | undefined, { group, term }: Sleeper): void {
  if (digest === undefined) return;
  digest.count++;
  digest.sum = (digest.sum ^ crc32(Buffer.from(`${group} ${term}`))) >>> 0;
}

/** The replicas of a node that sleep. */
export function* sleepersOf(set: ReplicaSet, members: MemberNodes): Generator<Sleeper> {
  for (const [group, replica] of set.entries()) {
    if (replica.asleep) yield sleeperOf(group, replica, members);
  }
}

function sleeperOf(group: GroupId, replica: Replica, members: MemberNodes): Sleeper {
  const { voters, learners } = replica.state.confState;
  return {
    group,
    term: replica.term,
    leads: replica.isLeader,
    leaderNode: members.nodeOf(group, replica.leader),
    memberNodes: () =>
      [...voters, ...learners]
        .filter((id) => id !== replica.id)
        .map((id) => members.nodeOf(group, id)),
    wake: () => replica.wake(),
  };
}
