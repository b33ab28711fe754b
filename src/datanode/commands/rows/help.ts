/** What `<COMMAND> HELP` answers: its subcommands and what they do. */
import { array, type Reply } from '../../resp/reply.ts';
import { type Command, NO_KEYS, type NodeCommand, node } from './command.ts';

/** The form of Redis's own help: simple strings. */
export function helpForm(command: string, lines: readonly string[]): Reply {
  const first = `${command.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`;
  return array([first, ...lines].map((text) => ({ kind: 'simple', text })));
}

/** Of each its name and its summary. */
export function helpReply(command: string, subcommands: readonly Command[]): Reply {
  const lines = subcommands.flatMap(({ name, summary }) => [
    name.slice(command.length + 1).toUpperCase(),
    `    ${summary}`,
  ]);
  return helpForm(command, lines);
}

/** The row of HELP itself. `subcommands` is asked when it runs: the row is one of them. */
export function helpRow(
  command: string,
  column: Pick<NodeCommand, 'categories' | 'group' | 'since'>,
  subcommands: () => readonly Command[],
): NodeCommand {
  return node({
    ...column,
    name: `${command}|help`,
    arity: 2,
    flags: ['loading', 'stale'],
    keys: NO_KEYS,
    summary: 'Lists the subcommands.',
    run: () => helpReply(command, subcommands()),
  });
}
