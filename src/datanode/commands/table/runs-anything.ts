/** Lines whose changes nobody knows before they are applied: scripts, and transactions with one in them. */
import { ByteRangeError } from '../../../common/bytes.ts';
import type { Command } from '../rows/command.ts';
import { CARRIED_AT, isOnceLine } from '../sessions/once-line.ts';
import { execLinesOf, isExecLine } from '../transactions/exec-line.ts';
import { NameTable } from './name-table.ts';
import { commandTable } from './table.ts';

type Line = readonly Buffer[];

const scripts = [...commandTable].filter(
  ([, row]) => row.kind === 'write' && row.runsAnything === true,
);
const rows = new NameTable<Command>(scripts);
/** By the length of a name: most are not looked up. */
const lengths: readonly boolean[] = Array.from({ length: 16 }, (_, length) =>
  scripts.some(([name]) => name.length === length),
);

/** How many scripts that write `line` runs, what it carries and the commands of its transaction included. */
export function scriptsIn(line: Line): number {
  const inner = isOnceLine(line) ? line.slice(CARRIED_AT) : line;
  if (!isExecLine(inner)) return inner[0] !== undefined && isScript(inner[0]) ? 1 : 0;
  let count = 0;
  try {
    for (const _ of execLinesOf(inner, isScript)) count++;
  } catch (failure) {
    // no build carries it out
    if (!(failure instanceof ByteRangeError)) throw failure;
  }
  return count;
}

/**
 * SCRIPT LOAD and FLUSH, and those of FUNCTION. Clients send them to every node they know of, and a replica of Redis takes them: at the
 * follower-read port they are forwarded for the partitions that this node follows.
 */
export function keepsScripts(row: Command | undefined): boolean {
  return row?.kind === 'write' && /^(?:script|function)\|/.test(row.name);
}

function isScript(name: Buffer): boolean {
  return lengths[name.length] === true && rows.find(name) !== undefined;
}
