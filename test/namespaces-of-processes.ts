/** Processes that are number 1 and see no others, as in a container. */
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';

/** Its own /proc as well; killed with the one that waits for it. */
const flags = ['-r', '--pid', '--fork', '--mount-proc', '--kill-child'];

/** False where the system has no such thing, or does not allow it: tests of it are skipped then. */
export const canUnshare = spawnSync('unshare', [...flags, 'true']).status === 0;

/** Runs Node.js as the first process of a namespace; a signal that ends it ends what waits for it. */
export function spawnAsFirst(args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn('unshare', [...flags, process.execPath, ...args], options);
}
