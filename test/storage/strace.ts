/** strace, attached to processes or around them. `npm test` installs it; containers may forbid it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

/** Why it cannot be used here, or undefined. */
export function noStrace(): string | undefined {
  const tried = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { encoding: 'utf8' });
  if (tried.error) return `strace cannot be run: ${tried.error.message}`;
  if (tried.status === 0) return undefined;
  return `strace does not work here: ${tried.stderr.trim().split('\n')[0]}`;
}

/** Why it cannot be attached to a process that runs already, or undefined. */
export function noAttaching(): string | undefined {
  const reason = noStrace();
  if (reason !== undefined) return reason;
  const target = spawn('sleep', ['0.3'], { stdio: 'ignore' });
  const args = ['-o', '/dev/null', '-p', String(target.pid)];
  const tried = spawnSync('strace', args, { encoding: 'utf8', timeout: 5_000 });
  if (tried.status === 0) return undefined;
  return `strace cannot be attached here: ${tried.stderr.trim().split('\n')[0]}`;
}

/** Calls that answer when what they are about is on disk: the log's files sync what is written. */
const SYNCED = 'fsync,fdatasync,pwrite64';

/**
 * From now on every sync of the process fails with EIO, also that of a write which syncs what it
 * writes. Resolves when it is so.
 */
export function breakSyncs(pid: number): Promise<ChildProcess> {
  return inject(pid, SYNCED, 'error=EIO');
}

/** They are answered after a quarter of an hour. */
export function hangSyncs(pid: number): Promise<ChildProcess> {
  return inject(pid, SYNCED, 'delay_enter=1000s');
}

async function inject(pid: number, calls: string, what: string): Promise<ChildProcess> {
  const child = spawn(
    'strace',
    ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', `inject=${calls}:${what}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('attached')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`strace ended with ${code}`)));
  });
  return child;
}
