/** One process per data directory: two would write one log. */
import { type Disk, readFile } from './disk.ts';
import { KvorumError, systemCodeOf } from './errors.ts';

export interface DataLock {
  release(): Promise<void>;
}

const LOCK_BYTES_MAX = 1_024;

/**
 * Takes the lock of `dataDir` for `processId`; the lock of a process that is gone is taken over.
 * Throws KvorumError BAD_CONFIG while its holder lives.
 */
export async function lockDataDir(
  disk: Disk,
  dataDir: string,
  processId: number,
  isAlive: (processId: number) => boolean,
): Promise<DataLock> {
  const path = `${dataDir}/lock`;
  await disk.makeDir(dataDir);
  for (;;) {
    try {
      const file = await disk.open(path, 'create');
      await file.pwrite(0, Buffer.from(`${processId}\n`));
      await file.close();
      return { release: () => disk.unlink(path) };
    } catch (failure) {
      if (systemCodeOf(failure) !== 'EEXIST') throw failure;
    }
    const holder = Number((await readFile(disk, path, LOCK_BYTES_MAX)).toString());
    if (Number.isInteger(holder) && holder > 0 && holder !== processId && isAlive(holder)) {
      throw new KvorumError(
        'BAD_CONFIG',
        `${dataDir} is in use by process ${holder}; stop it, or give this one its own data-dir ` +
          `(if that process is no kvorum, remove ${path})`,
      );
    }
    await disk.removeTree(path);
  }
}
