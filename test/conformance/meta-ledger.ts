/** Judges a watch: of everything written, each change is told once, or covered by a list. */
import type { MetaEvent, MetaItem, MetaStore, Watch } from '../../src/meta/store.ts';

interface Change {
  readonly key: string;
  readonly revision: number;
}

export class Ledger {
  readonly state = new Map<string, string>();
  lists = 0;
  /** Events told more than once, after a list that covers them, or out of order. */
  twice = 0;
  readonly #written: Change[] = [];
  readonly #told = new Set<string>();
  /** What lists have covered: after the first revision, up to the second. */
  readonly #covered: (readonly [after: number, upTo: number])[] = [];
  #reached = 0;

  /** To be called with each change that was acknowledged. */
  wrote(key: string, revision: number): void {
    this.#written.push({ key, revision });
  }

  watch(store: MetaStore, prefix: string): Watch {
    return store.watch(prefix, {
      onList: (items, revision) => this.#list(items, revision),
      onEvents: (events, revision) => this.#events(events, revision),
    });
  }

  get told(): number {
    return this.#told.size;
  }

  get written(): number {
    return this.#written.length;
  }

  /** Changes that were acknowledged, and neither told nor covered by a list. */
  lost(): readonly Change[] {
    return this.#written.filter(
      ({ key, revision }) =>
        !this.#told.has(`${key}@${revision}`) &&
        !this.#covered.some(([after, upTo]) => revision > after && revision <= upTo),
    );
  }

  #list(items: readonly MetaItem[], revision: number): void {
    this.lists++;
    this.#covered.push([this.#reached, revision]);
    this.#reached = Math.max(this.#reached, revision);
    this.state.clear();
    for (const { key, value } of items) this.state.set(key, value);
  }

  #events(events: readonly MetaEvent[], revision: number): void {
    for (const event of events) {
      const [key, at] =
        event.type === 'put'
          ? [event.item.key, event.item.modRevision]
          : [event.key, event.modRevision];
      if (at <= this.#reached || this.#told.has(`${key}@${at}`)) this.twice++;
      this.#told.add(`${key}@${at}`);
      if (event.type === 'put') this.state.set(key, event.item.value);
      else this.state.delete(key);
    }
    this.#reached = Math.max(this.#reached, revision);
  }
}
