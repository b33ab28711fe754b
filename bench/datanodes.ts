/** The datanodes of a cluster that `kvorum start` has made, one by one: killed, stopped, started. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeEnvironment, nodeFlags } from '../src/cli/node-flags.ts';
import { isAlive, type RunFile } from '../src/cli/run-file.ts';
import { pause, Server } from '../tools/children.ts';
import { type ReplicaStatus, statusOf, unsettledOf } from '../tools/settled.ts';

const GONE_MS = 30_000;
const LOOK_MS = 100;

export class Datanodes {
  readonly names: readonly string[];
  readonly #data: string;
  readonly #script: string;
  readonly #partitions: number;
  readonly #byHand = new Map<string, Server>();

  /** `data`: the directory that `kvorum start` was given; `script`: its command. */
  constructor(data: string, script: string, nodes: number, partitions: number) {
    this.names = Array.from({ length: nodes }, (_, at) => `datanode${at + 1}`);
    this.#data = data;
    this.#script = script;
    this.#partitions = partitions;
  }

  run(name: string): RunFile {
    return JSON.parse(readFileSync(join(this.#data, 'run', `${name}.json`), 'utf8')) as RunFile;
  }

  gatewayPort(name: string): number {
    return this.run(name).ports.gateway ?? 0;
  }

  /** Where its replicas and its log are. */
  directory(name: string): string {
    return join(this.#data, name);
  }

  config(name: string): string {
    return join(this.#data, `${name}.yaml`);
  }

  /** SIGKILL; resolves when the process has gone, so that nothing is answered by it any more. */
  async kill(name: string): Promise<void> {
    await this.#end(name, 'SIGKILL');
  }

  /** SIGTERM, as an operator does; resolves when it has gone. */
  async terminate(name: string): Promise<void> {
    await this.#end(name, 'SIGTERM');
  }

  /** Starts one that has gone as `kvorum start` does. */
  launch(name: string): void {
    const args = [
      ...nodeFlags('datanode', this.names.length),
      this.#script,
      'datanode',
      '--life-line',
    ];
    const server = new Server(name, process.execPath, [...args, '--config', this.config(name)], {
      env: nodeEnvironment(process.env),
      lifeLine: true,
    });
    this.#byHand.set(name, server);
  }

  /** Throws when one that was launched has died. */
  check(): void {
    for (const server of this.#byHand.values()) server.check();
  }

  /** What it tells of its replicas; undefined when it does not answer. */
  status(name: string): Promise<readonly ReplicaStatus[] | undefined> {
    return statusOf(`127.0.0.1:${this.run(name).ports.http}`);
  }

  /** Whether the node says that it can serve: its replicas are open, and it knows every leader. */
  async isReady(name: string): Promise<boolean> {
    try {
      const url = `http://127.0.0.1:${this.run(name).ports.http}/readyz`;
      return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
    } catch {
      return false;
    }
  }

  /** Nodes and replicas that are not as they should be. */
  async unsettled(): Promise<number> {
    const answers = await Promise.all(this.names.map((name) => this.status(name)));
    return unsettledOf(answers, { partitions: this.#partitions, replicas: 3 });
  }

  /** Polls until `holds`; throws after `ms`, or when a process that was launched has died. */
  async until(
    ms: number,
    what: string,
    holds: () => Promise<boolean>,
    lookMs = LOOK_MS,
  ): Promise<void> {
    const deadline = performance.now() + ms;
    for (;;) {
      this.check();
      if (await holds()) return;
      if (performance.now() > deadline) throw new Error(`not within ${ms / 1_000} s: ${what}`);
      await pause(lookMs);
    }
  }

  untilSettled(ms: number): Promise<void> {
    return this.until(ms, 'every replica has caught up', async () => {
      return (await this.unsettled()) === 0;
    });
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byHand.values()].map((server) => server.stop()));
    this.#byHand.clear();
  }

  async #end(name: string, signal: NodeJS.Signals): Promise<void> {
    const own = this.#byHand.get(name);
    if (own !== undefined) {
      this.#byHand.delete(name);
      await own.endBy(signal);
      return;
    }
    const { pid } = this.run(name);
    if (!commandOf(pid).includes(this.config(name))) throw new Error(`${name} does not run`);
    process.kill(pid, signal);
    const deadline = performance.now() + GONE_MS;
    while (isAlive(pid) && commandOf(pid) !== '') {
      if (performance.now() > deadline) throw new Error(`${name} did not end by ${signal}`);
      await pause(1);
    }
  }
}

/** The command line of a process; empty when it has ended, also when it was not waited for yet. */
function commandOf(pid: number): string {
  const path = `/proc/${pid}/cmdline`;
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}
