/** A state that many are given: it is closed when the last of them has done with it. */
import type { EngineIterator, EngineReader, EngineSnapshot, KeyRange } from './engine.ts';

export class SharedState implements Pick<EngineReader, 'iterate'> {
  readonly #state: EngineSnapshot;
  #users = 1;
  /** Of them, those that may ask for single keys. */
  #asking = 0;
  #isReleased = false;

  /** Whoever makes it is its first user, until `release`. */
  constructor(state: EngineSnapshot) {
    this.#state = state;
  }

  /** It may be read when others have long done with it. */
  iterate(range: KeyRange): EngineIterator {
    const iterator = this.#state.iterate(range);
    const leave = this.#join();
    return {
      next: (count) => iterator.next(count),
      close: async () => {
        await iterator.close();
        await leave();
      },
    };
  }

  share(): EngineSnapshot {
    this.#asking++;
    const askNoMore = once(() => {
      this.#asking--;
      this.#keepUnlessAsked();
    });
    const leave = this.#join();
    return {
      getSync: (key) => this.#state.getSync(key),
      iterate: (range) => this.iterate(range),
      keep: askNoMore,
      close: async () => {
        askNoMore();
        await leave();
      },
    };
  }

  /** Nobody is given it any more. */
  release(): void {
    this.#isReleased = true;
    if (this.#users > 1) this.#keepUnlessAsked();
    this.#leave().catch(() => {
      // the store is closing, and its snapshots with it
    });
  }

  /** Who is left only iterates: nothing need be remembered for them. */
  #keepUnlessAsked(): void {
    if (this.#isReleased && this.#asking === 0 && this.#users > 0) this.#state.keep?.();
  }

  /** Returns how to leave; to do so again makes no difference. */
  #join(): () => Promise<void> {
    this.#users++;
    let leave = (): Promise<void> => {
      leave = async () => {};
      return this.#leave();
    };
    return () => leave();
  }

  async #leave(): Promise<void> {
    if (--this.#users === 0) await this.#state.close();
  }
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
