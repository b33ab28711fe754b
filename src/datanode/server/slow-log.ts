/**
 * The commands that took longest, newest first; a bounded memory of this process: twice what may be
 * seen at most.
 */
import type { SlowEntry, SlowLogView } from '../commands/rows/node-watch.ts';

export class SlowLog implements SlowLogView {
  readonly #entriesMax: () => number;
  /** Oldest first. */
  #entries: SlowEntry[] = [];
  #nextId = 0;

  constructor(entriesMax: () => number) {
    this.#entriesMax = entriesMax;
  }

  get length(): number {
    this.#trim();
    return this.#entries.length;
  }

  add({ atSeconds, microseconds, args, client, clientName }: Omit<SlowEntry, 'id'>): void {
    // one by one: to copy what there may be takes a look at each property
    const id = this.#nextId++;
    this.#entries.push({ id, atSeconds, microseconds, args, client, clientName });
    // under deep pipelines each command may be one: to drop one for each moves all others each time
    if (this.#entries.length > 2 * this.#entriesMax()) this.#trim();
  }

  newest(count: number): readonly SlowEntry[] {
    this.#trim();
    const wanted = count < 0 ? this.#entries.length : count;
    return this.#entries.slice(Math.max(0, this.#entries.length - wanted)).reverse();
  }

  reset(): void {
    this.#entries = [];
  }

  #trim(): void {
    const surplus = this.#entries.length - this.#entriesMax();
    if (surplus > 0) this.#entries.splice(0, surplus);
  }
}
