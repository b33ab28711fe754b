/** How far a restore is: what was done of files that are being read counts as well. */
import { Report } from '../import/report.ts';

/** A file that is being read. */
export interface OneFile {
  readonly report: Report;
  /** Of it, that were read. */
  bytes: number;
}

export class FileCounts {
  /** Of files that are done. */
  readonly whole: Report;
  readonly #warn: (text: string) => void;
  readonly #running = new Set<OneFile>();
  #bytes = 0;

  /** `warn` is told at once what was left out. */
  constructor(warn: (text: string) => void) {
    this.#warn = warn;
    this.whole = new Report(warn);
  }

  get keys(): number {
    const running = [...this.#running].map(({ report }) => report.get('keys'));
    return running.reduce((sum, one) => sum + one, this.whole.get('keys'));
  }

  get bytes(): number {
    return [...this.#running].reduce((sum, { bytes }) => sum + bytes, this.#bytes);
  }

  begin(): OneFile {
    const file = { report: new Report(this.#warn), bytes: 0 };
    this.#running.add(file);
    return file;
  }

  end(file: OneFile): void {
    this.#running.delete(file);
    this.whole.join(file.report);
    this.#bytes += file.bytes;
  }
}
