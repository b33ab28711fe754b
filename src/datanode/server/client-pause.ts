/**
 * CLIENT PAUSE: for a while commands of this node's clients wait where they are, as the first of
 * their connection, so nothing overtakes and what waits is bounded by what a connection may send.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import type { Command } from '../commands/rows/command.ts';
import type { PauseMode } from '../commands/rows/node-watch.ts';
import { resolveCommand } from '../commands/table/table.ts';

/** They write, or may, though they are no writes of a partition. */
const mayWrite = new Set(['publish', 'spublish', 'pfcount']);
/** Rows of the log that write nothing by themselves. */
const writesNothing = new Set(['exec', 'watch']);

export class ClientPause {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #mode: PauseMode | undefined;
  #endMs = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many clients it holds back. */
  get waiting(): number {
    return this.#waiting.size;
  }

  pause(durationMs: number, mode: PauseMode): void {
    this.#endMs = Math.max(this.#mode ? this.#endMs : 0, this.#clock.monotonicMs() + durationMs);
    if (this.#mode !== 'all') this.#mode = mode;
    this.#arm();
  }

  unpause(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#mode = undefined;
    const woken = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of woken) wake();
  }

  /** Whether a request has to wait; the way out of a pause has not. `queued`: what EXEC would run. */
  holds(args: readonly Buffer[], queued: () => readonly (readonly Buffer[])[]): boolean {
    if (this.#mode === undefined) return false;
    const command = resolveCommand(args);
    if (command === undefined || command.name === 'client|unpause') return false;
    if (this.#mode === 'all') return true;
    if (command.name !== 'exec') return writes(command);
    return queued().some((line) => writes(resolveCommand(line)));
  }

  /** Calls `wake` once when the pause ends; returns the undo. */
  whenOver(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  #arm(): void {
    this.#timer?.cancel();
    const leftMs = Math.max(0, this.#endMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.setTimer(Math.min(leftMs, limits.timerMsMax), () => {
      if (this.#clock.monotonicMs() < this.#endMs) this.#arm();
      else this.unpause();
    });
  }
}

function writes(command: Command | undefined): boolean {
  if (command === undefined || writesNothing.has(command.name)) return false;
  return command.kind === 'write' || command.flags.includes('write') || mayWrite.has(command.name);
}
