/** What Linux tells of the threads of processes. */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';

/** How much nicer one that gives way is: tests may run beside others with a low priority themselves. */
export const NICER = Math.min(10, constants.priority.PRIORITY_LOW - getPriority());

/** Threads of a process that are not as urgent as its first one: their numbers, and how much nicer they are. */
export function threadsOfOwnPriority(pid: number | 'self'): [thread: number, nicer: number][] {
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  const usual = niceOf(pid, pid === 'self' ? process.pid : pid);
  return threads
    .map((thread): [number, number] => [thread, (niceOf(pid, thread) ?? usual!) - usual!])
    .filter(([, nicer]) => nicer !== 0);
}

/** Undefined: the thread has ended. By proc(5) the 19th field, behind a name in brackets that may have spaces. */
function niceOf(pid: number | 'self', thread: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  } catch {
    return undefined;
  }
}
