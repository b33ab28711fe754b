/**
 * How many elements commands may add to the keys they name: so many clients are waited on no more. What
 * scripts add, and to which keys, nobody knows: of the keys they name so much that an entry does not
 * carry everybody for the sake of a few elements. Who is left then is served by an entry of its own.
 */
import { limits } from '../../../common/limits.ts';
import { type Command, carriedOut, keysOf } from '../../commands/rows/command.ts';
import { scriptsIn } from '../../commands/table/runs-anything.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import { decodeExec } from '../../commands/transactions/exec-line.ts';
import type { CommandLine } from '../entries/batch.ts';

/** Whatever there is. */
export const ALL = 1_000_000_000;

/** Arguments that are no elements; at least one element comes with the others. */
const argumentsBefore: ReadonlyMap<string, number> = new Map([
  ['lpush', 2],
  ['rpush', 2],
  ['lpushx', 2],
  ['rpushx', 2],
  ['zadd', 3],
  ['geoadd', 4],
]);
const addsOne = new Set([
  'lmove',
  'rpoplpush',
  'blmove',
  'brpoplpush',
  'linsert',
  'zincrby',
  'xadd',
]);
/**
 * What consumers of a stream send all the time while others wait for its next entries, and what is sent
 * behind each of them: nobody has anything of these.
 */
const addsNone = new Set([
  ...['xack', 'xclaim', 'xautoclaim', 'xdel', 'xdelex', 'xackdel', 'xreadgroup', 'xsetid', 'xtrim'],
  ...['xgroup|create', 'xgroup|createconsumer', 'xgroup|delconsumer', 'xgroup|setid'],
  ...['expire', 'expireat', 'pexpire', 'pexpireat', 'persist'],
]);

/** By key (latin1). */
export function fillsOf(lines: readonly CommandLine[]): Map<string, number> {
  const fills = new Map<string, number>();
  const byScripts = new Set<string>();
  for (const line of lines) collect(line, fills, byScripts);
  for (const name of byScripts) add(fills, name, limits.scriptFillsMax);
  return fills;
}

/** Whether the keys that `lines` fill may be others than those they name. */
export function fillAnyKey(lines: readonly CommandLine[]): boolean {
  return lines.some((line) => scriptsIn(line) > 0);
}

function collect(request: CommandLine, fills: Map<string, number>, byScripts: Set<string>): void {
  const row = resolveCommand(request);
  if (row === undefined) return;
  const { command, line } = carriedOut(row, request);
  if (command.kind !== 'write') return;
  if (command.name === 'exec') {
    for (const inner of decodeExec(line) ?? []) collect(inner, fills, byScripts);
    return;
  }
  if (addsNone.has(command.name)) return;
  const elements = elementsOf(command, line);
  for (const key of keysOf(command, line)) {
    const name = key.toString('latin1');
    if (command.runsAnything === true) byScripts.add(name);
    else add(fills, name, elements);
  }
}

function add(fills: Map<string, number>, name: string, elements: number): void {
  fills.set(name, (fills.get(name) ?? 0) + elements);
}

function elementsOf({ name }: Command, line: CommandLine): number {
  if (addsOne.has(name)) return 1;
  const before = argumentsBefore.get(name);
  return before === undefined ? ALL : Math.max(1, line.length - before);
}
