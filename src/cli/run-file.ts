/**
 * Run files: what a running process tells tools on the same machine. They stay behind when a
 * process dies, so that `kvorum status` can name it; `alive` is checked, never believed.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, systemCodeOf } from '../common/errors.ts';
import type { Logger } from '../common/log.ts';

export interface RunFile {
  readonly name: string;
  readonly role: 'placedriver' | 'datanode';
  readonly pid: number;
  /** `birthOf` the process; absent where the system does not tell. */
  readonly birth?: string | undefined;
  readonly host: string;
  /** Where HTTP may or must be TLS: the file of the authorities that its certificate is of. */
  readonly https?: { readonly mode: 'optional' | 'required'; readonly authorities?: string };
  readonly ports: {
    readonly gateway?: number;
    readonly cluster?: number;
    readonly http?: number;
    readonly transport?: number;
    readonly zan?: number;
    readonly meta?: number;
  };
}

export function writeRunFile(path: string, run: RunFile): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(beside(path), `${JSON.stringify(run)}\n`);
  renameSync(beside(path), path);
}

/** What is written of a run file before it takes its name. */
export function beside(path: string): string {
  return `${path}.tmp`;
}

/** As `writeRunFile`; a process that serves does not end for want of one, and says so. */
export function tellRunFile(path: string, run: RunFile, logger: Pick<Logger, 'warn'>): void {
  try {
    writeRunFile(path, run);
  } catch (failure) {
    logger.warn('run-file cannot be written: kvorum status does not see this process', {
      path,
      error: messageOf(failure),
    });
  }
}

/**
 * Every run file of a data directory, by name. Throws where they may be and cannot be read: for want of rights
 * a cluster that runs would look as if there was none.
 */
export function readRunFiles(dataDir: string): RunFile[] {
  const directory = join(dataDir, 'run');
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
  const found: RunFile[] = [];
  for (const name of names.sort()) {
    try {
      found.push(JSON.parse(readFileSync(join(directory, name), 'utf8')) as RunFile);
    } catch (error) {
      // half-written by a process that died: the process is not there either
      if (!(error instanceof SyntaxError) && !isAbsence(error)) throw error;
    }
  }
  return found;
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCodeOf(error) ?? '');
}

/** True when a process of this id exists (it may be another program after a reboot). */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** True when the process that wrote the file is there: not another that has its id by now. */
export function isRunning({ pid, birth }: Pick<RunFile, 'pid' | 'birth'>): boolean {
  if (!isAlive(pid)) return false;
  const now = birthOf(pid);
  return birth === undefined || now === undefined || now === birth;
}

/**
 * Boot of the machine and start of the process in it: no other process of this id has the same.
 * Undefined when there is none, or where the system (other than Linux) does not tell.
 */
export function birthOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // the name, in parentheses, may hold anything; the start is the 22nd field, the 20th after it
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return started === undefined ? undefined : `${boot}/${started}`;
  } catch {
    return undefined;
  }
}
