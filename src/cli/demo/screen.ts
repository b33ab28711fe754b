/** Events, one below the other, and on a terminal a line under them that is written over. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #quiet: boolean;
  #live = '';

  /** `quiet`: nothing but what `result` is given. */
  constructor(out: NodeJS.WriteStream, quiet: boolean) {
    this.#out = out;
    this.#quiet = quiet;
  }

  event(line: string): void {
    if (this.#quiet) return;
    this.#clear();
    this.#out.write(`${line}\n`);
    this.#out.write(this.#live);
  }

  live(line: string): void {
    if (this.#quiet || this.#out.isTTY !== true) return;
    this.#clear();
    this.#live = line.slice(0, (this.#out.columns || 80) - 1);
    this.#out.write(this.#live);
  }

  result(lines: readonly string[]): void {
    this.#clear();
    this.#live = '';
    this.#out.write(`${lines.join('\n')}\n`);
  }

  #clear(): void {
    if (this.#live !== '') this.#out.write('\r\x1b[2K');
  }
}
