/** What entries on their way may add to keys that somebody waits for. */
import type { LogIndex } from '../../../common/ids.ts';

export class FillsOnTheWay {
  /** By index and key (latin1). */
  readonly #byIndex = new Map<LogIndex, ReadonlyMap<string, number>>();
  /** All of them together. */
  readonly #expected = new Map<string, { elements: number; entries: number }>();

  clear(): void {
    this.#byIndex.clear();
    this.#expected.clear();
  }

  elements(key: string): number {
    return this.#expected.get(key)?.elements ?? 0;
  }

  /** Some entry may add to the key. */
  has(key: string): boolean {
    return this.#expected.has(key);
  }

  add(index: LogIndex, fills: ReadonlyMap<string, number>): void {
    if (fills.size === 0) return;
    this.#byIndex.set(index, fills);
    for (const [key, elements] of fills) {
      const expected = this.#expected.get(key) ?? { elements: 0, entries: 0 };
      expected.elements += elements;
      expected.entries++;
      this.#expected.set(key, expected);
    }
  }

  /** The entry is applied: its keys to which no other may add. */
  applied(index: LogIndex): readonly string[] {
    const settled: string[] = [];
    for (const [key, elements] of this.#byIndex.get(index) ?? []) {
      const expected = this.#expected.get(key);
      if (expected !== undefined) {
        expected.elements -= elements;
        if (--expected.entries > 0) continue;
        this.#expected.delete(key);
      }
      settled.push(key);
    }
    this.#byIndex.delete(index);
    return settled;
  }
}
