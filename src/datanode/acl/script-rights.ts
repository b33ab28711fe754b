/**
 * Who runs scripts: what one does is known only when it is done, on every replica, where nobody knows
 * users. So it takes a selector that allows whatever a script may do.
 */
import type { Command } from '../commands/rows/command.ts';
import { commandTable } from '../commands/table/table.ts';
import { mayRun } from './may-run.ts';
import type { Selector } from './user.ts';

/** Commands of a node that scripts may run, of those that a user would be refused. */
const ofNode = new Set(['publish', 'spublish']);

/** What a selector lacks, as `Denial` names it; selectors never change. */
export type Lack = 'command' | 'key' | 'channel' | 'nothing';
const known = { read: new WeakMap<Selector, Lack>(), write: new WeakMap<Selector, Lack>() };

/** What `selector` has not, that the scripts which `command` runs may need. */
export function lackOf(selector: Selector, command: Command): Lack {
  const kind = command.kind === 'read' ? 'read' : 'write';
  let lack = known[kind].get(selector);
  if (lack === undefined) {
    lack = lookFor(selector, kind);
    known[kind].set(selector, lack);
  }
  return lack;
}

function lookFor(selector: Selector, kind: 'read' | 'write'): Lack {
  const { keys, channels } = selector;
  const rows = [...commandTable.values()].flatMap((row) => row.subcommands ?? [row]);
  const isDenied = (row: Command) => !mayRun(selector, row, [Buffer.from(row.name)]);
  if (rows.some((row) => isRunBy(kind, row) && isDenied(row))) return 'command';
  const has = (right: 'read' | 'write') =>
    keys === 'all' || keys.some((key) => key.pattern === '*' && key[right]);
  if (!has('read') || (kind === 'write' && !has('write'))) return 'key';
  const hearsAll = channels === 'all' || channels.includes('*');
  return kind === 'read' || hearsAll ? 'nothing' : 'channel';
}

/** Whether a script of that kind may run the command, as far as users are concerned. */
function isRunBy(kind: 'read' | 'write', { kind: ofRow, name, flags, runsAnything }: Command) {
  if (flags.includes('noscript') || runsAnything === true) return false;
  if (ofRow === 'read') return true;
  return kind === 'write' && (ofRow === 'write' || ofNode.has(name));
}
