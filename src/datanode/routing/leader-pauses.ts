/** Pauses between two tries to learn something of a group: another leader may know it at once. */
import type { Clock } from '../../common/clock.ts';
import type { GroupId } from '../../common/ids.ts';

export interface PauseGround {
  readonly clock: Clock;
  onLeader(group: GroupId, listener: () => void): () => void;
}

export class LeaderPauses {
  readonly #ground: PauseGround;
  readonly #waiting = new Set<() => void>();

  constructor(ground: PauseGround) {
    this.#ground = ground;
  }

  /** Resolves when a leader of `group` becomes known, after `pauseMs` at the latest. */
  pause(pauseMs: number, group: GroupId): Promise<void> {
    const { clock, onLeader } = this.#ground;
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        timer.cancel();
        unlisten();
        resolve();
      };
      const timer = clock.setTimer(pauseMs, wake);
      const unlisten = onLeader(group, wake);
      this.#waiting.add(wake);
    });
  }

  /** Those that are under way are over. */
  end(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
