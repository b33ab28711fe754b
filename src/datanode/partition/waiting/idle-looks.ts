/**
 * Clients that wait in a group of a stream for what others have had for long as well (XREADGROUP with CLAIM): that it
 * has been long is no entry's doing, so it is looked for from time to time. Of those who wait for the same one looks,
 * since it takes all that there is.
 */
import { must } from '../../../common/assert.ts';
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

/** Who waits for the same. */
interface Waiting {
  /** Whose turn it is to look comes first. */
  readonly line: Set<Waiter>;
  lookedMs: number;
}

export class IdleLooks {
  readonly #ground: IdleLooksGround;
  /** By what they wait for. */
  readonly #groups = new Map<string, Waiting>();
  #timer: Timer | undefined;

  constructor(ground: IdleLooksGround) {
    this.#ground = ground;
  }

  add(waiter: Waiter): void {
    if (waiter.form.claimIdleMs === undefined) return;
    const name = nameOf(waiter);
    const known = this.#groups.get(name);
    if (known !== undefined) return void known.line.add(waiter);
    const lookedMs = this.#ground.clock.monotonicMs();
    this.#groups.set(name, { line: new Set([waiter]), lookedMs });
    this.#arm();
  }

  delete(waiter: Waiter): void {
    if (waiter.form.claimIdleMs === undefined) return;
    const name = nameOf(waiter);
    const line = this.#groups.get(name)?.line;
    if (line?.delete(waiter) !== true || line.size > 0) return;
    this.#groups.delete(name);
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
    for (const waiting of this.#groups.values()) {
      const { line, lookedMs } = waiting;
      const first = firstOf(line);
      if (nowMs - lookedMs < lookAfterMs(first)) continue;
      // to the end of the line before it looks, which may end its wait; who may not look holds nobody up
      line.delete(first);
      line.add(first);
      if (this.#ground.again(first)) waiting.lookedMs = nowMs;
    }
  }
}

function firstOf(line: ReadonlySet<Waiter>): Waiter {
  const [first] = line;
  return must(first, 'somebody waits');
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
