/** Which commands a user may run, whatever their arguments. */
import { categoriesOf } from '../commands/docs/command-docs.ts';
import type { Command } from '../commands/rows/command.ts';
import { lowerCase, type Selector } from './user.ts';

export function mayRun(
  { allCommands, rules }: Selector,
  command: Command,
  args: readonly Buffer[],
): boolean {
  if (command.flags.includes('no_auth')) return true;
  if (rules.length === 0) return allCommands;
  const { name } = command;
  const container = name.split('|', 1)[0]!;
  const first = args[1] && lowerCase(args[1].toString('latin1'));
  const names = new Set([name, container, `${container}|${first}`]);
  for (const category of categoriesOf(command)) names.add(`@${category}`);
  const last = rules.findLast(({ what }) => names.has(what));
  return last?.allow ?? allCommands;
}
