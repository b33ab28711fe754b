/**
 * What the SDK knows of a command (`commands/rows.ts`), and where its keys stand. A place is
 * `begin:find`: begin is an index or a keyword and where to look for it from; find is `r<last>,<step>`
 * (a range; negative: from the end of the line) or `n<at>,<first>,<step>` (a number of keys).
 */
import { must } from '../common/assert.ts';
import { commandRows } from './commands/rows.ts';
import type { Argument } from './connection.ts';

/**
 * `read`: changes nothing. `write`. `blocking`: a write that may wait. `node`: of whatever node it is
 * sent to. `connection`: changes the connection it comes over.
 */
export type CommandKind = 'read' | 'write' | 'blocking' | 'node' | 'connection';

export interface CommandRow {
  readonly name: string;
  readonly kind: CommandKind;
  readonly places: readonly KeyPlace[];
}

interface KeyPlace {
  readonly begin: number | { readonly keyword: string; readonly from: number };
  readonly find:
    | { readonly last: number; readonly step: number }
    | { readonly countAt: number; readonly first: number; readonly step: number };
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
      const row = { name, kind: must(kinds[kind], line), places: places.map(parsePlace) };
      return [name, row] as const;
    }),
);

function parsePlace(text: string): KeyPlace {
  const [begin = '', find = ''] = text.split(':');
  const [keyword = '', from] = begin.split(',');
  const numbers = find.slice(1).split(',').map(Number);
  const [a = 0, b = 1, c = 1] = numbers;
  return {
    begin: from === undefined ? Number(begin) : { keyword, from: Number(from) },
    find: find.startsWith('r') ? { last: a, step: b } : { countAt: a, first: b, step: c },
  };
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
    const last = find.last < 0 ? line.length + find.last : start + find.last;
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

/** The last one counts, as in Redis. */
function keywordAt(
  { keyword, from }: { readonly keyword: string; readonly from: number },
  line: readonly Argument[],
): number | undefined {
  for (let at = line.length - 2; at >= from; at--) {
    if (String(line[at]).toUpperCase() === keyword) return at + 1;
  }
  return undefined;
}

/** The bytes of an argument as they are sent. */
export function bytesOf(argument: Argument): Buffer {
  return Buffer.isBuffer(argument) ? argument : Buffer.from(String(argument));
}
