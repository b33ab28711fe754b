/**
 * The replicas of this node whose data was found damaged. The list outlives the process: a damaged
 * replica is never opened again, until its group goes on without it and it is removed.
 */
import { readChecked, writeChecked } from '../../common/checked-file.ts';
import type { Disk } from '../../common/disk.ts';
import type { ReplicaId } from '../../common/ids.ts';

interface DamageFile {
  readonly version: number;
  readonly replicas: readonly (readonly [ReplicaId, string])[];
}

const VERSION = 1;
const REMEDY = 'move the data directory away: the node comes back empty and is filled by its peers';

export class DamageList {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #reasons: Map<ReplicaId, string>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(disk: Disk, path: string, reasons: Map<ReplicaId, string>) {
    this.#disk = disk;
    this.#path = path;
    this.#reasons = reasons;
  }

  /** Reads `<dir>/damaged`; throws KvorumError CORRUPT when that file is damaged itself. */
  static async open(disk: Disk, dir: string): Promise<DamageList> {
    const path = `${dir}/damaged`;
    const file = await readChecked<DamageFile>(disk, path, REMEDY);
    return new DamageList(disk, path, new Map(file?.replicas ?? []));
  }

  /** File, offset and what is wrong there; undefined for a replica that is sound. */
  reason(replica: ReplicaId): string | undefined {
    return this.#reasons.get(replica);
  }

  /** Resolves when it is on disk. */
  add(replica: ReplicaId, reason: string): Promise<void> {
    if (!this.#reasons.has(replica)) this.#reasons.set(replica, reason);
    return this.#write();
  }

  async remove(replica: ReplicaId): Promise<void> {
    if (this.#reasons.delete(replica)) await this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing
      .catch(() => {})
      .then(() =>
        writeChecked(this.#disk, this.#path, { version: VERSION, replicas: [...this.#reasons] }),
      );
    return this.#writing;
  }
}
