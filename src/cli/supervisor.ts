/**
 * The parent of `kvorum start`: starts the processes, restarts one that died (with back-off and
 * one line), and outlives none of them: each child holds a pipe to the parent and ends with it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { ProcessPlan } from './cluster-dir.ts';
import { nodeEnvironment, nodeFlags } from './node-flags.ts';
import type { RunFile } from './run-file.ts';

/**
 * Without progress; a node with many replicas makes some all the time. Tells what hangs from a
 * machine that is busy: on two cores with a load of 15 a start took 11 s.
 */
const READY_MS = 90_000;
const PROGRESS_MS = 2_000;
const POLL_MS = 20;
const STOP_MS = 20_000;
const BACKOFF_MIN_MS = 200;
const BACKOFF_MAX_MS = 10_000;
/** A child that lived this long begins with the shortest back-off again. */
const HEALTHY_MS = 30_000;

export interface SupervisorOptions {
  /** The `kvorum` command, run by this Node.js. */
  readonly script: string;
  readonly restart: boolean;
  /** How long one that is not ready may make no progress; 90 s when absent. */
  readonly readyMs?: number;
  say(line: string): void;
}

interface Child {
  readonly plan: ProcessPlan;
  process: ChildProcess | undefined;
  /** It has been ready once: `start` waits for it no more. */
  ready: boolean;
  /** How the last process ended, while there is no other. */
  ended: string | undefined;
  /** How the one before ended, if there was one. */
  before: string | undefined;
  startedMs: number;
  /** Of its log, when it was started: what earlier ones wrote. */
  logBytes: number;
  backoffMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children: Child[];
  readonly #datanodes: number;
  #stopping = false;

  constructor(plans: readonly ProcessPlan[], options: SupervisorOptions) {
    this.#options = options;
    this.#datanodes = plans.filter(({ role }) => role === 'datanode').length;
    this.#children = plans.map((plan) => ({
      plan,
      process: undefined,
      ready: false,
      ended: undefined,
      before: undefined,
      startedMs: 0,
      logBytes: 0,
      backoffMs: BACKOFF_MIN_MS,
      timer: undefined,
    }));
  }

  /**
   * Starts all; resolves to true when every one is ready, to false when they were stopped meanwhile;
   * rejects with the reason of one that is not ready.
   */
  async start(): Promise<boolean> {
    for (const child of this.#children) this.#spawn(child);
    await Promise.all(this.#children.map((child) => this.#whenReady(child)));
    return !this.#stopping;
  }

  /** Ends all life lines: all stop (flush, no hand-over of leaders); then makes sure of it. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#children.map((child) => stopChild(child)));
  }

  #spawn(child: Child): void {
    const { plan } = child;
    rmSync(plan.runFile, { force: true });
    child.startedMs = Date.now();
    child.logBytes = bytesOf(plan.logFile);
    // Standard input is the life line: it ends when this process does, however that happens.
    const { script } = this.#options;
    const running = spawn(
      process.execPath,
      [
        ...nodeFlags(plan.role, this.#datanodes),
        script,
        plan.role,
        '--config',
        plan.config,
        '--life-line',
      ],
      { stdio: ['pipe', 'ignore', 'pipe'], env: nodeEnvironment(process.env) },
    );
    child.process = running;
    child.ended = undefined;
    let errors = '';
    running.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-2_000);
    });
    running.stdin?.on('error', () => {});
    const died = (how: string) => {
      if (child.process === running) this.#died(child, how);
    };
    running.on('error', (failure) => {
      if (running.pid === undefined) died(`cannot run: ${failure.message}`);
    });
    // `close`, not `exit`: only then is all heard that it said last.
    running.once('close', (code, signal) => {
      const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
      const lastLine = errors.trim().split('\n').at(-1);
      died(lastLine ? `${how}: ${lastLine}` : how);
    });
  }

  #died(child: Child, how: string): void {
    child.process = undefined;
    child.ended = how;
    child.before = how;
    if (this.#stopping) return;
    const { name } = child.plan;
    if (!this.#options.restart) {
      if (child.ready) this.#options.say(`${name} ${how}`);
      return;
    }
    if (Date.now() - child.startedMs > HEALTHY_MS) child.backoffMs = BACKOFF_MIN_MS;
    this.#options.say(`${name} ${how}; starting it again in ${child.backoffMs} ms`);
    child.timer = setTimeout(() => this.#spawn(child), child.backoffMs);
    child.backoffMs = Math.min(child.backoffMs * 2, BACKOFF_MAX_MS);
  }

  async #whenReady(child: Child): Promise<void> {
    const { plan } = child;
    const { say, readyMs = READY_MS } = this.#options;
    const progress = new Progress(plan, readyMs, say);
    while (Date.now() < progress.deadline && !this.#stopping) {
      const run = readRun(plan.runFile);
      if (run && run.pid === child.process?.pid) {
        const ports = Object.entries(run.ports).map(([door, port]) => `${door} ${port}`);
        child.ready = true;
        say(`${plan.name} ready (pid ${run.pid}; ${ports.join(', ')})`);
        return;
      }
      if (!this.#options.restart && child.ended !== undefined) {
        throw new Error(`${plan.name} ${child.ended}; see ${plan.logFile}`);
      }
      await progress.look();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    if (this.#stopping) return;
    const seconds = readyMs / 1_000;
    const blamed = this.#blamed(child);
    throw new Error(
      `${blamed.plan.name} is not ready and got no further for ${seconds} s; ${whereToLook(blamed)}`,
    );
  }

  /** One that could not start may be what keeps the others, whose time is up first, from being ready. */
  #blamed(late: Child): Child {
    if (late.before !== undefined) return late;
    return this.#children.find((child) => !child.ready && child.before !== undefined) ?? late;
  }
}

