/**
 * The container of data-driven tests: cases of a directive line, optional input lines, `----`, and
 * the expected text up to the first blank line. A doubled `----` encloses expected text that has
 * blank lines; `\` at the end of a line continues the directive.
 */

export interface Argument {
  readonly key: string;
  /** Empty for a bare word. */
  readonly values: readonly string[];
}

export interface Case {
  /** Line of the directive, from 1. */
  readonly line: number;
  readonly command: string;
  readonly arguments: readonly Argument[];
  readonly input: readonly string[];
  /** Lines without their ends. */
  readonly expected: readonly string[];
  /** The lines of the file up to and with `----`, and where the expected text ends. */
  readonly expectedFrom: number;
  readonly expectedTo: number;
}

/** Reads the cases of a file. Throws when a directive has no `----`. */
export function parseCases(text: string): Case[] {
  const lines = text.split('\n');
  const cases: Case[] = [];
  let at = 0;
  while (at < lines.length) {
    const start = at;
    let directive = lines[at++]!.trim();
    if (directive === '' || directive.startsWith('#')) continue;
    while (directive.endsWith('\\')) {
      directive = `${directive.slice(0, -1).trim()} ${(lines[at++] ?? '').trim()}`;
    }
    const input: string[] = [];
    while (at < lines.length && lines[at] !== '----') input.push(lines[at++]!.trim());
    if (at >= lines.length) throw new Error(`line ${start + 1}: no ---- follows`);
    at++;
    const doubled = lines[at] === '----';
    const from = doubled ? at + 1 : at;
    const expected: string[] = [];
    at = from;
    if (doubled) {
      while (at < lines.length && !(lines[at] === '----' && lines[at + 1] === '----')) at++;
      expected.push(...lines.slice(from, at));
    } else {
      while (at < lines.length && lines[at] !== '') expected.push(lines[at++]!);
    }
    const [command, ...words] = splitWords(directive);
    cases.push({
      line: start + 1,
      command: command!,
      arguments: words.map(parseArgument),
      input: input.filter((line) => line !== ''),
      expected,
      expectedFrom: from,
      expectedTo: at,
    });
    if (doubled) at += 2;
  }
  return cases;
}

/** A command line inside an input block. */
export function parseCommand(line: string): { command: string; arguments: Argument[] } {
  const [command, ...words] = splitWords(line);
  return { command: command!, arguments: words.map(parseArgument) };
}

/** The value of `key`, or undefined. */
export function valueAt(args: readonly Argument[], key: string): string | undefined {
  return valuesOf(args, key)?.[0];
}

export function valuesOf(args: readonly Argument[], key: string): readonly string[] | undefined {
  return args.find((argument) => argument.key === key && argument.values.length > 0)?.values;
}

/** The bare words. */
export function wordsOf(args: readonly Argument[]): string[] {
  return args.filter((argument) => argument.values.length === 0).map((argument) => argument.key);
}

/** Splits at blanks, but not inside ( ). */
function splitWords(line: string): string[] {
  const words: string[] = [];
  let word = '';
  let depth = 0;
  for (const char of line) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (/\s/.test(char) && depth === 0) {
      if (word !== '') words.push(word);
      word = '';
    } else {
      word += char;
    }
  }
  if (word !== '') words.push(word);
  return words;
}

function parseArgument(word: string): Argument {
  const equals = word.indexOf('=');
  if (equals < 0) return { key: word, values: [] };
  const value = word.slice(equals + 1);
  const values =
    value.startsWith('(') && value.endsWith(')')
      ? value
          .slice(1, -1)
          .split(/[\s,]+/)
          .filter((part) => part !== '')
      : [value];
  return { key: word.slice(0, equals), values };
}
