/**
 * Makes a LevelDB's un-synced batches durable by syncing the files of its logs. LevelDB flushes
 * each batch to the system before the write ends, and syncs its tables and MANIFEST by itself; a
 * log that disappears meanwhile has become a table.
 */
import { dirname } from 'node:path';
import type { Disk } from '../../common/disk.ts';
import { systemCodeOf } from '../../common/errors.ts';
import type { BatchOperation } from './engine.ts';

/**
 * Written before a sync: the removal of a key that nobody has, as long as a sector. LevelDB goes on
 * in the sector where the synced part of its log ends, and a loss of power while that sector is
 * written again may spoil it: what it spoils then is this record, which must not be joined with
 * others.
 */
export const LOG_PADDING: readonly BatchOperation[] = [{ type: 'del', key: Buffer.alloc(512) }];

/**
 * Makes the directory of a LevelDB to be, durably with the two above it: LevelDB itself would sync
 * none of their names. They may be there, made by a process that died before it had synced them.
 */
export async function makeLevelDirectory(disk: Disk, path: string): Promise<void> {
  await disk.makeDir(path);
  const engines = dirname(path);
  await disk.syncDir(engines);
  await disk.syncDir(dirname(engines));
}

export class LevelLogSync {
  readonly #disk: Disk;
  readonly #path: string;
  /** The newest log whose directory entry is durable. */
  #newestEntered: string | undefined;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Syncs every log there is, oldest first, and the directory when there is a new one. */
  async sync(): Promise<void> {
    const logs = (await this.#disk.list(this.#path))
      .filter((name) => name.endsWith('.log'))
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
    for (const log of logs) await this.#syncLog(`${this.#path}/${log}`);
    const newest = logs.at(-1);
    if (newest === this.#newestEntered) return;
    await this.#disk.syncDir(this.#path);
    this.#newestEntered = newest;
  }

  async #syncLog(path: string): Promise<void> {
    try {
      const file = await this.#disk.open(path, 'write');
      try {
        await file.fdatasync();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }
}
