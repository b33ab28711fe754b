/**
 * One process per data directory: two would write one log. The lock is the file `lock`, which names
 * its holder and is never seen half written. Who finds it left behind claims the place after it, a
 * name that follows from that very lock: one process alone gets it. What it was given for a lock that
 * has been replaced meanwhile is worth nothing, which it sees when it looks again. That the
 * holder lives, its socket tells (`lock-socket`), or its process id: the first is seen from other
 * containers too, the second also where no socket can be. A socket also tells of a process whose lock
 * somebody has removed, or replaced by an older one: it goes on writing.
 */
import type { Clock } from './clock.ts';
import { type Disk, readFile } from './disk.ts';
import { diskRemedy, isFull } from './disk-remedy.ts';
import { KvorumError, messageOf, systemCodeOf } from './errors.ts';
import { holdSocket, type LocalSockets, socketOf, socketThatStays } from './lock-socket.ts';
import type { Random } from './random.ts';

export interface DataLock {
  /** Gives the directory back; what somebody else has taken by hand meanwhile stays. */
  release(): Promise<void>;
}

/** Who asks, and what the machine knows of other processes. */
export interface LockWorld {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly random: Random;
  readonly processId: number;
  isAlive(processId: number): boolean;
  /** Tells a process from another one with its id, across boots; undefined where nothing tells. */
  birthOf(processId: number): string | undefined;
  readonly sockets: LocalSockets;
}

/** What a lock file says: `<process> <id of this lock> [<birth of the process>]`. */
interface Holder {
  readonly processId: number;
  /** Of this taking of the lock alone; absent in the locks of older builds. */
  readonly id: string | undefined;
  readonly birth: string | undefined;
}

interface Found {
  readonly path: string;
  /** Undefined when nothing can be read from it: a loss of power left it so. */
  readonly holder: Holder | undefined;
}

const LOCK_BYTES_MAX = 1_024;
const ID_BYTES = 8;

/** What file systems without hard links say to one. */
const noLinkCodes: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
]);

const notAllowedCodes: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Takes the lock of `dataDir`, which is made if need be; the lock of a process that is gone is taken
 * over. Throws KvorumError BAD_CONFIG while its holder lives, and where this process may not write, and
 * DISK_FAILED where there is no room for the lock.
 */
export async function lockDataDir(world: LockWorld, dataDir: string): Promise<DataLock> {
  try {
    return await take(world, dataDir);
  } catch (failure) {
    throw refusalOf(failure, `data-dir ${dataDir} cannot be written (${messageOf(failure)})`);
  }
}

function refusalOf(cause: unknown, text: string): unknown {
  const code = systemCodeOf(cause);
  if (isFull(cause)) {
    const remedy = `${diskRemedy(cause)}, then start this process again`;
    return new KvorumError('DISK_FAILED', `${text}; ${remedy}`, { cause });
  }
  if (!notAllowedCodes.has(code)) return cause;
  const remedy = 'give it to the user that runs this process, or choose another place';
  return new KvorumError('BAD_CONFIG', `${text}; ${remedy}`, { cause });
}

async function take(world: LockWorld, dataDir: string): Promise<DataLock> {
  const { disk, processId } = world;
  const lock = `${dataDir}/lock`;
  const own = { processId, id: world.random.hex(ID_BYTES), birth: world.birthOf(processId) };
  await disk.makeDir(dataDir);
  const socket = await holdSocket(world, lock, own.id);
  try {
    await takeAs(own, world, dataDir, lock);
    await assertAlone(own, world, dataDir, lock);
  } catch (failure) {
    await socket.close();
    throw failure;
  }
  return {
    async release() {
      await release(disk, lock, own);
      await socket.close();
    },
  };
}

async function takeAs(own: Holder, world: LockWorld, dataDir: string, lock: string): Promise<void> {
  const { disk } = world;
  for (;;) {
    await disk.makeDir(dataDir);
    const last = await lastOf(disk, lock);
    if (last?.holder && (await isHeld(world, lock, last.holder)))
      throw inUse(dataDir, lock, last.holder);
    const place = last === undefined ? lock : placeAfter(lock, last);
    if (!(await claim(disk, lock, place, own))) continue;
    if (place !== lock) {
      if ((await lastOf(disk, lock))?.holder?.id !== own.id) {
        await disk.removeTree(place);
        continue;
      }
      await disk.rename(place, lock);
    }
    await removeLeftovers(disk, dataDir);
    return;
  }
}

