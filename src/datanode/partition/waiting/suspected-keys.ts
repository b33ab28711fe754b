/**
 * Keys that somebody waits for and scripts may have filled, or that are gone, which no entry was to serve:
 * they are looked at once that is applied, some in a turn.
 */
import { decodeKey, isRecordKey } from '../../encoding/records/key.ts';
import type { ChangeSet } from '../../encoding/txn/change-set.ts';

/** A look is a read of the engine. */
const LOOKS_PER_TURN = 128;

export class SuspectedKeys {
  readonly #names = new Set<string>();

  get count(): number {
    return this.#names.size;
  }

  clear(): void {
    this.#names.clear();
  }

  /** Of what a batch with scripts changed; `waited`: all keys that somebody waits for (latin1). */
  add(
    changed: ChangeSet,
    isWaitedFor: (key: string) => boolean,
    waited: () => Iterable<string>,
  ): void {
    if (changed.elements !== undefined) {
      // so many changes that to go through them takes longer than to look at what is waited for
      for (const name of waited()) this.#names.add(name);
      return;
    }
    for (const { key, after } of changed.all()) {
      if (after === undefined || !isRecordKey(key)) continue;
      const name = decodeKey(key).key.toString('latin1');
      if (isWaitedFor(name)) this.#names.add(name);
    }
  }

  addAll(names: Iterable<string>): void {
    for (const name of names) this.#names.add(name);
  }

  /** Of what a batch changed: those of `waited` that are deleted. */
  addGone(changed: ChangeSet, waited: ReadonlyMap<string, unknown>): void {
    if (changed.elements !== undefined) return this.addAll(waited.keys());
    for (const { key, after } of changed.all()) {
      if (after !== undefined || !isRecordKey(key)) continue;
      const name = decodeKey(key).key.toString('latin1');
      if (waited.has(name)) this.#names.add(name);
    }
  }

  /** Those of this turn. */
  *take(): Generator<string, void, undefined> {
    let looks = 0;
    for (const name of this.#names) {
      if (looks++ >= LOOKS_PER_TURN) return;
      this.#names.delete(name);
      yield name;
    }
  }
}
