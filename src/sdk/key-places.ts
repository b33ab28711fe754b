/**
 * What the SDK knows of a command (`commands/rows.ts`), and where its keys stand. A place is
 * `begin:find`: begin is an index, a keyword and where to look for it from, or
 * `KEYWORD<OPTION1,OTHER2`, a keyword behind options that have so many arguments each; find is
 * `r<last>,<step>` (a range; negative: from the end of the line), the same with a third number of which
 * keys are one part of so many, or `n<at>,<first>,<step>` (a number of keys).
 */
import { must } from '../common/assert.ts';
import { commandRows } from './commands/rows.ts';
import type { Argument } from './connection.ts';

/**
 * `read`: changes nothing. `write`. `blocking`: a write that may always wait. `node`: of whatever node it is
 * sent to. `connection`: changes the connection it comes over.
 */
export type CommandKind = 'read' | 'write' | 'blocking' | 'node' | 'connection';

export interface CommandRow {
  readonly name: string;
  readonly kind: CommandKind;
  /** The option, in upper case, by which it may wait. */
  readonly waitWord: string | undefined;
  readonly places: readonly KeyPlace[];
}

interface KeyPlace {
  readonly begin: number | LastKeyword | KeywordBehind;
  readonly find:
    | { readonly last: number; readonly step: number; readonly limit: number }
    | { readonly countAt: number; readonly first: number; readonly step: number };
}

/** The last one counts, as in Redis. */
interface LastKeyword {
  readonly keyword: string;
  readonly from: number;
}

/** The first that is no argument of an option. */
interface KeywordBehind {
  readonly keyword: string;
  readonly options: ReadonlyMap<string, number>;
}

const kinds: Readonly<Record<string, CommandKind>> = {
  r: 'read',
  w: 'write',
  b: 'blocking',
  n: 'node',
  c: 'connection',
};

/** By name in lower case. */
export const rowsByName: ReadonlyMap<string, CommandRow> = new Map(
  commandRows
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', kind = '', ...places] = line.split(' ');
      const [letter = '', waitWord] = kind.split('/');
      const row = {
        name,
        kind: must(kinds[letter], line),
        waitWord,
        places: places.map(parsePlace),
      };
      return [name, row] as const;
    }),
);

function parsePlace(text: string): KeyPlace {
  const [begin = '', find = ''] = text.split(':');
  const numbers = find.slice(1).split(',').map(Number);
  const [a = 0, b = 1, c = 1] = numbers;
  return {
    begin: parseBegin(begin),
    find: find.startsWith('r') ? { last: a, step: b, limit: c } : { countAt: a, first: b, step: c },
  };
}

function parseBegin(text: string): KeyPlace['begin'] {
  const [name = '', options] = text.split('<');
  if (options !== undefined) {
    const counts = options
      .split(',')
      .map((option) => [option.slice(0, -1), Number(option.at(-1))] as const);
    return { keyword: name, options: new Map(counts) };
  }
  const [keyword = '', from] = text.split(',');
  return from === undefined ? Number(text) : { keyword, from: Number(from) };
}

/** The line asks to wait, if it has to. */
export function mayWait(row: CommandRow | undefined, line: readonly Argument[]): boolean {
  if (row?.waitWord === undefined) return row?.kind === 'blocking';
  return optionValue(row, line, row.waitWord) !== undefined;
}

/** What stands behind an option of a command whose keys stand behind a keyword; the last one counts. */
export function optionValue(
  { places }: CommandRow,
  line: readonly Argument[],
  option: string,
): Argument | undefined {
  const begin = places[0]?.begin;
  if (typeof begin !== 'object' || !('options' in begin)) return undefined;
  let found: Argument | undefined;
  walkOptions(begin, line, (word, at) => {
    if (word === option) found = line[at + 1];
  });
  return found;
}

/** Where the keyword stands. */
function walkOptions(
  { keyword, options }: KeywordBehind,
  line: readonly Argument[],
  onWord: (word: string, at: number) => void = () => {},
): number | undefined {
  for (let at = 1; at < line.length; ) {
    const word = String(line[at]).toUpperCase();
    if (word === keyword) return at;
    onWord(word, at);
    at += 1 + (options.get(word) ?? 0);
  }
  return undefined;
}

/** Positions of the keys in `line`, whose first word is the command's name. */
export function keyPositions({ places }: CommandRow, line: readonly Argument[]): readonly number[] {
  const [only] = places;
  // The most frequent shape: one key behind the name.
  if (places.length === 1 && only?.begin === 1 && 'last' in only.find && only.find.last === 0) {
    return line.length > 1 ? FIRST : NONE;
  }
  return places.flatMap((place) => positionsOf(place, line));
}

const FIRST: readonly number[] = [1];
const NONE: readonly number[] = [];

function positionsOf({ begin, find }: KeyPlace, line: readonly Argument[]): number[] {
  const start = typeof begin === 'number' ? begin : keywordAt(begin, line);
  if (start === undefined) return [];
  const found: number[] = [];
  if ('last' in find) {
    const last = find.last < 0 ? lastOf(find, start, line.length) : start + find.last;
    for (let at = start; at <= last && at < line.length; at += find.step) found.push(at);
    return found;
  }
  const count = Number(String(line[start + find.countAt]));
  for (let key = 0; key < count; key++) {
    const at = start + find.first + key * find.step;
    if (at >= line.length) break;
    found.push(at);
  }
  return found;
}

function lastOf(
  { last, limit }: { readonly last: number; readonly limit: number },
  start: number,
  length: number,
): number {
  return start + Math.floor((length - start) / limit) + last;
}

/** Behind the keyword. */
function keywordAt(
  begin: LastKeyword | KeywordBehind,
  line: readonly Argument[],
): number | undefined {
  if ('options' in begin) {
    const at = walkOptions(begin, line);
    return at === undefined ? undefined : at + 1;
  }
  for (let at = line.length - 2; at >= begin.from; at--) {
    if (String(line[at]).toUpperCase() === begin.keyword) return at + 1;
  }
  return undefined;
}

/** The bytes of an argument as they are sent. */
export function bytesOf(argument: Argument): Buffer {
  return Buffer.isBuffer(argument) ? argument : Buffer.from(String(argument));
}
