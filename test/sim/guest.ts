/** A process that is no datanode, on a machine of its own: its clock and its end of the network. */
import type { Network } from '../../src/common/network.ts';
import { SimClock } from './clock.ts';
import type { SimNetwork } from './network.ts';
import type { Scheduler } from './scheduler.ts';

export class Guest {
  readonly name: string;
  readonly clock: SimClock;
  readonly network: Network;
  readonly #scheduler: Scheduler;
  readonly #whole: SimNetwork;
  #pausedSinceMs: number | undefined;
  #pausedMs = 0;

  constructor(name: string, scheduler: Scheduler, network: SimNetwork) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#whole = network;
    this.clock = new SimClock(scheduler);
    this.network = network.node(name);
  }

  /** For how long it has been stopped, all in all. */
  get pausedMs(): number {
    const since = this.#pausedSinceMs;
    return this.#pausedMs + (since === undefined ? 0 : this.#scheduler.nowMs - since);
  }

  get paused(): boolean {
    return this.#pausedSinceMs !== undefined;
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.paused) return;
    this.#pausedSinceMs = this.#scheduler.nowMs;
    this.clock.pause();
    this.#whole.pause(this.name);
  }

  /** SIGCONT. */
  resume(): void {
    if (!this.paused) return;
    this.#pausedMs = this.pausedMs;
    this.#pausedSinceMs = undefined;
    this.clock.resume();
    this.#whole.resume(this.name);
  }
}
