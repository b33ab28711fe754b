/** One simulated machine: its disk over all lives, and the datanode's present life. */
import { must } from '../../src/common/assert.ts';
import type { Clock } from '../../src/common/clock.ts';
import type { Random } from '../../src/common/random.ts';
import type { Datanode } from '../../src/datanode/datanode.ts';
import { SimClock } from './clock.ts';
import { SimDisk } from './disk.ts';
import type { SimMetaClient } from './meta.ts';
import type { RunPlan } from './plan.ts';
import type { Scheduler } from './scheduler.ts';

export interface Life {
  readonly clock: SimClock;
  readonly meta: SimMetaClient;
  datanode: Datanode | undefined;
}

export class Machine {
  readonly name: string;
  readonly random: Random;
  readonly rate: number;
  disk: SimDisk;
  /** Wall clock ahead of virtual time; a clock that was set keeps it over restarts. */
  offsetMs: number;
  life: Life | undefined;
  paused = false;
  /** Something broke its disk in this life, or still does: that it ends is no surprise. */
  diskFaulted = false;
  /** Its disk was wiped or damaged, and not every partition has been whole since. */
  spoiled = false;
  /** As `spoiled`, and not forgotten when everything is whole again. */
  everSpoiled = false;
  /** When it began to live, and when it last lost what it knew of entries: then, or by a snapshot. */
  startedMs = 0;
  forgotMs = 0;
  diskFaults = 0;
  /** Engines of which a sync failed; LevelDB writes what it finds of them anew, in any later life. */
  readonly unsureEngines = new Set<string>();
  readonly #scheduler: Scheduler;
  readonly #latencyMs: number;
  readonly #turnMs: number;
  #disks = 0;

  constructor(
    name: string,
    scheduler: Scheduler,
    random: Random,
    options: Pick<RunPlan, 'skewMs' | 'drift' | 'diskLatencyMs' | 'turnMs'>,
  ) {
    this.name = name;
    this.random = random.fork(`machine ${name}`);
    this.#scheduler = scheduler;
    this.#latencyMs = options.diskLatencyMs;
    this.#turnMs = options.turnMs;
    this.offsetMs = Math.floor((this.random.float() * 2 - 1) * options.skewMs);
    this.rate = 1 + (this.random.float() * 2 - 1) * options.drift;
    this.disk = this.#newDisk();
  }

  get running(): Life {
    return must(this.life, `${this.name} runs`);
  }

  newClock(): SimClock {
    const { offsetMs, rate } = this;
    return new SimClock(this.#scheduler, { offsetMs, rate, turnMs: this.#turnMs });
  }

  /** Bits of a file change. */
  flip(path: string, offset: number, mask: number): void {
    this.#spoil();
    this.disk.flip(path, offset, mask);
  }

  /** Somebody put an empty disk in. */
  wipe(): void {
    this.#spoil();
    this.disk = this.#newDisk();
  }

  /** Somebody put what `disk.copy` gave before in the place of what there is. */
  putBack(copy: ReadonlyMap<string, Buffer>): void {
    this.#spoil();
    this.disk.putBack(copy);
  }

  #spoil(): void {
    this.spoiled = true;
    this.everSpoiled = true;
  }

  #newDisk(): SimDisk {
    const random = this.random.fork(`disk ${this.#disks++}`);
    return new SimDisk({ random, clock: this.#ioClock(), latencyMs: this.#latencyMs });
  }

  /** Answers of the disk reach the process only while it runs. */
  #ioClock(): Clock {
    const idle = new SimClock(this.#scheduler);
    const current = () => this.life?.clock ?? idle;
    return {
      monotonicMs: () => current().monotonicMs(),
      wallMs: () => current().wallMs(),
      setTimer: (delayMs, run) => current().setTimer(delayMs, run),
      endOfTurn: (run) => current().endOfTurn(run),
    };
  }
}
