/** Backups of a namespace of two partitions, in memory. */
import { crc32 } from '../../../src/common/checksum.ts';
import { KvorumError } from '../../../src/common/errors.ts';
import type { Namespace, PartitionId } from '../../../src/common/ids.ts';
import type {
  BackupPage,
  BackupPort,
  BackupState,
} from '../../../src/datanode/commands/rows/backup-port.ts';
import { NOW_MS } from './fake-node.ts';

interface Opened {
  readonly partition: PartitionId;
  readonly withLibraries: boolean;
}

/** A key in each, and a library of functions. */
export class FakeBackups implements BackupPort {
  readonly #open = new Map<string, Opened>();
  /** Nodes of older builds lead these: they give out no libraries. */
  readonly older = new Set<PartitionId>();

  partitions() {
    return [
      { partition: 0, firstSlot: 0, lastSlot: 8_191 },
      { partition: 1, firstSlot: 8_192, lastSlot: 16_383 },
    ];
  }

  async open(
    _namespace: Namespace,
    partition: PartitionId,
    withLibraries: boolean,
  ): Promise<BackupState> {
    if (partition > 1) throw new KvorumError('NOT_FOUND', 'there is no such partition');
    const id = `n1/${this.#open.size}`;
    this.#open.set(id, { partition, withLibraries });
    const place = { partition, group: 7, index: 12, term: 3, timeMs: NOW_MS };
    const libraries = withLibraries && !this.older.has(partition) ? 1 : undefined;
    return { id, ...place, keys: 1, expires: 0, approximateBytes: 100, rdbVersion: 10, libraries };
  }

  async page(id: string, offset: number): Promise<BackupPage> {
    const open = this.#open.get(id);
    if (open === undefined || offset !== 0) throw new KvorumError('NOT_FOUND', 'no backup');
    const { partition, withLibraries } = open;
    const library = withLibraries && !this.older.has(partition) ? '\xf5\x01l' : '';
    const bytes = Buffer.from(`${library}\0\x01${partition}\x01v`, 'latin1');
    return { bytes, isLast: true, keys: 1, expires: 0, crc: crc32(bytes) };
  }

  async close(id: string): Promise<void> {
    this.#open.delete(id);
  }

  mark(): string {
    return '0123456789'.repeat(4);
  }
}
