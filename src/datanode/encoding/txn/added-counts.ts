/**
 * What a batch adds to the counts of its partition: each key that comes or goes changes them, and one
 * record for all of a batch is enough. Nobody may look for the record before it is written here.
 */
import { readCounts, writeCounts } from '../records/system.ts';
import type { WriteView } from './view.ts';

export class AddedCounts {
  #keys = 0;
  #expires = 0;
  #isChanged = false;

  /** Those that came less those that went; likewise of those with a deadline. */
  add(keys: number, expires: number): void {
    if (keys === 0 && expires === 0) return;
    this.#keys += keys;
    this.#expires += expires;
    this.#isChanged = true;
  }

  /**
   * Brings the record in `view` up to date; no write where no key came or went. Where as many went as
   * came it is written all the same: another replica may have had them in two batches, and what is
   * stored must not differ.
   */
  flush(view: WriteView): void {
    if (!this.#isChanged) return;
    const [keys, expires] = [this.#keys, this.#expires];
    this.forget();
    const counts = readCounts(view);
    writeCounts(view, { keys: counts.keys + keys, expires: counts.expires + expires });
  }

  /** The record is written by somebody who knows how many there are. */
  forget(): void {
    this.#keys = 0;
    this.#expires = 0;
    this.#isChanged = false;
  }
}
