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

/** A key in each. */
export class FakeBackups implements BackupPort {
  readonly #open = new Map<string, PartitionId>();

  partitions() {
    return [
      { partition: 0, firstSlot: 0, lastSlot: 8_191 },
      { partition: 1, firstSlot: 8_192, lastSlot: 16_383 },
    ];
  }

  async open(_namespace: Namespace, partition: PartitionId): Promise<BackupState> {
    if (partition > 1) throw new KvorumError('NOT_FOUND', 'there is no such partition');
    const id = `n1/${this.#open.size}`;
    this.#open.set(id, partition);
    const place = { partition, group: 7, index: 12, term: 3, timeMs: NOW_MS };
    return { id, ...place, keys: 1, expires: 0, approximateBytes: 100, rdbVersion: 10 };
  }

  async page(id: string, offset: number): Promise<BackupPage> {
    const partition = this.#open.get(id);
    if (partition === undefined || offset !== 0) throw new KvorumError('NOT_FOUND', 'no backup');
    const bytes = Buffer.from(`\0\x01${partition}\x01v`, 'latin1');
    return { bytes, isLast: true, keys: 1, expires: 0, crc: crc32(bytes) };
  }

  async close(id: string): Promise<void> {
    this.#open.delete(id);
  }

  mark(): string {
    return '0123456789'.repeat(4);
  }
}
