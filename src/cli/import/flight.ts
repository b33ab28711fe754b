/** Writes that are under way: bounded in number and bytes, and the first that fails for good ends them all. */

/** More only wait at the nodes: of MSETNX each has 64 keys. */
const COUNT_MAX = 256;
const BYTES_MAX = 16 * 1_048_576;

export class Flight {
  #count = 0;
  #bytes = 0;
  #failure: { readonly cause: unknown } | undefined;
  #whenChanged: (() => void)[] = [];

  /** Throws what a write before has failed with. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  get hasRoom(): boolean {
    return this.#count === 0 || (this.#count < COUNT_MAX && this.#bytes < BYTES_MAX);
  }

  /** Resolves once there is room, rejects as `check` throws. */
  async room(): Promise<void> {
    while (!this.hasRoom) {
      this.check();
      await this.#change();
    }
    this.check();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#count > 0) {
      this.check();
      await this.#change();
    }
    this.check();
  }

  /** Counts `write` until it has ended. */
  add(bytes: number, write: Promise<unknown>): void {
    this.#count++;
    this.#bytes += bytes;
    const ended = () => {
      this.#count--;
      this.#bytes -= bytes;
      for (const tell of this.#whenChanged.splice(0)) tell();
    };
    write.then(ended, (cause) => {
      this.#failure ??= { cause };
      ended();
    });
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#whenChanged.push(resolve));
  }
}
