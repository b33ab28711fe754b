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
  /** The last column is words as well. */
  readonly endsInWords?: boolean;
}

/** Columns as wide as their widest cell; those of words aligned left, the others right. */
export function table({
  head,
  rows,
  words = 1,
  endsInWords = false,
}: Pick<Sheet, 'head' | 'rows' | 'words' | 'endsInWords'>): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  const isWords = (at: number) => at < words || (endsInWords && at === head.length - 1);
  return all.map((row) =>
    widths
      .map((width, at) =>
        isWords(at) ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width),
      )
      .join('  ')
      .trimEnd(),
  );
}

export function inTerminal(sheet: Sheet): string[] {
  const { title, head, rows, notes = [] } = sheet;
  const indented = rows.map(([first = '', ...cells]) => [`  ${first}`, ...cells]);
  const named = head.length === 0 ? [] : table({ ...sheet, rows: indented });
  return ['', title, ...named, ...notes.map((note) => `  ${note}`)];
}

/** In Markdown, below a heading of `level`. */
export function onPage(sheet: Sheet, level: number): string {
  const { title, head, rows, notes = [], words = 1, endsInWords = false } = sheet;
  if (head.length === 0) return `**${title}**`;
  const line = (cells: readonly string[]) =>
    `| ${head.map((_, at) => (cells[at] ?? '').replaceAll('|', '\\|')).join(' | ')} |`;
  const isWords = (at: number) => at < words || (endsInWords && at === head.length - 1);
  const marks = head.map((_, at) => (isWords(at) ? '---' : '---:'));
  const heading = `${'#'.repeat(level)} ${title.charAt(0).toUpperCase()}${title.slice(1)}`;
  const told = notes.length === 0 ? [] : ['', ...notes];
  return [heading, '', line(head), `|${marks.join('|')}|`, ...rows.map(line), ...told].join('\n');
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
