/** How far an import is, for people: on a terminal each second in one line, elsewhere now and then. */
import { barLine, bytesText, durationText } from '../admin/print.ts';

const SHOW_MS = 1_000;
const SHOW_ELSEWHERE_MS = 10_000;

export class Progress {
  readonly #total: number | undefined;
  readonly #keys: () => number;
  readonly #quiet: boolean;
  readonly #beganMs = performance.now();
  #shownMs = performance.now();
  #width = 0;

  /** `total` bytes, if that is known. */
  constructor(total: number | undefined, keys: () => number, quiet: boolean | undefined) {
    this.#total = total;
    this.#keys = keys;
    this.#quiet = quiet ?? false;
  }

  show(bytes: number): void {
    const nowMs = performance.now();
    const everyMs = process.stderr.isTTY ? SHOW_MS : SHOW_ELSEWHERE_MS;
    if (this.#quiet || nowMs - this.#shownMs < everyMs) return;
    this.#shownMs = nowMs;
    const line = progressText(bytes, this.#total, this.#keys(), nowMs - this.#beganMs);
    if (process.stderr.isTTY) process.stderr.write(`\r${line.padEnd(this.#width)}`);
    else process.stderr.write(`${line}\n`);
    this.#width = line.length;
  }

  end(): void {
    if (process.stderr.isTTY && this.#width > 0) process.stderr.write('\n');
    this.#width = 0;
  }
}

/** `[####----]  50 %  1000 keys, 1.0 MiB, 500 keys/s, about 2 s left` */
export function progressText(
  bytes: number,
  total: number | undefined,
  keys: number,
  ms: number,
): string {
  const rate = Math.round((1_000 * keys) / Math.max(1, ms));
  const note = `${keys} keys, ${bytesText(bytes)}, ${rate} keys/s`;
  if (total === undefined || total === 0 || bytes === 0) return note;
  const left = durationText((ms * (total - bytes)) / bytes);
  return barLine(bytes / total, `${note}, about ${left} left`);
}
