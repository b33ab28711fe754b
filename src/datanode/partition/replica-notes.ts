/**
 * What a node remembers of its replicas beside their logs: which wanted record each was made from,
 * and which were found damaged. It outlives the process: a replica is only given up by a record
 * newer than the one it came from (the saved table may be older than the replica), and a damaged
 * one is never opened again.
 */
import { readChecked, writeChecked } from '../../common/checked-file.ts';
import type { Disk } from '../../common/disk.ts';
import type { Epoch, GroupId, ReplicaId } from '../../common/ids.ts';

export interface Origin {
  readonly group: GroupId;
  /** Of the wanted record that first named the replica here. */
  readonly epoch: Epoch;
}

interface Notes {
  readonly version: number;
  readonly origins: readonly (readonly [ReplicaId, Origin])[];
  readonly damages: readonly (readonly [ReplicaId, string])[];
}

const VERSION = 1;
const REMEDY = 'move the data directory away: the node comes back empty and is filled by its peers';

export class ReplicaNotes {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #origins: Map<ReplicaId, Origin>;
  readonly #damages: Map<ReplicaId, string>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(disk: Disk, path: string, notes: Notes | undefined) {
    this.#disk = disk;
    this.#path = path;
    this.#origins = new Map(notes?.origins);
    this.#damages = new Map(notes?.damages);
  }

  /** Reads `<dir>/replicas`; throws KvorumError CORRUPT when that file is damaged. */
  static async open(disk: Disk, dir: string): Promise<ReplicaNotes> {
    const path = `${dir}/replicas`;
    return new ReplicaNotes(disk, path, await readChecked<Notes>(disk, path, REMEDY));
  }

  origins(): ReadonlyMap<ReplicaId, Origin> {
    return this.#origins;
  }

  /** File, offset and what is wrong there; undefined for a replica that is sound. */
  damage(replica: ReplicaId): string | undefined {
    return this.#damages.get(replica);
  }

  /** Resolves when they are on disk: to be awaited before the replicas are made. */
  async addOrigins(origins: ReadonlyMap<ReplicaId, Origin>): Promise<void> {
    if (origins.size === 0) return;
    for (const [replica, origin] of origins) this.#origins.set(replica, origin);
    await this.#write();
  }

  /** Resolves when it is on disk. */
  addDamage(replica: ReplicaId, reason: string): Promise<void> {
    if (!this.#damages.has(replica)) this.#damages.set(replica, reason);
    return this.#write();
  }

  /** Nothing of the replica is left. */
  async forget(replica: ReplicaId): Promise<void> {
    const known = this.#origins.delete(replica);
    if (this.#damages.delete(replica) || known) await this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing
      .catch(() => {})
      .then(() => {
        const [origins, damages] = [[...this.#origins], [...this.#damages]];
        return writeChecked(this.#disk, this.#path, { version: VERSION, origins, damages });
      });
    return this.#writing;
  }
}
