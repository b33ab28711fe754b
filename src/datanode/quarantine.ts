/**
 * A data directory that cannot be trusted as a whole (its log or its identity is damaged, or part
 * of it is gone) is set aside and the node comes back as a new incarnation, filled by its peers:
 * a replica that may have forgotten a vote never votes again (decision 18). What was set aside is
 * kept, it may be the last copy; so it happens once, until somebody has looked at it.
 */
import { type Disk, replaceFile } from '../common/disk.ts';
import { KvorumError, messageOf } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';

/** Everything that belongs to one incarnation. */
const NAMES = ['identity', 'table', 'replicas', 'log', 'engines'];
/** There while a move is under way: one that is cut short is ended by the next start. */
const MOVING = 'moving';
/** Of a move that did not even begin: the disk was full, or the process was killed. */
const UNBEGUN = `${MOVING}.tmp`;

/** Throws `reason`, with the remedy, when something was set aside before. */
export async function quarantine(
  disk: Disk,
  dataDir: string,
  reason: unknown,
  logger: Logger,
): Promise<void> {
  const aside = asideOf(dataDir);
  if ((await disk.list(aside)).some((name) => name !== UNBEGUN)) {
    throw new KvorumError(
      'CORRUPT',
      `${messageOf(reason)}; ${aside} holds what was set aside before: remove it when every ` +
        'partition has its replicas again (kvorum status), then start this node',
      { cause: reason },
    );
  }
  logger.error('the data directory is damaged: set aside, this node comes back empty', {
    reason: messageOf(reason),
    kept: aside,
  });
  await disk.makeDir(aside);
  await disk.syncDir(dataDir);
  await replaceFile(disk, `${aside}/${MOVING}`, Buffer.from(`${messageOf(reason)}\n`));
  await moveAside(disk, dataDir);
}

/** Before anything is read: ends a move that was cut short. */
export async function endQuarantine(disk: Disk, dataDir: string): Promise<void> {
  if (await disk.exists(`${asideOf(dataDir)}/${MOVING}`)) await moveAside(disk, dataDir);
}

/** Throws CORRUPT when a directory in use has lost its raft log: its votes are forgotten. */
export async function checkLogIsThere(
  disk: Disk,
  dataDir: string,
  engines: readonly string[],
): Promise<void> {
  if (engines.length === 0 || (await disk.list(`${dataDir}/log`)).length > 0) return;
  throw new KvorumError(
    'CORRUPT',
    `${dataDir}/log: the raft log is gone, but there are ${engines.length} engines`,
  );
}

function asideOf(dataDir: string): string {
  return `${dataDir}/quarantine`;
}

async function moveAside(disk: Disk, dataDir: string): Promise<void> {
  const aside = asideOf(dataDir);
  for (const name of NAMES) {
    if (await disk.exists(`${dataDir}/${name}`)) {
      await disk.rename(`${dataDir}/${name}`, `${aside}/${name}`);
    }
  }
  await disk.syncDir(aside);
  await disk.syncDir(dataDir);
  await disk.unlink(`${aside}/${MOVING}`);
  await disk.syncDir(aside);
}
