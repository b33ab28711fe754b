/** Reads at the follower-read ports of all nodes, one after the other, and remembers what it saw when. */
import type { Random } from '../../src/common/random.ts';
import { textOf } from './call.ts';
import type { StaleRead } from './checkers/stale-reads.ts';
import { SimClient } from './client.ts';
import { FOLLOWER_PORT, type SimCluster } from './cluster.ts';
import { onceKeys } from './once-client.ts';

const ANSWER_MS = 4_000;

export class FollowerClient {
  readonly #cluster: SimCluster;
  readonly #name: string;
  readonly #draw: Random;
  readonly #client: SimClient;
  readonly #reads: StaleRead[];
  readonly #keys: readonly string[];
  #running = true;
  busy = false;

  /** Adds what it reads to `reads`. */
  constructor(cluster: SimCluster, number: number, reads: StaleRead[]) {
    const { plan, network, clock, random } = cluster;
    this.#cluster = cluster;
    this.#name = `reader${number}`;
    this.#draw = random.fork(this.#name);
    this.#client = new SimClient(network.node(this.#name), clock);
    this.#reads = reads;
    const registers = Array.from({ length: plan.keys }, (_, at) => `r${at}`);
    const ofSdk = plan.sdk.length > 0 ? ['sc0', 'sr0', 'sr1'] : [];
    this.#keys =
      plan.topic === 'expiry'
        ? ['e0', 'e1']
        : [...registers, ...registers, 'n0', 'a0', ...onceKeys, ...ofSdk];
    void this.#drive();
  }

  stop(): void {
    this.#running = false;
  }

  async #drive(): Promise<void> {
    const { clock, machines, plan } = this.#cluster;
    const draw = this.#draw;
    while (this.#running) {
      const { name } = machines[draw.below(machines.length)]!;
      const to = { host: name, port: FOLLOWER_PORT };
      this.busy = true;
      this.#client.disconnect();
      const entered = await this.#client.call(to, ['READONLY'], ANSWER_MS);
      for (let left = 1 + draw.below(20); left > 0 && entered?.kind === 'simple'; left--) {
        if (!(await this.#read(name))) break;
      }
      this.busy = false;
      const pauseMs = 1 + draw.float() * plan.thinkMs;
      await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
    }
  }

  /** False when there was no answer. */
  async #read(node: string): Promise<boolean> {
    const { clock, scheduler, plan } = this.#cluster;
    const key = this.#keys[this.#draw.below(this.#keys.length)]!;
    const invokedMs = clock.monotonicMs();
    const reply = await this.#client.callOn(['GET', key], ANSWER_MS);
    scheduler.note(`${this.#name} GET ${key} at ${node}: ${textOf(reply)}`);
    if (reply === undefined) return false;
    const returnedMs = clock.monotonicMs();
    if (reply.kind === 'bulk' || reply.kind === 'null') {
      const value = reply.kind === 'bulk' ? textOf(reply) : null;
      this.#reads.push({ by: `${this.#name} at ${node}`, key, value, invokedMs, returnedMs });
    }
    const pauseMs = this.#draw.float() * plan.thinkMs;
    await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
    return this.#running;
  }
}
