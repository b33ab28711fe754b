/** A table of results, and how it looks in a terminal and on a page. */

export interface Sheet {
  readonly title: string;
  /** None: the sheet is its title. */
  readonly head: readonly string[];
  /** Cells; a row may be shorter than the head. */
  readonly rows: readonly (readonly string[])[];
  /** Sentences below it. */
  readonly notes?: readonly string[];
  /** Columns of words, the first ones; the others are figures. */
  readonly words?: number;
}

/** Columns as wide as their widest cell; the first `words` aligned left, the others right. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  words = 1,
): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  return all.map((row) =>
    widths
      .map((width, at) =>
        at < words ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width),
      )
      .join('  ')
      .trimEnd(),
  );
}

export function inTerminal({ title, head, rows, notes = [], words }: Sheet): string[] {
  const indented = rows.map(([first = '', ...cells]) => [`  ${first}`, ...cells]);
  const named = head.length === 0 ? [] : table(head, indented, words);
  return ['', title, ...named, ...notes.map((note) => `  ${note}`)];
}

/** In Markdown, below a heading of `level`. */
export function onPage({ title, head, rows, notes = [], words = 1 }: Sheet, level: number): string {
  const line = (cells: readonly string[]) =>
    `| ${head.map((_, at) => (cells[at] ?? '').replaceAll('|', '\\|')).join(' | ')} |`;
  const marks = head.map((_, at) => (at < words ? '---' : '---:'));
  const named = head.length === 0 ? [] : ['', line(head), `|${marks.join('|')}|`];
  const heading = `${'#'.repeat(level)} ${title.charAt(0).toUpperCase()}${title.slice(1)}`;
  const told = notes.length === 0 ? [] : ['', ...notes];
  return [heading, ...named, ...rows.map(line), ...told].join('\n');
}

/** Figures with three digits that mean something: 12,300 or 0.123. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  if (digits > 0) return value.toFixed(Math.min(3, digits));
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.abs(value))) - 2);
  return (Math.round(value / unit) * unit).toLocaleString('en-US');
}
