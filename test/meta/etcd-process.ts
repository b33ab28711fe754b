/** A real etcd of this test: its own directory and ports, ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeStorePort } from '../ports.ts';

/** Tells what hangs from what is slow. */
const HEALTHY_MS = 120_000;

export class EtcdProcess {
  readonly url: string;
  readonly #root: string;
  readonly #flags: readonly string[];
  #child: ChildProcess | undefined;

  constructor(ports: readonly [client: number, peer: number], flags: readonly string[]) {
    this.#root = mkdtempSync(join(tmpdir(), 'kvorum-etcd-'));
    this.url = `http://127.0.0.1:${ports[0]}`;
    const peerUrl = `http://127.0.0.1:${ports[1]}`;
    this.#flags = [
      ...['--data-dir', this.#dir(), '--name', 'test', '--log-level', 'error'],
      ...['--listen-client-urls', this.url, '--advertise-client-urls', this.url],
      ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
      ...['--initial-cluster', `test=${peerUrl}`, ...flags],
    ];
  }

  /** Starts it on the data it has, at the same address as before; resolves when it is healthy. */
  async start(): Promise<void> {
    const child = spawn('etcd', this.#flags, { stdio: 'ignore' });
    this.#child = child;
    await untilHealthy(this.url, child);
  }

  /** SIGKILL; the data stays. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Freezes it: connections stay, nothing is answered. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Of a stopped etcd: keeps its data aside under `name`. */
  save(name: string): void {
    cpSync(this.#dir(), join(this.#root, name), { recursive: true });
  }

  /** Of a stopped etcd: begins anew, or from what was saved. */
  wipe(saved?: string): void {
    rmSync(this.#dir(), { recursive: true, force: true });
    if (saved) cpSync(join(this.#root, saved), this.#dir(), { recursive: true });
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#root, { recursive: true, force: true });
  }

  #dir(): string {
    return join(this.#root, 'data');
  }
}

export async function startEtcd(...flags: readonly string[]): Promise<EtcdProcess> {
  const port = await freeStorePort();
  const etcd = new EtcdProcess([port, port + 1], flags);
  try {
    await etcd.start();
  } catch (failure) {
    await etcd.stop();
    throw failure;
  }
  return etcd;
}

async function untilHealthy(url: string, child: ChildProcess): Promise<void> {
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = new Error(`etcd does not start: ${error.message}; install etcd-server`);
  });
  child.once('exit', (code) => {
    failure ??= new Error(`etcd ended with ${code}`);
  });
  const deadline = performance.now() + HEALTHY_MS;
  while (performance.now() < deadline) {
    if (failure) throw failure;
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    if (answer?.ok && (await answer.text()).includes('true')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill('SIGKILL');
  throw new Error(`etcd is not healthy after ${HEALTHY_MS / 1_000} s`);
}
