/** What other nodes ask a node about its replicas, or tell it, outside of raft. */
import type { NodeId } from '../../../common/ids.ts';
import { type Departures, isFarewell } from '../leading/departures.ts';
import type { MemberNodes } from '../members/member-nodes.ts';
import { decodeStandingQuery, encodeStandings, isStandingQuery } from '../members/standing.ts';
import type { SleepWatch } from '../sleeping/sleep-watch.ts';
import { isSleepersQuery } from '../sleeping/sleepers-query.ts';
import {
  decodeProgressQuery,
  encodeProgress,
  isProgressQuery,
} from '../snapshots/snapshot-resume.ts';
import type { ReplicaSet } from './replica-set.ts';

export class PeerRequests {
  readonly #set: ReplicaSet;
  readonly #members: MemberNodes;
  readonly #departures: Departures;
  readonly #sleepWatch: SleepWatch;

  constructor(
    set: ReplicaSet,
    members: MemberNodes,
    departures: Departures,
    sleepWatch: SleepWatch,
  ) {
    this.#set = set;
    this.#members = members;
    this.#departures = departures;
    this.#sleepWatch = sleepWatch;
  }

  /** Undefined: `body` is none of these. */
  answer(from: NodeId, body: Buffer): Buffer | undefined {
    if (isFarewell(body)) return this.#departures.onFarewell(from, body);
    if (isProgressQuery(body)) return this.#snapshotProgress(body);
    if (isSleepersQuery(body)) return this.#sleepWatch.onQuery(from, body);
    return isStandingQuery(body) ? this.#standings(body) : undefined;
  }

  /** Which of the replicas that the peer names run here. */
  #standings(body: Buffer): Buffer {
    const answers = decodeStandingQuery(body).map(({ group, replica }) => {
      if (this.#members.isFormer(group)) return 'given-up';
      return this.#set.get(group)?.id === replica ? 'runs' : 'absent';
    });
    return encodeStandings(answers);
  }

  /** How much of the peer's snapshot is here. */
  #snapshotProgress(body: Buffer): Buffer {
    const { group, replica, id } = decodeProgressQuery(body);
    const own = this.#set.get(group);
    return encodeProgress(own?.id === replica ? own.snapshotProgress(id) : 0);
  }
}
