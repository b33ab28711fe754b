/** What Linux tells of the threads of processes. */
import { readdirSync, readFileSync } from 'node:fs';

/** Threads of a process that are not as urgent as its first one: their numbers, and how much nicer they are. */
export function threadsOfOwnPriority(pid: number | 'self'): [thread: number, nicer: number][] {
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  const niceOf = (thread: number) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    // by proc(5) the 19th field, behind a name in brackets that may have spaces
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  };
  const usual = niceOf(pid === 'self' ? process.pid : pid);
  return threads
    .map((thread): [number, number] => [thread, niceOf(thread) - usual])
    .filter(([, nicer]) => nicer !== 0);
}
