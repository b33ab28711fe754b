/** Where the commands of one connection go: their partitions' lanes, or another node's port. */
import type { GroupId, PartitionId } from '../../common/ids.ts';
import type { Session } from '../commands/rows/node-context.ts';
import type { CommandLine } from '../partition/entries/batch.ts';
import type { Reply } from '../resp/reply.ts';
import type { Router } from '../routing/router.ts';
import { type LanePlace, NO_GROUP } from './lane.ts';
import {
  mayFollow,
  namesNoKey,
  type Redirected,
  redirectFromFollower,
  redirectTo,
} from './redirect.ts';

export class Whereabouts {
  readonly #session: Pick<Session, 'door' | 'namespace' | 'readOnly'>;
  readonly #router: Router;

  constructor(session: Pick<Session, 'door' | 'namespace' | 'readOnly'>, router: Router) {
    this.#session = session;
    this.#router = router;
  }

  /** `birth`: when the command was dispatched, which may have waited since. */
  place(partition: PartitionId, birth = this.birth()): LanePlace {
    const { namespace } = this.#session;
    const record = this.#router.routes.partitions(namespace)?.[partition];
    const group = record !== undefined && birth === this.birth() ? record.group : NO_GROUP;
    return { namespace, partition, group };
  }

  /**
   * Another once the namespace was deleted and made anew: then its partitions may be others. The first
   * group that its partition 0 ever had, since a partition that is rebuilt goes on under another one.
   */
  birth(): GroupId {
    const first = this.#router.routes.partitions(this.#session.namespace)?.[0];
    return first?.rebuilt?.formerGroups[0] ?? first?.group ?? NO_GROUP;
  }

  /** Keyless commands are for these of the cluster's partitions, unless at the gateway. */
  answersHere(partition: PartitionId): boolean {
    const { namespace, door } = this.#session;
    return door === 'follower'
      ? this.#router.isLocalFollower(namespace, partition)
      : this.#router.isLocalLeader(namespace, partition);
  }

  /** Whether this node's follower may answer all of them: those of a batch go one way. */
  mayFollow(items: readonly Redirected[]): boolean {
    const { door, readOnly } = this.#session;
    return door === 'follower' && items.every((item) => mayFollow(item, readOnly));
  }

  /** But for the gateway, MOVED while a write is for another node or port. */
  redirect(partition: PartitionId, line: CommandLine): Reply | undefined {
    return this.#redirect(this.place(partition), { kind: 'write', line });
  }

  /**
   * A script that names no key is forwarded from the cluster port: where it lies is this server's affair,
   * and clients that send it to any node, as they may to Redis's, take MOVED for an error (Jedis).
   */
  redirectItem(place: LanePlace, item: Redirected): Reply | undefined {
    const moved = this.#redirect(place, item);
    const isAnywhere = moved !== undefined && this.#session.door === 'cluster';
    return isAnywhere && namesNoKey(item.line) ? undefined : moved;
  }

  #redirect(place: LanePlace, item: Redirected): Reply | undefined {
    const { door, readOnly } = this.#session;
    if (door === 'gateway') return undefined;
    if (door === 'cluster') return redirectTo(this.#router, place, item.line);
    return redirectFromFollower(this.#router, place, item, readOnly);
  }
}
