/** Work that is not over yet, for who has to wait for all of it before it ends. */
export class UnderWay {
  readonly #all = new Set<Promise<unknown>>();

  /** Gives `work` back. */
  add<Result>(work: Promise<Result>): Promise<Result> {
    const ended = () => this.#all.delete(work);
    this.#all.add(work);
    work.then(ended, ended);
    return work;
  }

  /** Resolves when all that is under way now is over, however it ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#all);
  }
}