/** Gives the lock back, and throws, when a process goes on here that the lock did not name. */
async function assertAlone(own: Holder, world: LockWorld, dataDir: string, lock: string) {
  const other = await socketThatStays(world, dataDir, socketOf(lock, own.id ?? ''));
  if (other === undefined) return;
  await release(world.disk, lock, own);
  throw new KvorumError(
    'BAD_CONFIG',
    `${dataDir} is in use by the process that listens at ${other}, which ${lock} did not name ` +
      `(somebody removed it, or put an older one back); stop that process (fuser ${other} tells ` +
      'which it is), or give this one its own data-dir',
  );
}

/** The lock, or the last of the claims that follow it: whose process ended before it had the lock. */
async function lastOf(disk: Disk, lock: string): Promise<Found | undefined> {
  for (;;) {
    const first = await read(disk, lock);
    if (first === undefined) return undefined;
    let last = first;
    for (let next: Found | undefined = first; next !== undefined; ) {
      last = next;
      next = await read(disk, placeAfter(lock, last));
    }
    if (last === first) return last;
    // a claim counts only while the lock is still the one that it follows
    const now = await read(disk, lock);
    if (now !== undefined && now.holder?.id === first.holder?.id) return last;
  }
}

/** An id is never given twice, and without one the name grows: no walk along them comes back. */
function placeAfter(lock: string, { path, holder }: Found): string {
  return holder?.id === undefined ? `${path}+` : `${lock}.after-${holder.id}`;
}

async function read(disk: Disk, path: string): Promise<Found | undefined> {
  let text: string;
  try {
    text = (await readFile(disk, path, LOCK_BYTES_MAX)).toString();
  } catch (failure) {
    if (systemCodeOf(failure) === 'ENOENT') return undefined;
    if (notAllowedCodes.has(systemCodeOf(failure))) throw failure;
    throw noLock(path, failure);
  }
  const fields = /^(\d+)(?: ([0-9a-f]+)(?: (\S+))?)?\n$/.exec(text);
  const processId = Number(fields?.[1]);
  if (!(processId > 0)) return { path, holder: undefined };
  return { path, holder: { processId, id: fields?.[2], birth: fields?.[3] } };
}

async function isHeld(world: LockWorld, lock: string, holder: Holder): Promise<boolean> {
  const { id } = holder;
  if (id !== undefined && (await world.sockets.answers(socketOf(lock, id)))) return true;
  return runsHere(world, holder);
}

/** Ids are given again: a process that was born at another time is another one. */
function runsHere(world: LockWorld, { processId, birth }: Holder): boolean {
  if (!world.isAlive(processId)) return false;
  const now = world.birthOf(processId);
  if (birth !== undefined && now !== undefined) return birth === now;
  return processId !== world.processId;
}

/** Puts what names `own` at `place`, whole, unless something is there; tells whether it did. */
async function claim(disk: Disk, lock: string, place: string, own: Holder): Promise<boolean> {
  const temporary = `${lock}.new-${own.id}`;
  try {
    await writeHolder(disk, temporary, own);
    await disk.link(temporary, place).catch(async (failure: unknown) => {
      if (!noLinkCodes.has(systemCodeOf(failure))) throw failure;
      await writeHolder(disk, place, own);
    });
    return true;
  } catch (failure) {
    // ENOENT: who has got the lock meanwhile has tidied up
    if (!['EEXIST', 'ENOENT'].includes(systemCodeOf(failure) ?? '')) throw failure;
    return false;
  } finally {
    await disk.removeTree(temporary);
  }
}

/** Durable before it has its name in the end: a loss of power leaves no empty claim there. */
async function writeHolder(disk: Disk, path: string, own: Holder): Promise<void> {
  const { processId, id, birth } = own;
  const file = await disk.open(path, 'create');
  try {
    const text = birth === undefined ? `${processId} ${id}\n` : `${processId} ${id} ${birth}\n`;
    await file.pwrite(0, Buffer.from(text));
    await file.fdatasync();
  } finally {
    await file.close();
  }
}

async function removeLeftovers(disk: Disk, dataDir: string): Promise<void> {
  for (const name of await disk.list(dataDir)) {
    if (/^lock(?:\.(?:after|new)-|\+)/.test(name)) await disk.removeTree(`${dataDir}/${name}`);
  }
}

async function release(disk: Disk, lock: string, own: Holder): Promise<void> {
  if ((await read(disk, lock))?.holder?.id === own.id) await disk.removeTree(lock);
}

/** A directory, or a file that is too long for one. */
function noLock(path: string, cause: unknown): KvorumError {
  const text = `${path} is no lock of kvorum (${messageOf(cause)}); move it away`;
  return new KvorumError('BAD_CONFIG', text, { cause });
}

function inUse(dataDir: string, lock: string, { processId }: Holder): KvorumError {
  return new KvorumError(
    'BAD_CONFIG',
    `${dataDir} is in use by process ${processId}; stop it, or give this one its own data-dir ` +
      `(if that process is no kvorum, remove ${lock})`,
  );
}
