/**
 * Child processes of the benchmark. Each leads a process group of its own, so that Ctrl-C reaches
 * the benchmark alone, which then ends every group it has started, and nothing else.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

const STOP_MS = 20_000;
const groups = new Set<ChildProcess>();
const GUARD = ['setpriv', '--pdeathsig', 'KILL'];
let guardRuns: boolean | undefined;

/** Words that make the kernel kill a program, which keeps its process id, with the one that ran it. */
export function guard(): readonly string[] {
  guardRuns ??= spawnSync(GUARD[0]!, [...GUARD.slice(1), 'true']).status === 0;
  return guardRuns ? GUARD : [];
}

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface ServerOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** It reads its standard input, and ends when that does: with `stop`, or with this process. */
  readonly lifeLine?: boolean;
  /** The kernel kills it when this process dies, however that happens; where setpriv is there. */
  readonly endsWithUs?: boolean;
}

/** A server: runs until `stop`. Its last words are kept for the message when it dies. */
export class Server {
  readonly name: string;
  readonly process: ChildProcess;
  #output = '';
  #failure: Error | undefined;
  #stopping = false;

  constructor(
    name: string,
    command: string,
    args: readonly (string | number)[],
    { env, lifeLine = false, endsWithUs = false }: ServerOptions = {},
  ) {
    this.name = name;
    const [program = command, ...words] = [...(endsWithUs ? guard() : []), command, ...args];
    this.process = launch(String(program), words, env, lifeLine);
    this.process.stdin?.on('error', () => {});
    const hear = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-4_000);
    };
    this.process.stdout?.on('data', hear);
    this.process.stderr?.on('data', hear);
    this.process.once('error', (error) => {
      this.#failure = new Error(`cannot run ${command}: ${error.message}`);
    });
    this.process.once('exit', (code, signal) => {
      if (this.#stopping) return;
      this.#failure = new Error(`${name} ended with ${code ?? signal}: ${this.#output.trim()}`);
    });
  }

  get pid(): number {
    this.check();
    return this.process.pid ?? 0;
  }

  get output(): string {
    return this.#output;
  }

  /** Throws when the server has died by itself. */
  check(): void {
    if (this.#failure) throw this.#failure;
  }

  /** Polls until `ready` answers true; throws after `ms`, or at once when the server dies. */
  async until(ms: number, what: string, ready: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = performance.now() + ms;
    while (performance.now() < deadline) {
      this.check();
      if (await ready()) return;
      await pause(50);
    }
    throw new Error(`${this.name}: not within ${ms / 1000} s: ${what}. ${this.#output.trim()}`);
  }

  /** Resolves when it has ended: at its own pace, after 20 s by force. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await end(this.process, (child) => {
      if (child.stdin) child.stdin.end();
      else child.kill('SIGTERM');
    });
  }

  /** The same by a signal: what it does then depends on the signal. */
  async endBy(signal: NodeJS.Signals): Promise<void> {
    this.#stopping = true;
    await end(this.process, (child) => child.kill(signal));
  }
}

export interface RunOptions {
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Hears the standard output so far, whenever there is more of it. */
  readonly onOutput?: (stdout: string) => void;
}

/** Runs a program to its end. Throws when it cannot run, takes too long, or `onOutput` throws. */
export function run(
  command: string,
  args: readonly (string | number)[],
  options: RunOptions,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = launch(command, args, options.env);
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
      try {
        options.onOutput?.(stdout);
      } catch (error) {
        signalGroup(child, 'SIGKILL');
        reject(error);
      }
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      signalGroup(child, 'SIGKILL');
    }, options.timeoutMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`cannot run ${command}: ${error.message}`));
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      if (late)
        reject(new Error(`${command} ${args.join(' ')}: no end in ${options.timeoutMs} ms`));
      else resolve({ stdout, stderr, code });
    });
  });
}

/** Ends everything that still runs, at once: its data is thrown away. */
export function killAll(): void {
  for (const child of groups) signalGroup(child, 'SIGKILL');
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function launch(
  command: string,
  args: readonly (string | number)[],
  env: NodeJS.ProcessEnv = {},
  lifeLine = false,
): ChildProcess {
  const child = spawn(command, args.map(String), {
    stdio: [lifeLine ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    detached: true,
  });
  groups.add(child);
  child.once('exit', () => {
    // A leader that died has not ended those it had started: they must not be orphans.
    signalGroup(child, 'SIGKILL');
    groups.delete(child);
  });
  return child;
}

function end(child: ChildProcess, begin: (child: ChildProcess) => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const force = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_MS);
    child.once('exit', () => {
      clearTimeout(force);
      resolve();
    });
    begin(child);
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // all of it has ended
  }
}
