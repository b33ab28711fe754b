/**
 * Do two nodes agree on which groups sleep? Each tells the other, from time to time, a digest of the
 * sleeping groups it leads with a member over there; a member that sleeps without its leader, or the
 * other way round, shows as a difference. Then the other one asks which, and those alone are woken:
 * where many groups fall asleep at their own times, digests differ for as long as that goes on.
 */
import { crc32 } from '../../../common/checksum.ts';
import type { GroupId, NodeId, Term } from '../../../common/ids.ts';
import type { SleepersMessage } from '../../raft/message.ts';
import {
  decodeSleepersAnswer,
  decodeSleepersQuery,
  encodeSleepersAnswer,
  encodeSleepersQuery,
  SLEEPERS_MAX,
  type SleepingGroup,
} from './sleepers-query.ts';

/** A replica that sleeps here, and where the others of its group are. */
export interface Sleeper extends SleepingGroup {
  readonly leads: boolean;
  /** Where the group's leader is, as far as this replica knows. */
  readonly leaderNode: NodeId | undefined;
  /** Where the other members are. */
  memberNodes(): Iterable<NodeId | undefined>;
  wake(): void;
}

export interface SleepWatchGround {
  sleepers(): Iterable<Sleeper>;
  /** While it is the same, so are the sleepers, the peers, and what is known of both. */
  era(): number;
  peers(): Iterable<NodeId>;
  send(to: NodeId, message: SleepersMessage): void;
  /** Rejects when nobody answers in time. */
  request(to: NodeId, body: Buffer, timeoutMs: number): Promise<Buffer>;
}

/** Ticks from one digest to the next. */
const TELL_TICKS = 10;
/** Digests may cross a group that is just falling asleep: only the second difference counts. */
const DIFFERENCES = 2;
const ASK_MS = 1_000;

interface Digest {
  count: number;
  sum: number;
}

/** By node: of the groups led here with a member there, and of those led there. */
interface Digests {
  readonly era: number;
  readonly own: ReadonlyMap<NodeId, Digest>;
  readonly theirs: ReadonlyMap<NodeId, Digest>;
}

const NOTHING: Digest = { count: 0, sum: 0 };

export class SleepWatch {
  readonly #ground: SleepWatchGround;
  readonly #differences = new Map<NodeId, number>();
  readonly #asking = new Set<NodeId>();
  #ticks = 0;
  #digests: Digests | undefined;

  constructor(ground: SleepWatchGround) {
    this.#ground = ground;
  }

  /** Ticks have passed; tells every peer from time to time. */
  tick(ticks = 1): void {
    this.#ticks += ticks;
    if (this.#ticks < TELL_TICKS) return;
    this.#ticks = 0;
    this.#tell();
  }

  #tell(): void {
    const { own } = this.#look();
    for (const node of this.#ground.peers()) {
      const { count, sum } = own.get(node) ?? NOTHING;
      this.#ground.send(node, { type: 'sleepers', from: 0, to: 0, term: 0, count, digest: sum });
    }
  }

  onDigest(from: NodeId, { count, digest }: SleepersMessage): void {
    const own = this.#look().theirs.get(from) ?? NOTHING;
    if (own.count === count && own.sum === digest) {
      this.#differences.delete(from);
      return;
    }
    const differences = (this.#differences.get(from) ?? 0) + 1;
    this.#differences.set(from, differences);
    if (differences < DIFFERENCES) return;
    this.#differences.delete(from);
    if (!this.#asking.has(from)) void this.#compare(from);
  }

  /**
   * What a peer asks that has members of groups led here: its sleepers among `body`'s that do not
   * sleep here will wake; those that sleep here and not there are woken now.
   */
  onQuery(from: NodeId, body: Buffer): Buffer {
    const asked = decodeSleepersQuery(body);
    const own = new Map<GroupId, Term>();
    const sleepThere = new Set(asked.map(({ group }) => group));
    for (const sleeper of this.#ground.sleepers()) {
      if (!sleeper.leads || !hasMember(sleeper, from)) continue;
      if (sleepThere.has(sleeper.group)) own.set(sleeper.group, sleeper.term);
      else if (asked.length < SLEEPERS_MAX) sleeper.wake();
    }
    return encodeSleepersAnswer(asked.map(({ group, term }) => own.get(group) === term));
  }

  /** Wakes the groups that sleep here and not at their leader; all when that cannot be told. */
  async #compare(node: NodeId): Promise<void> {
    this.#asking.add(node);
    const asked = [...this.#ledBy(node)].slice(0, SLEEPERS_MAX);
    let asleep: readonly boolean[] = [];
    try {
      const answer = await this.#ground.request(node, encodeSleepersQuery(asked), ASK_MS);
      asleep = decodeSleepersAnswer(answer, asked.length);
    } catch {
      // away, or of a build that does not know the question
    } finally {
      this.#asking.delete(node);
    }
    const awake = new Map(asked.filter((_, at) => !asleep[at]).map((one) => [one.group, one.term]));
    for (const sleeper of this.#ledBy(node)) {
      if (awake.get(sleeper.group) === sleeper.term) sleeper.wake();
    }
  }

  /** As of now; all sleepers are gone through only when something about them may have changed. */
  #look(): Digests {
    const era = this.#ground.era();
    if (this.#digests?.era === era) return this.#digests;
    const own = new Map<NodeId, Digest>();
    const theirs = new Map<NodeId, Digest>();
    for (const sleeper of this.#ground.sleepers()) {
      const sum = crc32(Buffer.from(`${sleeper.group} ${sleeper.term}`));
      if (!sleeper.leads) {
        add(theirs, sleeper.leaderNode, sum);
        continue;
      }
      for (const node of sleeper.memberNodes()) add(own, node, sum);
    }
    this.#digests = { era, own, theirs };
    return this.#digests;
  }

  /** Those that sleep here under a leader there. */
  *#ledBy(node: NodeId): Generator<Sleeper> {
    for (const sleeper of this.#ground.sleepers()) {
      if (!sleeper.leads && sleeper.leaderNode === node) yield sleeper;
    }
  }
}

function hasMember({ memberNodes }: Sleeper, node: NodeId): boolean {
  for (const one of memberNodes()) if (one === node) return true;
  return false;
}

function add(digests: Map<NodeId, Digest>, node: NodeId | undefined, sum: number): void {
  if (node === undefined) return;
  const digest = digests.get(node) ?? { count: 0, sum: 0 };
  digests.set(node, digest);
  digest.count++;
  digest.sum = (digest.sum ^ sum) >>> 0;
}
