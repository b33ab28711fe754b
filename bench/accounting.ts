/**
 * What processes cost, read from /proc: CPU seconds and anonymous resident memory of each server,
 * CPU seconds of the load generators, and how busy the machine was with anything else.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

export interface NamedProcess {
  readonly name: string;
  readonly pid: number;
}

export interface Usage {
  readonly seconds: number;
  /** CPU seconds of each server process, with those of children it has waited for. */
  readonly servers: Readonly<Record<string, number>>;
  /** CPU seconds of the load generators that were started and ended meanwhile. */
  readonly load: number;
  /** Cores that anything but the servers, the load and the benchmark itself kept busy. */
  readonly otherCores: number;
}

export interface Memory {
  readonly endBytes: number;
  readonly peakBytes: number;
}

const SAMPLE_MS = 200;

/** CPU ticks of `/proc/PID/stat`: the process itself, and children it has waited for. */
export function parseStat(text: string): { readonly own: number; readonly children: number } {
  // The program's name, in brackets, may hold spaces and brackets: count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = (at: number) => Number(fields[at]);
  const own = ticks(11) + ticks(12);
  const children = ticks(13) + ticks(14);
  if (!Number.isFinite(own + children)) throw new Error(`no CPU ticks in: ${text}`);
  return { own, children };
}

/** Bytes of RssAnon in `/proc/PID/status`; 0 for a process that has ended and was not waited for. */
export function parseRssAnon(text: string): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}

/** Ticks in which a core was not idle, of all cores, from `/proc/stat`. */
export function parseBusyTicks(text: string): number {
  const [user, nice, system, , , irq, softirq, steal] = (text.split('\n')[0] ?? '')
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, n) => sum + (n ?? 0), 0);
}

const ticksPerSecond =
  Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100;

function cpuTicks(pid: number | 'self') {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** Runs `read` on a process; throws an error that names it when it has ended. */
function ofLiving<T>({ name, pid }: NamedProcess, read: (pid: number) => T): T {
  try {
    return read(pid);
  } catch (error) {
    throw new Error(`${name} (process ${pid}) has ended`, { cause: error });
  }
}

function rssAnon(pid: number): number {
  return parseRssAnon(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Measures processes from its making until `close`; throws when one of them has gone. */
export class Accounting {
  readonly #processes: readonly NamedProcess[];
  readonly #peaks = new Map<string, number>();
  readonly #sampler: NodeJS.Timeout;

  constructor(processes: readonly NamedProcess[]) {
    this.#processes = processes;
    this.#sampler = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** Runs `work` and says what it cost. Nothing else may start or end child processes meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly usage: Usage }> {
    const close = this.open();
    const result = await work();
    return { result, usage: close() };
  }

  /**
   * Opens a window; what is returned closes it. The load's CPU seconds are those of the children
   * that were waited for in the window, unless the load has counted them itself.
   */
  open(): (loadSeconds?: number) => Usage {
    const before = this.#snapshot();
    return (loadSeconds) => {
      const after = this.#snapshot();
      const seconds = (after.atMs - before.atMs) / 1_000;
      const spent = (name: string) =>
        ((after.servers.get(name) ?? 0) - (before.servers.get(name) ?? 0)) / ticksPerSecond;
      const servers = Object.fromEntries([...after.servers.keys()].map((n) => [n, spent(n)]));
      const waitedFor = (after.self.children - before.self.children) / ticksPerSecond;
      const load = loadSeconds ?? waitedFor;
      const own = (after.self.own - before.self.own) / ticksPerSecond;
      const busy = (after.busy - before.busy) / ticksPerSecond;
      const known = Object.values(servers).reduce((sum, each) => sum + each, load + own);
      return { seconds, servers, load, otherCores: Math.max(0, busy - known) / seconds };
    };
  }

  /** Throws an error that names a process which has ended. */
  check(): void {
    for (const each of this.#processes) ofLiving(each, cpuTicks);
  }

  memory(): Record<string, Memory> {
    this.#sample();
    return Object.fromEntries(
      this.#processes.map((each) => [
        each.name,
        { endBytes: ofLiving(each, rssAnon), peakBytes: this.#peaks.get(each.name) ?? 0 },
      ]),
    );
  }

  close(): void {
    clearInterval(this.#sampler);
  }

  #sample(): void {
    for (const { name, pid } of this.#processes) {
      try {
        this.#peaks.set(name, Math.max(this.#peaks.get(name) ?? 0, rssAnon(pid)));
      } catch {
        // it has just ended: whoever measures next hears of it
      }
    }
  }

  #snapshot() {
    const servers = new Map<string, number>();
    for (const each of this.#processes) {
      const { own, children } = ofLiving(each, cpuTicks);
      servers.set(each.name, own + children);
    }
    const busy = parseBusyTicks(readFileSync('/proc/stat', 'utf8'));
    return { atMs: performance.now(), servers, self: cpuTicks('self'), busy };
  }
}

/** Cores kept busy now, by whatever runs on this machine, over `ms` milliseconds. */
export async function busyCores(ms: number): Promise<number> {
  const accounting = new Accounting([]);
  try {
    const wait = () => new Promise<void>((resolve) => setTimeout(resolve, ms));
    return (await accounting.during(wait)).usage.otherCores;
  } finally {
    accounting.close();
  }
}

/** Those this process may use. */
export const cores = availableParallelism();
