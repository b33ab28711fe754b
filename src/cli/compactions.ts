/**
 * Compactions that give way to requests. LevelDB merges its tables on one thread of a process, for
 * seconds at a time; on a machine whose cores are busy, the threads that answer requests and write the
 * raft log wait for it as for one of their own. With a lower priority it takes what they leave, and
 * merges more tables at once: 50 clients on three datanodes and two cores, by turns, SET 107 µs of CPU
 * and 12,000/s with the same priority, 90 and 13,300 with this one; p99 of 8,000 SETs/s 15 to 33 ms and
 * 13 to 23. When it falls behind, LevelDB itself makes its writers wait, and leaves it the cores.
 */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { constants, getPriority, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../common/errors.ts';

const TASKS = '/proc/self/task';
/** A tenth of the weight of a thread beside it that wants the same core. */
const NICER = 10;

/**
 * Lowers the priority of LevelDB's thread of this process, before anything opens an engine and while
 * nothing else starts threads: it is told by having come. Returns its number, or why it stays as it is.
 */
export async function yieldingCompactions(): Promise<number | string> {
  let place: Place | undefined;
  try {
    const { makeCompactionThread } = await import('../datanode/engine/leveldb.ts');
    place = temporaryPlace();
    const before = new Set(await readdir(TASKS));
    await makeCompactionThread(place.level);
    const came = (await readdir(TASKS)).filter((task) => !before.has(task)).map(Number);
    if (came.length !== 1) return `${came.length} threads came, and one of them compacts`;
    setPriority(came[0]!, Math.min(constants.priority.PRIORITY_LOW, getPriority() + NICER));
    return came[0]!;
  } catch (error) {
    return messageOf(error);
  } finally {
    await place?.remove();
  }
}

interface Place {
  /** Of LevelDB: not there yet, and not to be made any more once the place has gone. */
  readonly level: string;
  remove(): Promise<void>;
}

/** A directory that goes with the process, should that be stopped while it starts. */
function temporaryPlace(): Place {
  const dir = mkdtempSync(join(tmpdir(), 'kvorum-compactions-'));
  const options = { recursive: true, force: true };
  const onExit = () => {
    try {
      // under another name LevelDB, which may be at work there, makes no more files in it
      const doomed = `${dir}-doomed`;
      renameSync(dir, doomed);
      rmSync(doomed, options);
    } catch {
      // it is among what is temporary, and the process has an end of its own
    }
  };
  process.once('exit', onExit);
  const remove = async () => {
    await rm(dir, options).catch(() => {});
    process.off('exit', onExit);
  };
  return { level: join(dir, 'level'), remove };
}