/** How far a datanode is that is not ready yet: its open replicas. */
class Progress {
  deadline: number;
  readonly #plan: ProcessPlan;
  readonly #readyMs: number;
  readonly #say: (line: string) => void;
  #nextMs = Date.now() + PROGRESS_MS;
  #open = 0;

  constructor(plan: ProcessPlan, readyMs: number, say: (line: string) => void) {
    this.#plan = plan;
    this.#readyMs = readyMs;
    this.deadline = Date.now() + readyMs;
    this.#say = say;
  }

  /** Asks from time to time, tells what is new and grants more time for it. */
  async look(): Promise<void> {
    const { role, name, ports } = this.#plan;
    if (role !== 'datanode' || Date.now() < this.#nextMs) return;
    this.#nextMs = Date.now() + PROGRESS_MS;
    const open = await openReplicas(ports['http']);
    if (open <= this.#open) return;
    this.#open = open;
    this.deadline = Date.now() + this.#readyMs;
    this.#say(`${name} has opened ${open} replicas …`);
  }
}

/** 0 when nobody answers (yet). */
async function openReplicas(port: number | undefined): Promise<number> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/status`, {
      signal: AbortSignal.timeout(PROGRESS_MS),
    });
    const { partitions } = (await answer.json()) as { partitions?: readonly unknown[] };
    return partitions?.length ?? 0;
  } catch {
    return 0;
  }
}

/** What a log holds that nobody has written to since is of an earlier process, and misleads. */
function whereToLook({ plan, logBytes, before: how }: Child): string {
  if (how !== undefined) return `it ${how}; see ${plan.logFile}`;
  if (bytesOf(plan.logFile) !== logBytes) return `see ${plan.logFile}`;
  const before = logBytes === 0 ? '' : ', what is there is of earlier runs';
  return (
    `it has logged nothing to ${plan.logFile} since it was started${before}: the machine may ` +
    'be busy, or its disk not answer'
  );
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function readRun(path: string): RunFile | undefined {
  if (!existsSync(path)) return undefined;
  return JSON.parse(readFileSync(path, 'utf8')) as RunFile;
}

function stopChild(child: Child): Promise<void> {
  clearTimeout(child.timer);
  const running = child.process;
  if (running === undefined || hasEnded(running)) return Promise.resolve();
  return new Promise((resolve) => {
    const force = setTimeout(() => running.kill('SIGKILL'), STOP_MS);
    running.once('exit', () => {
      clearTimeout(force);
      resolve();
    });
    running.stdin?.end();
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
