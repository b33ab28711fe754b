/** What to do about a disk that refuses to write: it says why, and not all that is full wants room. */
import { messageOf, systemCodeOf } from './errors.ts';

/** By the system's words, which LevelDB's errors carry as well, where codes of the system are not. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /file too large/i,
    'raise the limit of the size of files that this process may write (ulimit -f, LimitFSIZE= of ' +
      'systemd, --ulimit fsize= of docker), or let its data lie on a file system that takes larger ones',
  ],
  [/quota exceeded/i, 'raise the disk quota of its user, or make room within it'],
  [
    /too many open files/i,
    'raise the limit of open files (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of docker)',
  ],
  [
    /permission denied|not permitted/i,
    'let the user that runs this process read and write it, and all beside it',
  ],
  [
    /read-only file system/i,
    'let its file system be written again (after an error of the disk Linux mounts it read-only: its ' +
      'log tells)',
  ],
];

const fullCodes: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Whether a file, its user or its disk may take no more. */
export function isFull(failure: unknown): boolean {
  return fullCodes.has(systemCodeOf(failure));
}

/** The remedy for what was thrown by a write, a sync or the making of a file. */
export function diskRemedy(failure: unknown): string {
  const text = messageOf(failure);
  return remedies.find(([words]) => words.test(text))?.[1] ?? 'make room or replace the disk';
}
