/**
 * What tells that the holder of a data directory's lock lives: it listens at a socket in that
 * directory, named after the lock. Process ids mean nothing beyond a container, and each container's
 * first process is number 1; a socket of the file system is reached from everywhere, and the kernel
 * takes it from who dies, however that happens.
 */
import { type Clock, sleep } from './clock.ts';
import type { Disk } from './disk.ts';
import { systemCodeOf } from './errors.ts';

export interface LocalSockets {
  /**
   * Listens at `path`, where a file comes to be, until it is closed; keeps no process alive.
   * Undefined where no socket can be.
   */
  listen(path: string): Promise<{ close(): Promise<void> } | undefined>;
  /** Whether a process listens there; false when that cannot be told. */
  answers(path: string): Promise<boolean>;
}

interface SocketWorld {
  readonly disk: Disk;
  readonly sockets: LocalSockets;
}

const NAME = /^lock\.socket-/;
/** Those who wanted the directory together have left by then. */
const OTHERS_MS = 5_000;
const POLL_MS = 5;

/** Where the holder of the lock with this id listens. */
export function socketOf(lock: string, id: string): string {
  return `${lock}.socket-${id}`;
}

/** Listens for the lock with this id: to be done before any file names it. */
export async function holdSocket(
  { disk, sockets }: SocketWorld,
  lock: string,
  id: string,
): Promise<{ close(): Promise<void> }> {
  const path = socketOf(lock, id);
  // it listens before it has its name: one that does not answer there is of a dead process
  const unnamed = `${lock}.new-${id}.socket`;
  for (;;) {
    const listening = await sockets.listen(unnamed);
    if (listening === undefined) return { async close() {} };
    try {
      await disk.rename(unnamed, path);
    } catch (failure) {
      await listening.close();
      await disk.removeTree(unnamed);
      if (systemCodeOf(failure) !== 'ENOENT') throw failure;
      // who has got the lock meanwhile has tidied up
      continue;
    }
    return {
      async close() {
        await listening.close();
        await disk.removeTree(path);
      },
    };
  }
}

/** Removes the sockets of dead processes, and names those of others that live. */
async function removeDeadSockets(
  { disk, sockets }: SocketWorld,
  dataDir: string,
  own: string,
): Promise<string[]> {
  const alive: string[] = [];
  for (const name of await disk.list(dataDir)) {
    const path = `${dataDir}/${name}`;
    if (!NAME.test(name) || path === own) continue;
    if (await sockets.answers(path)) alive.push(path);
    else await disk.removeTree(path);
  }
  return alive;
}

/**
 * The socket of another process that stays, to be asked by who has got the lock; undefined when there is
 * none. Those that wanted it at the same time see that it is taken, and close theirs; one that does not
 * had the directory before, and somebody removed its lock or put an older one back.
 */
export async function socketThatStays(
  world: SocketWorld & { readonly clock: Clock },
  dataDir: string,
  own: string,
): Promise<string | undefined> {
  const { clock, sockets } = world;
  const untilMs = clock.monotonicMs() + OTHERS_MS;
  // who comes later finds the lock taken
  for (const other of await removeDeadSockets(world, dataDir, own)) {
    while (await sockets.answers(other)) {
      if (clock.monotonicMs() >= untilMs) return other;
      await sleep(clock, POLL_MS);
    }
  }
  return undefined;
}
