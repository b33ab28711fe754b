/**
 * Leaders with appends that can wait (`raft/fanout.ts`) send them together: those of all groups to a
 * node make one frame, and one write of its log.
 */
import { limits } from '../../../common/limits.ts';
import type { Replica } from '../replica/replica.ts';
import { guarded } from '../turns/turns.ts';

export class LateAppends {
  readonly #after: (delayMs: number, run: () => void) => void;
  #asking = new Set<Replica>();

  constructor(after: (delayMs: number, run: () => void) => void) {
    this.#after = after;
  }

  /** `replica` is asked to send them once, soon, however often it asks before that. */
  request(replica: Replica): void {
    const isFirst = this.#asking.size === 0;
    this.#asking.add(replica);
    if (isFirst) this.#after(limits.lateAppendMs, this.#run);
  }

  readonly #run = (): void => {
    const asking = this.#asking;
    this.#asking = new Set();
    for (const replica of asking) guarded(replica, sendLate);
  };
}

function sendLate(replica: Replica): void {
  replica.sendLateAppends();
}
