/** A client of the SDK keeps to its limits: every call ends in time, and what is under way is bounded. */
import type { Clock } from '../../../src/common/clock.ts';
import type { Guest } from '../guest.ts';
import type { RunPlan, SdkPlan } from '../plan.ts';
import { Violation } from './checker.ts';

/** The client looks at its deadlines every 20 ms; one may be set while it looks. */
const SLACK_MS = 60;

interface Begun {
  readonly what: string;
  readonly atMs: number;
  readonly limitMs: number;
  /** Time in which its process was stopped before it. */
  readonly pausedMs: number;
}

export class TimeLimit {
  readonly #guest: Pick<Guest, 'name' | 'pausedMs' | 'paused'>;
  readonly #clock: Clock;
  readonly #begun = new Set<Begun>();

  constructor(guest: Pick<Guest, 'name' | 'pausedMs' | 'paused'>, clock: Clock) {
    this.#guest = guest;
    this.#clock = clock;
  }

  /** A call begins now; what is returned is called when it has ended, and throws Violation. */
  begin(what: string, limitMs: number): () => void {
    const { pausedMs } = this.#guest;
    const begun: Begun = { what, atMs: this.#clock.monotonicMs(), limitMs, pausedMs };
    this.#begun.add(begun);
    return () => {
      this.#begun.delete(begun);
      this.#judge(begun, 'took');
    };
  }

  /** Throws Violation for a call that should have ended. */
  check(): void {
    if (this.#guest.paused) return;
    for (const begun of this.#begun) this.#judge(begun, 'has not ended after');
  }

  #judge({ what, atMs, limitMs, pausedMs }: Begun, verb: string): void {
    const awayMs = this.#guest.pausedMs - pausedMs;
    const tookMs = this.#clock.monotonicMs() - atMs - awayMs;
    if (tookMs <= limitMs + SLACK_MS) return;
    const text = `${this.#guest.name}: ${what} ${verb} ${tookMs.toFixed(0)} ms, its limit is ${limitMs}`;
    throw new Violation('sdk time', text);
  }
}

export class Bounds {
  readonly #name: string;
  readonly #inFlightMax: number;
  readonly #queuedMax: number;
  readonly #connectionsMax: number;

  constructor(
    { nodes, partitions }: RunPlan,
    { maxInFlight, maxQueued, loops }: SdkPlan,
    name: string,
  ) {
    this.#name = name;
    // those without a partition are a lane of their own
    this.#inFlightMax = maxInFlight * (partitions + 1);
    this.#queuedMax = maxQueued;
    // for commands with keys, without, and of followers; a watch has one for itself
    this.#connectionsMax = 3 * nodes + loops;
  }

  /** Throws Violation. */
  check(
    { inFlight, queued }: { readonly inFlight: number; readonly queued: number },
    connections: ReadonlySet<unknown>,
  ): void {
    this.#hold('calls under way', inFlight, this.#inFlightMax);
    this.#hold('calls that wait', queued, this.#queuedMax);
    this.#hold('connections', connections.size, this.#connectionsMax);
  }

  #hold(what: string, count: number, bound: number): void {
    if (count <= bound) return;
    throw new Violation('sdk bounds', `${this.#name}: ${count} ${what} (${bound})`);
  }
}
