/** What a datanode carries, for its load record. */
import type { Clock } from '../common/clock.ts';
import type { Disk } from '../common/disk.ts';
import type { NodeId } from '../common/ids.ts';
import { limits } from '../common/limits.ts';
import { type LoadRecord, SCHEMA_VERSION } from '../meta/schema.ts';
import type { PartitionHost } from './partition/host/host.ts';
import { keyCounts } from './status.ts';

/** Looking at every file costs some: sizes of files are this old at most. */
const DISK_AGE_MS = 60_000;
/** When no entry was applied since: what changes then is that LevelDB tidies up. */
const QUIET_DISK_AGE_MS = 600_000;

export interface LoadGround {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly disk: Pick<Disk, 'bytesBelow'>;
  readonly dataDir: string;
  readonly host: Pick<PartitionHost, 'replicas' | 'stopped'>;
  memoryBytes(): number;
}

interface DiskLook {
  readonly bytes: number;
  readonly atMs: number;
  /** Entries applied till then, over all replicas. */
  readonly applied: number;
}

export class LoadMeter {
  readonly #ground: LoadGround;
  #disk: DiskLook | undefined;

  constructor(ground: LoadGround) {
    this.#ground = ground;
  }

  async read(): Promise<LoadRecord> {
    const { node, host, memoryBytes } = this.#ground;
    const diskBytes = await this.#diskBytes();
    const replicas = host.replicas();
    const stopped = host.stopped().slice(0, limits.metaStoppedMax);
    const counts = [...keyCounts(host).values()];
    return {
      version: SCHEMA_VERSION,
      node,
      replicas: replicas.length,
      leaders: replicas.filter(({ isLeader }) => isLeader).length,
      keys: counts.reduce((sum, { keys }) => sum + keys, 0),
      diskBytes,
      memoryBytes: memoryBytes(),
      ...(stopped.length > 0 && { stopped }),
    };
  }

  async #diskBytes(): Promise<number> {
    const { clock, disk, dataDir, host } = this.#ground;
    const nowMs = clock.monotonicMs();
    const applied = host.replicas().reduce((sum, { appliedIndex }) => sum + appliedIndex, 0);
    const ageMs = applied === this.#disk?.applied ? QUIET_DISK_AGE_MS : DISK_AGE_MS;
    if (this.#disk === undefined || nowMs - this.#disk.atMs > ageMs) {
      this.#disk = { bytes: await disk.bytesBelow(dataDir), atMs: nowMs, applied };
    }
    return this.#disk.bytes;
  }
}
