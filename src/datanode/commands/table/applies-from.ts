/** Of which apply version an entry has to be for what is in its lines (`apply-versions.ts`). */
import { ByteRangeError } from '../../../common/bytes.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import type { Command } from '../rows/command.ts';
import { CARRIED_AT, isOnceLine } from '../sessions/once-line.ts';
import { execLinesOf, isExecLine } from '../transactions/exec-line.ts';
import { NameTable } from './name-table.ts';
import { commandTable } from './table.ts';

type Line = readonly Buffer[];

export interface Newest {
  readonly version: number;
  /** The command that asks for it. */
  readonly name: string;
  /** The entry is of the highest version that all know: it may run others, of which nothing is seen here. */
  readonly ofHighest?: true;
}

const ANY: Newest = { version: applyVersions.plain, name: '' };
const versioned = [...commandTable].filter(([, row]) => row.appliesFrom !== undefined);
const rows = new NameTable<Command>(versioned);
/** Whether a name of so many bytes may be one of them: most are not looked up. */
const lengths: readonly boolean[] = Array.from({ length: 16 }, (_, length) =>
  versioned.some(([name]) => name.length === length),
);

/** What `line`, what it carries, or a command of its transaction asks for at most. */
export function newestIn(line: Line): Newest {
  const inner = isOnceLine(line) ? line.slice(CARRIED_AT) : line;
  if (!isExecLine(inner)) return inner[0] === undefined ? ANY : ofLine(inner[0], inner);
  let newest = ANY;
  try {
    for (const queued of execLinesOf(inner, (name) => find(name) !== undefined)) {
      const found = ofLine(queued[0]!, queued);
      newest = newerOf(newest, found);
    }
  } catch (failure) {
    // no build carries it out
    if (!(failure instanceof ByteRangeError)) throw failure;
  }
  return newest;
}

function newerOf(a: Newest, b: Newest): Newest {
  const newer = b.version > a.version ? b : a;
  return a.ofHighest || b.ofHighest ? { ...newer, ofHighest: true } : newer;
}

function ofLine(name: Buffer, line: Line): Newest {
  const row = find(name);
  const version = row?.appliesFrom?.(line) ?? ANY.version;
  if (version === ANY.version) return ANY;
  const { name: asker, runsAnything, hasChanged } = row!;
  const ofHighest = runsAnything === true || hasChanged === true;
  return { version, name: asker, ...(ofHighest && { ofHighest }) };
}

function find(name: Buffer): Command | undefined {
  return lengths[name.length] === true ? rows.find(name) : undefined;
}
