/** Tables, sizes and progress for people. */

type Cell = string | number | null | undefined;

/** Columns as wide as they must be; numbers to the right. Lines without a newline at the end. */
export function tableLines(head: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const texts = rows.map((row) => row.map((cell) => String(cell ?? '-')));
  const widths = head.map((name, at) =>
    Math.max(name.length, ...texts.map((row) => row[at]!.length)),
  );
  const isNumeric = head.map((_, at) => rows.every((row) => typeof row[at] !== 'string'));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (isNumeric[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd();
  return [line(head), ...texts.map(line)];
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  let value = bytes;
  let unit = 0;
  for (; value >= 1_024 && unit < UNITS.length - 1; unit++) value /= 1_024;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

const BAR_WIDTH = 24;

/** `[######------]  50 %  6 of 12 left, about 40 s` */
export function barLine(progress: number, note: string): string {
  const filled = Math.round(Math.min(1, Math.max(0, progress)) * BAR_WIDTH);
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_WIDTH - filled);
  return `[${bar}] ${String(Math.floor(progress * 100)).padStart(3)} %  ${note}`;
}

export function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function sayJson(value: unknown): void {
  say(JSON.stringify(value, null, 2));
}

/** What a verb has done: a sentence for people, or JSON where that is asked for. */
export function tell({ json }: { readonly json?: boolean }, line: string, value: unknown): void {
  if (json) sayJson(value);
  else say(line);
}

/**
 * One line that is written over on a terminal, and written anew elsewhere when it changed. Nothing
 * where JSON is asked for.
 */
export class ProgressLine {
  readonly #quiet: boolean;
  #last = '';

  constructor({ json = false }: { readonly json?: boolean }) {
    this.#quiet = json;
  }

  show(line: string): void {
    if (this.#quiet || line === this.#last) return;
    if (process.stdout.isTTY) process.stdout.write(`\r${line.padEnd(this.#last.length)}`);
    else say(line);
    this.#last = line;
  }

  end(): void {
    if (process.stdout.isTTY && this.#last !== '') process.stdout.write('\n');
  }
}
