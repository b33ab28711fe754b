/**
 * Ticks the replicas of a node, but not those that rest: where the group sleeps and no deadline lies
 * ahead nothing comes of a tick. One that rests is left out from then on until it asks for a turn,
 * which whatever comes in makes it do; a node on which all rest looks up once a second only.
 */
import type { Clock, Timer } from '../../../common/clock.ts';
import type { GroupId } from '../../../common/ids.ts';
import type { Replica } from '../replica/replica.ts';
import { guarded } from './turns.ts';

export type Ticking = Pick<Replica, 'record' | 'asleep' | 'rests' | 'tick' | 'fail'>;

export interface TicksGround<One extends Ticking> {
  readonly clock: Clock;
  readonly tickMs: number;
  /** It runs here, and takes part. */
  isServing(group: GroupId, replica: One): 'yes' | 'held' | 'no';
  /** It does not rest any more. */
  onStirred(replica: One): void;
  /** So many ticks have passed. */
  onTicks(ticks: number): void;
}

/** From one look to the next while all rest. */
const REST_TICKS = 10;

export class Ticks<One extends Ticking = Replica> {
  readonly #ground: TicksGround<One>;
  readonly #stirring = new Set<One>();
  #era = 0;
  #timer: Timer | undefined;
  /** What the timer was set to; undefined: it is not. */
  #ticks: number | undefined;
  /** When `onTicks` was told last, or the start. */
  #toldMs = 0;
  #stopped = false;

  constructor(ground: TicksGround<One>) {
    this.#ground = ground;
  }

  start(): void {
    this.#toldMs = this.#ground.clock.monotonicMs();
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** While it is the same, so is what can be told of the replicas that sleep. */
  get era(): number {
    return this.#era;
  }

  /** A replica is gone, or what is known of where members are has changed. */
  changed(): void {
    this.#era++;
  }

  rests(replica: One): boolean {
    return !this.#stirring.has(replica);
  }

  /** Something came in for it. */
  stir(replica: One): void {
    this.#era++;
    if (this.#stopped) return;
    if (this.#stirring.has(replica)) return;
    this.#stirring.add(replica);
    this.#ground.onStirred(replica);
    if (this.#ticks === undefined || this.#ticks === 1) return;
    this.#timer?.cancel();
    this.#arm();
  }

  /** Ticks at the end of a turn: after a stall the sockets are read first (decision 19). */
  #arm(): void {
    const { clock, tickMs } = this.#ground;
    const ticks = this.#stirring.size > 0 ? 1 : REST_TICKS;
    this.#ticks = ticks;
    this.#timer = clock.setTimer(ticks * tickMs, () => {
      this.#ticks = undefined;
      clock.endOfTurn(() => this.#run(ticks));
    });
  }

  #run(ticks: number): void {
    if (this.#stopped) return;
    for (const replica of this.#stirring) this.#tick(replica);
    // a rest that was cut short has passed all the same
    const { clock, tickMs } = this.#ground;
    const passed = Math.round((clock.monotonicMs() - this.#toldMs) / tickMs);
    this.#toldMs = clock.monotonicMs();
    this.#ground.onTicks(Math.min(REST_TICKS, Math.max(ticks, passed)));
    this.#arm();
  }

  #tick(replica: One): void {
    const serving = this.#ground.isServing(replica.record.group, replica);
    if (serving === 'held') return;
    if (serving === 'yes') {
      if (!replica.asleep) this.#era++;
      guarded(replica, tickOne);
      if (!replica.rests) return;
    }
    this.#stirring.delete(replica);
  }
}

function tickOne(replica: Ticking): void {
  replica.tick();
}
