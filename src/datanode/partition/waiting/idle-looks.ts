/**
 * Clients that wait in a group of a stream for what others have had for long as well (XREADGROUP with CLAIM): that it
 * has been long is no entry's doing, so it is looked for from time to time. Of those who wait for the same one looks,
 * since it takes all that there is.
 */
import type { Clock, Timer } from '../../../common/clock.ts';
import type { Waiter } from './waiter.ts';

/** A look is an entry, and passes over all that is pending in the group. */
const LOOK_MIN_MS = 250;
const LOOK_MAX_MS = 5_000;

export interface IdleLooksGround {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  /** It runs once more as if sent just now; false: not at this moment. */
  again(waiter: Waiter): boolean;
}

export class IdleLooks {
  readonly #ground: IdleLooksGround;
  /** In order of arrival, by what they wait for. */
  readonly #groups = new Map<string, Set<Waiter>>();
  readonly #lookedMs = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(ground: IdleLooksGround) {
    this.#ground = ground;
  }

  add(waiter: Waiter): void {
    if (waiter.form.claimIdleMs === undefined) return;
    const name = nameOf(waiter);
    const known = this.#groups.get(name);
    if (known !== undefined) return void known.add(waiter);
    this.#groups.set(name, new Set([waiter]));
    this.#lookedMs.set(name, this.#ground.clock.monotonicMs());
    this.#arm();
  }

  delete(waiter: Waiter): void {
    if (waiter.form.claimIdleMs === undefined) return;
    const name = nameOf(waiter);
    const waiting = this.#groups.get(name);
    if (waiting?.delete(waiter) !== true || waiting.size > 0) return;
    this.#groups.delete(name);
    this.#lookedMs.delete(name);
    if (this.#groups.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer ??= this.#ground.clock.setTimer(LOOK_MIN_MS, () => {
      this.#timer = undefined;
      this.#look();
      if (this.#groups.size > 0) this.#arm();
    });
  }

  #look(): void {
    const nowMs = this.#ground.clock.monotonicMs();
    for (const [name, waiting] of this.#groups) {
      const [first] = waiting;
      const sinceMs = nowMs - this.#lookedMs.get(name)!;
      if (sinceMs < lookAfterMs(first!) || !this.#ground.again(first!)) continue;
      this.#lookedMs.set(name, nowMs);
      // those who are next in line have theirs when it is theirs: nobody whose entry does not come holds them up
      waiting.delete(first!);
      waiting.add(first!);
    }
  }
}

/** So that nothing waits for much longer than it has to. */
function lookAfterMs({ form }: Waiter): number {
  return Math.min(LOOK_MAX_MS, Math.max(LOOK_MIN_MS, form.claimIdleMs! / 8));
}

function nameOf({ form: { group, keys, claimIdleMs } }: Waiter): string {
  return [
    claimIdleMs,
    group!.toString('base64'),
    ...keys.map((key) => key.toString('base64')),
  ].join(' ');
}
