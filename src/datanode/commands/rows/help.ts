/** What `<COMMAND> HELP` answers: its subcommands and what they do. */
import { array, type Reply } from '../../resp/reply.ts';
import type { Command } from './command.ts';

export function helpReply(command: string, subcommands: readonly Command[]): Reply {
  const lines = [
    `${command.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
    ...subcommands.flatMap(({ name, summary }) => [
      name.slice(command.length + 1).toUpperCase(),
      `    ${summary}`,
    ]),
  ];
  return array(lines.map((text) => ({ kind: 'simple', text })));
}
